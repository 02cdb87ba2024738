import { BATCH_HEADER_BYTES, CorruptRecordError, decompress } from '@millrace/protocol';
import type { Codec, RecordBatch } from '@millrace/protocol';
import { MAX_DECOMPRESSION_ROOM_BYTES } from '../../limits.ts';

const MIN_RECORD_BYTES = 7;
const INITIAL_ROOM_BYTES = 262_144;
const TWO_28 = 2 ** 28;
const TWO_56 = 2 ** 56;

/**
 * Walks the records of a batch as bytes: where each starts, what it says of its offset, time and key,
 * and that is all a cleaner needs to know. Nothing is made per record. Headers are not looked at:
 * they are copied as they are.
 */
export class RecordScanner {
  /**
   * What the positions below point into: the batch's own buffer, or its decompressed records, which
   * last until the next batch is opened.
   */
  buffer: Buffer = Buffer.alloc(0);
  /** Of the first record, and behind the last. */
  start = 0;
  end = 0;
  recordCount = 0;
  /** Of the current record, its length included. */
  recordStart = 0;
  /** Behind its timestamp delta: from here on a record doesn't depend on its batch's base time. */
  bodyStart = 0;
  recordEnd = 0;
  /** ms; beyond 2^53 rounded. */
  timestampDelta = 0;
  offsetDelta = 0;
  /** -1: the key is null. */
  keyStart = -1;
  keyEnd = -1;
  hasValue = false;

  #index = -1;
  #position = 0;
  #lastOffsetDelta = 0;
  #baseOffset = 0n;
  /** Behind the varint that was read last. */
  #after = 0;

  /** For decompressed records of one batch after another. */
  #room: Buffer | null = null;
  readonly #maxDecompressedBytes: number;

  constructor(maxDecompressedBytes: number) {
    this.#maxDecompressedBytes = maxDecompressedBytes;
  }

  /**
   * Starts on a batch, decompressing it if need be, into `room` if that is given and large enough, and not if
   * its records are there already. Throws CorruptRecordError.
   */
  open(batch: RecordBatch, room?: Buffer, decoded?: Buffer): void {
    const start = batch.position + BATCH_HEADER_BYTES;
    const end = batch.position + batch.sizeInBytes;
    const { codec, recordCount, baseOffset } = batch;
    this.recordCount = recordCount;
    this.#baseOffset = baseOffset;
    this.#lastOffsetDelta = batch.lastOffsetDelta;
    this.#index = -1;
    if (codec === 'none' || start === end) {
      this.buffer = batch.buffer;
      this.start = start;
      this.end = end;
    } else {
      this.buffer = decoded ?? this.#decompress(batch, codec, start, end, room);
      this.start = 0;
      this.end = this.buffer.length;
    }
    this.#position = this.start;
    const bytes = this.end - this.start;
    if (recordCount * MIN_RECORD_BYTES > bytes || (recordCount === 0 && bytes > 0)) {
      throw new CorruptRecordError(
        `the batch at offset ${String(baseOffset)} says ${String(recordCount)} records and has ` +
          `${String(bytes)} bytes of them`,
      );
    }
  }

  #decompress(
    batch: RecordBatch,
    codec: Codec,
    start: number,
    end: number,
    room: Buffer | undefined,
  ): Buffer {
    const what = `the batch at offset ${String(batch.baseOffset)}`;
    const source = batch.buffer.subarray(start, end);
    const own = (this.#room ??= Buffer.allocUnsafeSlow(INITIAL_ROOM_BYTES));
    const records = decompress(codec, source, this.#maxDecompressedBytes, what, room ?? own);
    // So that the next batch of this size fits.
    const wanted = records.length * 2;
    if (wanted > own.length && wanted <= MAX_DECOMPRESSION_ROOM_BYTES) {
      this.#room = Buffer.allocUnsafeSlow(wanted);
    }
    return records;
  }

  /** False after the last. */
  next(): boolean {
    if (this.#index + 1 >= this.recordCount) return false;
    this.#index++;
    const { buffer, end } = this;
    const recordStart = this.#position;
    const length = this.#varint(recordStart, end);
    const recordEnd = this.#after + length;
    if (length < MIN_RECORD_BYTES - 1 || recordEnd > end) throw this.#corrupt('length');
    // Behind the attributes, which mean nothing so far.
    let position = this.#after + 1;
    const byte = buffer[position] as number;
    if (byte < 0x80) {
      position++;
      this.timestampDelta = (byte >>> 1) ^ -(byte & 1);
    } else {
      this.timestampDelta = this.#varlong(position, recordEnd);
      position = this.#after;
    }
    this.bodyStart = position;
    const offsetDelta = this.#varint(position, recordEnd);
    if (offsetDelta < 0 || offsetDelta > this.#lastOffsetDelta) throw this.#corrupt('offset delta');
    this.offsetDelta = offsetDelta;
    const keyLength = this.#varint(this.#after, recordEnd);
    position = this.#after;
    if (keyLength < 0) {
      if (keyLength < -1) throw this.#corrupt('key length');
      this.keyStart = -1;
      this.keyEnd = -1;
    } else {
      this.keyStart = position;
      position += keyLength;
      this.keyEnd = position;
      if (position >= recordEnd) throw this.#corrupt('key length');
    }
    const valueLength = this.#varint(position, recordEnd);
    this.hasValue = valueLength >= 0;
    // At least the number of headers follows.
    if (valueLength < -1 || this.#after + valueLength >= recordEnd) {
      throw this.#corrupt('value length');
    }
    if (this.#index + 1 === this.recordCount && recordEnd !== end) {
      throw this.#corrupt('end of the last record');
    }
    this.recordStart = recordStart;
    this.recordEnd = recordEnd;
    this.#position = recordEnd;
    return true;
  }

  /** The timestamp delta of a record that starts at `recordStart`, exactly. */
  exactTimestampDelta(recordStart: number, recordEnd: number): bigint {
    this.#varint(recordStart, recordEnd);
    let bits = 0n;
    let shift = 0n;
    for (let position = this.#after + 1; position < recordEnd; position++) {
      const byte = this.buffer[position] as number;
      bits |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
      shift += 7n;
    }
    return (bits >> 1n) ^ -(bits & 1n);
  }

  #varint(position: number, end: number): number {
    const { buffer } = this;
    let byte = buffer[position] as number;
    if (byte < 0x80 && position < end) {
      this.#after = position + 1;
      return (byte >>> 1) ^ -(byte & 1);
    }
    if (position + 1 < end) {
      const second = buffer[position + 1] as number;
      if (second < 0x80) {
        this.#after = position + 2;
        return (((byte & 0x7f) | (second << 7)) >>> 1) ^ -(byte & 1);
      }
    }
    let bits = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (position >= end) break;
      byte = buffer[position++] as number;
      bits |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (shift === 28 && byte > 0x0f) break;
        this.#after = position;
        return (bits >>> 1) ^ -(bits & 1);
      }
    }
    throw this.#corrupt('varint');
  }

  #varlong(start: number, end: number): number {
    const { buffer } = this;
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let index = 0; index < 10; index++) {
      if (start + index >= end) break;
      const byte = buffer[start + index] as number;
      const seven = byte & 0x7f;
      if (index < 4) low |= seven << (7 * index);
      else if (index < 8) middle |= seven << (7 * (index - 4));
      else high |= seven << (7 * (index - 8));
      if (byte < 0x80) {
        if (index === 9 && byte > 1) break;
        this.#after = start + index + 1;
        const halfLow = (low >>> 1) | ((middle & 1) << 27);
        const halfMiddle = (middle >>> 1) | ((high & 1) << 27);
        const half = (high >>> 1) * TWO_56 + halfMiddle * TWO_28 + halfLow;
        return (low & 1) === 0 ? half : -half - 1;
      }
    }
    throw this.#corrupt('varlong');
  }

  #corrupt(what: string): CorruptRecordError {
    return new CorruptRecordError(
      `record ${String(this.#index)} of ${String(this.recordCount)} in the batch at offset ` +
        `${String(this.#baseOffset)}: its ${what} cannot be`,
    );
  }
}
