import { CorruptRecordError } from '../bytes/protocol-error.ts';
import { decompress } from '../compression/compress.ts';
import { MAX_DECOMPRESSED_BATCH_BYTES, MIN_HEADER_BYTES, MIN_RECORD_BYTES } from '../limits.ts';
import { BATCH_HEADER_BYTES, type TimestampType } from './batch-format.ts';
import { RecordHeaders } from './headers.ts';
import type { RecordBatch } from './record-batch.ts';
import { NO_VARINT, varint32At, varint64At, type VarintCursor } from './varint-cursor.ts';

const EMPTY = Buffer.alloc(0);

/** Ranges of keys in a cursor's `buffer`: as many as the arrays hold, the first `count` of which are set. */
export interface KeyRanges {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  count: number;
}

export interface RecordCursorLimits {
  /** Bytes; default MAX_DECOMPRESSED_BATCH_BYTES. Checked before decoding. */
  readonly maxDecompressedBytes?: number;
}

/**
 * Decodes one batch after another, record by record, in one pass and only when asked: `open` a
 * batch, then read the fields after each `next()` that returned true. Made to be reused; no object
 * is created per record unless `key()`, `value()`, `headers()` or `offset()` is called.
 *
 * Every length is checked against the record and the batch; a record count, length or varint that
 * does not fit exactly throws CorruptRecordError with the record's place.
 */
export class RecordCursor {
  /** What the ranges below point into: the batch's own buffer, or the decompressed records. */
  buffer: Buffer = EMPTY;
  recordCount = 0;
  /** Of the current record, from 0; -1 before the first. */
  recordIndex = -1;
  baseOffset = 0n;
  /** Of the current record: its offset is `baseOffset + offsetDelta`. */
  offsetDelta = 0;
  /** Epoch ms, -1 none; exact to 2^53. With LogAppendTime the batch's max timestamp. */
  timestamp = -1;
  /** -1: the key is null. */
  keyStart = -1;
  keyEnd = -1;
  /** -1: the value is null. */
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  isControl = false;
  timestampType: TimestampType = 'createTime';

  readonly #maxDecompressedBytes: number;
  /** The records' bounds inside `buffer`; the headers of the current record end at `#position`. */
  #position = 0;
  #end = 0;
  #headersStart = 0;
  #baseTimestamp = -1;
  /** Set to the batch's max timestamp when that is every record's time. */
  #logAppendTimestamp = -1;
  #isLogAppendTime = false;
  #lastOffsetDelta = 0;
  readonly #slow: VarintCursor = { position: 0 };

  constructor(limits: RecordCursorLimits = {}) {
    this.#maxDecompressedBytes = limits.maxDecompressedBytes ?? MAX_DECOMPRESSED_BATCH_BYTES;
  }

  /**
   * Starts on a batch, decompressing it if need be. The batch view may be pointed elsewhere
   * afterwards; its buffer must stay as it is while records are read. The CRC is not checked: see
   * `RecordBatch.ensureValid`.
   */
  open(batch: RecordBatch): void {
    this.#close();
    const start = batch.position + BATCH_HEADER_BYTES;
    const end = batch.position + batch.sizeInBytes;
    const baseOffset = batch.baseOffset;
    const codec = batch.codec;
    let buffer = batch.buffer;
    let position = start;
    let recordsEnd = end;
    if (codec !== 'none' && end > start) {
      const limit = this.#maxDecompressedBytes;
      const what = `the batch at offset ${baseOffset}`;
      buffer = decompress(codec, buffer.subarray(start, end), limit, what);
      position = 0;
      recordsEnd = buffer.length;
    }
    const count = batch.recordCount;
    const bytes = recordsEnd - position;
    if (count * MIN_RECORD_BYTES > bytes || (count === 0 && bytes > 0)) {
      throw new CorruptRecordError(
        `the batch at offset ${baseOffset} says ${count} records and has ${bytes} bytes of them`,
      );
    }
    this.buffer = buffer;
    this.recordCount = count;
    this.baseOffset = baseOffset;
    this.isControl = batch.isControl;
    this.timestampType = batch.timestampType;
    this.#position = position;
    this.#end = recordsEnd;
    this.#baseTimestamp = batch.baseTimestamp;
    this.#logAppendTimestamp = batch.maxTimestamp;
    this.#isLogAppendTime = batch.timestampType === 'logAppendTime';
    this.#lastOffsetDelta = batch.lastOffsetDelta;
  }

  /** Lets go of the batch, so that a cursor that waits for its next one keeps no memory alive. */
  close(): void {
    this.#close();
  }

  #close(): void {
    this.buffer = EMPTY;
    this.recordCount = 0;
    this.recordIndex = -1;
    this.#position = 0;
    this.#end = 0;
    this.keyStart = -1;
    this.keyEnd = -1;
    this.valueStart = -1;
    this.valueEnd = -1;
    this.headerCount = 0;
  }

  /**
   * Goes to the next record; false after the last. A varint of one byte, which most are, is read
   * in place; longer ones go through `varint-cursor.ts`, which also finds the cut ones.
   */
  next(): boolean {
    const index = this.recordIndex + 1;
    if (index >= this.recordCount) return false;
    const buffer = this.buffer;
    const slow = this.#slow;
    const end = this.#end;
    let position = this.#position;

    let length = position < end ? (buffer[position] as number) : 0x80;
    if (length < 0x80) {
      position++;
      length = (length >>> 1) ^ -(length & 1);
    } else {
      length = this.#varint32(index, position, end);
      position = slow.position;
    }
    const recordEnd = position + length;
    if (length < MIN_RECORD_BYTES - 1 || recordEnd > end) {
      throw this.#corrupt(index, `length ${length} does not fit into ${end - position} bytes`);
    }

    position++; // The record's attributes: a byte without a meaning so far.
    let delta = buffer[position] as number;
    if (delta < 0x80) {
      position++;
      delta = (delta >>> 1) ^ -(delta & 1);
    } else {
      delta = this.#varint64(index, position, recordEnd);
      position = slow.position;
    }

    let offsetDelta = position < recordEnd ? (buffer[position] as number) : 0x80;
    if (offsetDelta < 0x80) {
      position++;
      offsetDelta = (offsetDelta >>> 1) ^ -(offsetDelta & 1);
    } else {
      offsetDelta = this.#varint32(index, position, recordEnd);
      position = slow.position;
    }
    if (offsetDelta < 0 || offsetDelta > this.#lastOffsetDelta) {
      throw this.#corrupt(
        index,
        `offset delta ${offsetDelta} lies outside the batch's 0 to ${this.#lastOffsetDelta}`,
      );
    }

    let keyLength = position < recordEnd ? (buffer[position] as number) : 0x80;
    if (keyLength < 0x80) {
      position++;
      keyLength = (keyLength >>> 1) ^ -(keyLength & 1);
    } else {
      keyLength = this.#varint32(index, position, recordEnd);
      position = slow.position;
    }
    if (keyLength < -1 || keyLength > recordEnd - position) {
      throw this.#corrupt(index, `key length ${keyLength} reaches past the record`);
    }
    let keyStart = -1;
    let keyEnd = -1;
    if (keyLength >= 0) {
      keyStart = position;
      keyEnd = position += keyLength;
    }

    let valueLength = position < recordEnd ? (buffer[position] as number) : 0x80;
    if (valueLength < 0x80) {
      position++;
      valueLength = (valueLength >>> 1) ^ -(valueLength & 1);
    } else {
      valueLength = this.#varint32(index, position, recordEnd);
      position = slow.position;
    }
    if (valueLength < -1 || valueLength > recordEnd - position) {
      throw this.#corrupt(index, `value length ${valueLength} reaches past the record`);
    }
    let valueStart = -1;
    let valueEnd = -1;
    if (valueLength >= 0) {
      valueStart = position;
      valueEnd = position += valueLength;
    }

    let headerCount = 0;
    let headersStart = recordEnd;
    if (position !== recordEnd - 1 || buffer[position] !== 0) {
      headerCount = this.#varint32(index, position, recordEnd);
      headersStart = slow.position;
      this.#checkHeaders(index, headerCount, headersStart, recordEnd);
    }
    if (index + 1 === this.recordCount && recordEnd !== end) {
      throw this.#corrupt(index, `${end - recordEnd} bytes follow the last record`);
    }

    this.#position = recordEnd;
    this.#headersStart = headersStart;
    this.recordIndex = index;
    this.offsetDelta = offsetDelta;
    this.timestamp = this.#isLogAppendTime ? this.#logAppendTimestamp : this.#baseTimestamp + delta;
    this.keyStart = keyStart;
    this.keyEnd = keyEnd;
    this.valueStart = valueStart;
    this.valueEnd = valueEnd;
    this.headerCount = headerCount;
    return true;
  }

  /**
   * Where the keys of the records to come lie, of this batch and as many as `into` holds, without going to
   * them. A null key is left out, and what `next()` will find corrupt ends it.
   */
  keysAhead(into: KeyRanges): void {
    const { starts, ends } = into;
    const buffer = this.buffer;
    const end = this.#end;
    let position = this.#position;
    let count = 0;
    for (let left = this.recordCount - this.recordIndex - 1; left > 0; left--) {
      if (count === starts.length) break;
      const length = this.#varintAhead(position, end);
      position = this.#slow.position;
      const recordEnd = position + length;
      if (position === NO_VARINT || length < MIN_RECORD_BYTES - 1 || recordEnd > end) break;
      // Behind the attributes, two varints of which only the length matters.
      position++;
      while (position < recordEnd && (buffer[position] as number) >= 0x80) position++;
      position++;
      while (position < recordEnd && (buffer[position] as number) >= 0x80) position++;
      const keyLength = this.#varintAhead(position + 1, recordEnd);
      position = this.#slow.position;
      if (position === NO_VARINT || keyLength > recordEnd - position) break;
      if (keyLength >= 0) {
        starts[count] = position;
        ends[count] = position + keyLength;
        count++;
      }
      position = recordEnd;
    }
    into.count = count;
  }

  /** Length of the current record's headers as they are encoded, without their number. */
  get headerBytes(): number {
    return this.#position - this.#headersStart;
  }

  /** Exact for every int64 offset. */
  offset(): bigint {
    return this.baseOffset + BigInt(this.offsetDelta);
  }

  /** A view: copy what is kept. */
  key(): Buffer | null {
    return this.keyStart === -1 ? null : this.buffer.subarray(this.keyStart, this.keyEnd);
  }

  /** A view: copy what is kept. */
  value(): Buffer | null {
    return this.valueStart === -1 ? null : this.buffer.subarray(this.valueStart, this.valueEnd);
  }

  /** New at each call, and independent of the fetched buffer. */
  headers(): RecordHeaders {
    return this.nullableHeaders() ?? new RecordHeaders();
  }

  /** Like `headers`, but null when the record has none: what the record path passes on. */
  nullableHeaders(): RecordHeaders | null {
    if (this.headerCount === 0) return null;
    // A copy: headers outlive their batch more often than keys and values do.
    const encoded = Buffer.from(this.buffer.subarray(this.#headersStart, this.#position));
    return RecordHeaders.fromEncoded(encoded, this.headerCount);
  }

  #checkHeaders(index: number, count: number, start: number, recordEnd: number): void {
    let position = start;
    if (count < 0 || count * MIN_HEADER_BYTES > recordEnd - position) {
      throw this.#corrupt(index, `header count ${count} does not fit into the record`);
    }
    for (let i = 0; i < count; i++) {
      const keyLength = this.#varint32(index, position, recordEnd);
      position = this.#slow.position;
      if (keyLength < 0 || keyLength > recordEnd - position) {
        throw this.#corrupt(
          index,
          `length ${keyLength} of header key ${i} reaches past the record`,
        );
      }
      position += keyLength;
      const valueLength = this.#varint32(index, position, recordEnd);
      position = this.#slow.position;
      if (valueLength < -1 || valueLength > recordEnd - position) {
        throw this.#corrupt(index, `length ${valueLength} of header ${i} reaches past the record`);
      }
      if (valueLength > 0) position += valueLength;
    }
    if (position !== recordEnd) {
      throw this.#corrupt(index, `${recordEnd - position} bytes follow its headers`);
    }
  }

  /** Its end is in `#slow.position`, or NO_VARINT. */
  #varintAhead(position: number, end: number): number {
    const first = position < end ? (this.buffer[position] as number) : 0x80;
    if (first >= 0x80) return varint32At(this.buffer, position, end, this.#slow);
    this.#slow.position = position + 1;
    return (first >>> 1) ^ -(first & 1);
  }

  #varint32(index: number, position: number, end: number): number {
    const value = varint32At(this.buffer, position, end, this.#slow);
    if (this.#slow.position === NO_VARINT) throw this.#badVarint(index, position);
    return value;
  }

  #varint64(index: number, position: number, end: number): number {
    const value = varint64At(this.buffer, position, end, this.#slow);
    if (this.#slow.position === NO_VARINT) throw this.#badVarint(index, position);
    return value;
  }

  #badVarint(index: number, position: number): CorruptRecordError {
    return this.#corrupt(index, `the varint at byte ${position} is cut off or too long`);
  }

  #corrupt(index: number, what: string): CorruptRecordError {
    return new CorruptRecordError(
      `record ${index} of ${this.recordCount} in the batch at offset ${this.baseOffset}: ${what}`,
    );
  }
}
