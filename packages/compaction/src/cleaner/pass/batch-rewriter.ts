import {
  BATCH_HEADER_BYTES,
  BATCH_LOG_OVERHEAD,
  compress,
  crc32c,
  sizeOfVarlong,
  writeVarint,
  writeVarlong,
} from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import { OutputBuffer } from './output-buffer.ts';
import type { RecordScanner } from './record-scanner.ts';

const BATCH_LENGTH_AT = 8;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const BASE_TIMESTAMP_AT = 27;
const MAX_TIMESTAMP_AT = 35;
const RECORD_COUNT_AT = 57;
const CODEC_MASK = 0x07;
const DELETE_HORIZON_BIT = 0x40;
const NO_TIMESTAMP = -1n;

/** What a record may grow by when its timestamp is counted from elsewhere. */
const MAX_GROWTH_BYTES = 11;
/** From this mean size on, copying records one by one costs less than copying those in between. */
const LARGE_RECORD_BYTES = 512;
/** What a frame may take beyond its records where these do not get smaller: one byte of 2^8, and its ends. */
const INCOMPRESSIBLE_SHIFT = 8;
const MIN_FRAME_BYTES = 64;
const INITIAL_RECORDS = 1_024;
const INITIAL_SCRATCH_BYTES = 65_536;

/**
 * Writes a batch anew with some of its records, which keep their offsets, times, keys, values and
 * headers: their bytes are moved, not decoded. Offsets of the batch, sequence, epochs and flags stay.
 */
export class BatchRewriter {
  count = 0;
  #starts = new Int32Array(INITIAL_RECORDS);
  #bodies = new Int32Array(INITIAL_RECORDS);
  #ends = new Int32Array(INITIAL_RECORDS);
  #deltas = new Float64Array(INITIAL_RECORDS);
  readonly #scratch = new OutputBuffer(INITIAL_SCRATCH_BYTES);

  /** Forgets the records that were kept. */
  reset(): void {
    this.count = 0;
  }

  /** The record that the scanner stands on is to be kept. */
  keep(scanner: RecordScanner): void {
    const index = this.count++;
    if (index === this.#starts.length) this.#grow();
    this.#starts[index] = scanner.recordStart;
    this.#bodies[index] = scanner.bodyStart;
    this.#ends[index] = scanner.recordEnd;
    this.#deltas[index] = scanner.timestampDelta;
  }

  #grow(): void {
    const length = this.#starts.length * 2;
    const grown = (from: Int32Array): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(length);
      to.set(from);
      return to;
    };
    this.#starts = grown(this.#starts);
    this.#bodies = grown(this.#bodies);
    this.#ends = grown(this.#ends);
    const deltas = new Float64Array(length);
    deltas.set(this.#deltas);
    this.#deltas = deltas;
  }

  /** The batch with the kept records, at the end of `output`; `deleteHorizonMs` null: it has none. */
  rewrite(
    batch: RecordBatch,
    scanner: RecordScanner,
    deleteHorizonMs: bigint | null,
    output: OutputBuffer,
  ): void {
    const start = output.length;
    const { codec } = batch;
    const isLogAppendTime = batch.timestampType === 'logAppendTime';
    const oldBase = batch.buffer.readBigInt64BE(batch.position + BASE_TIMESTAMP_AT);
    const oldMax = batch.buffer.readBigInt64BE(batch.position + MAX_TIMESTAMP_AT);
    const base =
      deleteHorizonMs ?? (isLogAppendTime ? oldMax : oldBase + this.#exactDelta(scanner, 0));
    // With LogAppendTime all records have the batch's time, whatever their deltas say.
    const times = isLogAppendTime ? null : oldBase;
    if (codec === 'none') {
      output.reserve(BATCH_HEADER_BYTES + this.#roomFor(scanner));
      output.length = this.#moveRecords(
        scanner,
        times,
        oldMax - base,
        base,
        output.bytes,
        start + BATCH_HEADER_BYTES,
      );
    } else {
      const scratch = this.#scratch;
      scratch.reserve(this.#roomFor(scanner));
      const end = this.#moveRecords(scanner, times, oldMax - base, base, scratch.bytes, 0);
      output.reserve(BATCH_HEADER_BYTES + end + (end >>> INCOMPRESSIBLE_SHIFT) + MIN_FRAME_BYTES);
      const room = output.bytes.subarray(start + BATCH_HEADER_BYTES);
      const compressed = compress(codec, scratch.bytes.subarray(0, end), undefined, room);
      scratch.consume(0);
      if (compressed.buffer !== room.buffer) {
        output.reserve(BATCH_HEADER_BYTES + compressed.length);
        output.bytes.set(compressed, start + BATCH_HEADER_BYTES);
      }
      output.length = start + BATCH_HEADER_BYTES + compressed.length;
    }
    const { bytes } = output;
    batch.buffer.copy(bytes, start, batch.position, batch.position + BATCH_HEADER_BYTES);
    const flags = batch.attributes & ~DELETE_HORIZON_BIT;
    bytes.writeInt16BE(
      deleteHorizonMs === null ? flags : flags | DELETE_HORIZON_BIT,
      start + ATTRIBUTES_AT,
    );
    bytes.writeBigInt64BE(base, start + BASE_TIMESTAMP_AT);
    bytes.writeBigInt64BE(
      isLogAppendTime ? oldMax : this.#maxTimestamp(scanner, oldBase),
      start + MAX_TIMESTAMP_AT,
    );
    bytes.writeInt32BE(this.count, start + RECORD_COUNT_AT);
    seal(output, start);
  }

  /** The bare header that keeps a producer's sequence or the log's end. */
  writeEmpty(batch: RecordBatch, output: OutputBuffer): void {
    const start = output.length;
    output.reserve(BATCH_HEADER_BYTES);
    const { bytes } = output;
    batch.buffer.copy(bytes, start, batch.position, batch.position + BATCH_HEADER_BYTES);
    output.length = start + BATCH_HEADER_BYTES;
    bytes.writeInt16BE(
      batch.attributes & ~(DELETE_HORIZON_BIT | CODEC_MASK),
      start + ATTRIBUTES_AT,
    );
    bytes.writeBigInt64BE(NO_TIMESTAMP, start + BASE_TIMESTAMP_AT);
    bytes.writeInt32BE(0, start + RECORD_COUNT_AT);
    seal(output, start);
  }

  #roomFor(scanner: RecordScanner): number {
    return scanner.end - scanner.start + this.count * MAX_GROWTH_BYTES;
  }

  /**
   * Puts the kept records at `target[position...]` with their times counted from `base`; where they end. All
   * records come over in one copy, behind the room that longer deltas might take, and are
   * then moved to the front: that costs no object per record. Large ones are worth one.
   */
  #moveRecords(
    scanner: RecordScanner,
    oldBase: bigint | null,
    sameDelta: bigint,
    base: bigint,
    target: Buffer,
    position: number,
  ): number {
    const { count } = this;
    if (
      oldBase === base &&
      scanner.end - scanner.start >= scanner.recordCount * LARGE_RECORD_BYTES
    ) {
      return this.#copyRuns(scanner.buffer, target, position);
    }
    const from = position + count * MAX_GROWTH_BYTES;
    scanner.buffer.copy(target, from, scanner.start, scanner.end);
    // From here on positions are those in `target`.
    const moved = from - scanner.start;
    if (oldBase === base) return this.#moveRuns(target, position, moved);
    const shift = oldBase === null ? 0 : Number(oldBase - base);
    const isShiftExact = Number.isSafeInteger(shift);
    const same = BigInt.asIntN(53, sameDelta) === sameDelta ? Number(sameDelta) : sameDelta;
    for (let index = 0; index < count; index++) {
      const newDelta = (this.#deltas[index] as number) + shift;
      const delta =
        oldBase === null
          ? same
          : isShiftExact &&
              Number.isSafeInteger(this.#deltas[index]) &&
              Number.isSafeInteger(newDelta)
            ? newDelta
            : oldBase + this.#exactDelta(scanner, index) - base;
      const body = this.#bodies[index] as number;
      const end = this.#ends[index] as number;
      position = writeVarint(target, position, 1 + sizeOfVarlong(delta) + end - body);
      target[position++] = 0;
      position = writeVarlong(target, position, delta);
      target.copyWithin(position, body + moved, end + moved);
      position += end - body;
    }
    return position;
  }

  /** Records that stay as they are, neighbours together, without what lies between them. */
  #copyRuns(source: Buffer, target: Buffer, position: number): number {
    const { count } = this;
    for (let index = 0; index < count;) {
      const start = this.#starts[index] as number;
      let end = this.#ends[index++] as number;
      while (index < count && this.#starts[index] === end) end = this.#ends[index++] as number;
      position += source.copy(target, position, start, end);
    }
    return position;
  }

  /** The same of records that are in the target already. */
  #moveRuns(target: Buffer, position: number, moved: number): number {
    const { count } = this;
    for (let index = 0; index < count;) {
      const start = this.#starts[index] as number;
      let end = this.#ends[index++] as number;
      while (index < count && this.#starts[index] === end) end = this.#ends[index++] as number;
      target.copyWithin(position, start + moved, end + moved);
      position += end - start;
    }
    return position;
  }

  #maxTimestamp(scanner: RecordScanner, oldBase: bigint): bigint {
    let max = -Infinity;
    let at = 0;
    for (let index = 0; index < this.count; index++) {
      const delta = this.#deltas[index] as number;
      if (delta < max || (delta === max && !this.#isLater(scanner, index, at))) continue;
      max = delta;
      at = index;
    }
    const timestamp = oldBase + this.#exactDelta(scanner, at);
    return timestamp > NO_TIMESTAMP ? timestamp : NO_TIMESTAMP;
  }

  /** Of two records whose rounded deltas are equal. */
  #isLater(scanner: RecordScanner, index: number, other: number): boolean {
    if (Number.isSafeInteger(this.#deltas[index])) return false;
    return this.#exactDelta(scanner, index) > this.#exactDelta(scanner, other);
  }

  #exactDelta(scanner: RecordScanner, index: number): bigint {
    const delta = this.#deltas[index] as number;
    return Number.isSafeInteger(delta)
      ? BigInt(delta)
      : scanner.exactTimestampDelta(this.#starts[index] as number, this.#ends[index] as number);
  }
}

/** Length and CRC of the batch that ends the output. */
function seal(output: OutputBuffer, start: number): void {
  const { bytes, length } = output;
  bytes.writeInt32BE(length - start - BATCH_LOG_OVERHEAD, start + BATCH_LENGTH_AT);
  bytes.writeUInt32BE(crc32c(bytes, start + ATTRIBUTES_AT, length), start + CRC_AT);
}
