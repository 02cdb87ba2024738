import { BatchTooLargeError, InvalidValueError } from '../bytes/protocol-error.ts';
import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from '../bytes/varint.ts';
import type { Codec } from '../compression/codec.ts';
import { compress } from '../compression/compress.ts';
import { DEFAULT_BATCH_INITIAL_BYTES, MAX_BATCH_BYTES } from '../limits.ts';
import { BATCH_HEADER_BYTES, NO_TIMESTAMP } from './batch-format.ts';
import { type BatchHeaderOptions, writeBatchHeader } from './batch-header.ts';
import type { RecordHeaders } from './headers.ts';
import { RecordBatch } from './record-batch.ts';
import { RecordCursor } from './record-cursor.ts';
import { bytesWriter, type ValueWriter } from './value-writer.ts';

/** Keys up to this many bytes are copied in a loop: the call into native code costs more. */
const SHORT_COPY_BYTES = 24;

const MAX_OFFSET_DELTA = 0x7fffffff;

/** As a value's length on the wire: there is none. */
const NULL_LENGTH = -1;

/** In place of a value's length: the batch is full. */
const DOES_NOT_FIT = -2;

export interface BatchBuilderOptions {
  readonly codec: Codec;
  /** Target size of a batch before compression, in bytes with its header. */
  readonly maxBytes: number;
  /** Bytes to start with; default 16 KiB, never more than `maxBytes`. */
  readonly initialBytes?: number;
  /** Of gzip and zstd; default the library's. */
  readonly compressionLevel?: number;
}

export interface BuildOptions extends BatchHeaderOptions {
  /** Epoch ms: sets attribute bit 6 and makes this the base timestamp (KIP-534). */
  readonly deleteHorizonMs?: number | null;
  /** Default: the greatest timestamp of the records. With LogAppendTime, the broker's time. */
  readonly maxTimestamp?: number;
  /** Default: the last record's. A cleaner keeps the old one, so that the last offset stays. */
  readonly lastOffsetDelta?: number;
}

/**
 * Encodes records into one reused buffer, in one pass: nothing is created per record, the key is
 * copied from where it is, the value is written into its place by its writer.
 */
export class BatchBuilder {
  recordCount = 0;
  /** The greatest timestamp so far; -1 when empty. */
  maxTimestamp = NO_TIMESTAMP;

  readonly #codec: Codec;
  readonly #maxBytes: number;
  readonly #initialBytes: number;
  readonly #compressionLevel: number | undefined;
  #buffer: Buffer;
  #position = BATCH_HEADER_BYTES;
  #baseTimestamp = NO_TIMESTAMP;
  #deleteHorizonMs: number | null = null;
  #nextOffsetDelta = 0;
  /** How long the last value was: the guess for the next, which decides the room for its length. */
  #lastValueLength = 0;

  constructor(options: BatchBuilderOptions) {
    this.#codec = options.codec;
    this.#maxBytes = Math.max(BATCH_HEADER_BYTES, Math.min(options.maxBytes, MAX_BATCH_BYTES));
    const initialBytes = options.initialBytes ?? DEFAULT_BATCH_INITIAL_BYTES;
    this.#initialBytes = Math.max(BATCH_HEADER_BYTES, Math.min(initialBytes, this.#maxBytes));
    this.#compressionLevel = options.compressionLevel;
    this.#buffer = Buffer.allocUnsafeSlow(this.#initialBytes);
  }

  get isEmpty(): boolean {
    return this.recordCount === 0;
  }

  /** Bytes so far with the header, before compression. */
  get sizeInBytes(): number {
    return this.#position;
  }

  /**
   * Empty again. Keeps its memory, except for what a single record above `maxBytes` took. With a
   * delete horizon the timestamps that follow are encoded against it.
   */
  reset(deleteHorizonMs: number | null = null): void {
    this.recordCount = 0;
    this.maxTimestamp = NO_TIMESTAMP;
    this.#position = BATCH_HEADER_BYTES;
    this.#nextOffsetDelta = 0;
    this.#deleteHorizonMs = deleteHorizonMs;
    this.#baseTimestamp = deleteHorizonMs ?? NO_TIMESTAMP;
    if (this.#buffer.length > this.#maxBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(this.#initialBytes);
    }
  }

  /**
   * Appends a record with the next offset delta. False: it does not fit into `maxBytes` and the
   * batch is not empty, so close this one first; nothing has changed then. A first record always
   * fits, up to the format's own limit (BatchTooLargeError).
   *
   * `timestamp` is epoch ms or -1; `keySource` null makes a null key, `value` null a tombstone.
   */
  append<T>(
    timestamp: number,
    keySource: Buffer | null,
    keyStart: number,
    keyEnd: number,
    value: T | null,
    writer: ValueWriter<T>,
    headers: RecordHeaders | null,
  ): boolean {
    if (!Number.isSafeInteger(timestamp) || timestamp < NO_TIMESTAMP) {
      throw new InvalidValueError(`${timestamp} is no timestamp: epoch ms or -1 is expected`);
    }
    const baseTimestamp =
      this.recordCount === 0 && this.#deleteHorizonMs === null ? timestamp : this.#baseTimestamp;
    const timestampDelta = timestamp - baseTimestamp;
    const offsetDelta = this.#nextOffsetDelta;
    const keyLength = keySource === null ? NULL_LENGTH : keyEnd - keyStart;
    if (keySource !== null && (!(keyStart >= 0 && keyLength >= 0) || keyEnd > keySource.length)) {
      throw new InvalidValueError(
        `key bounds [${keyStart}, ${keyEnd}) lie outside a source of ${keySource.length} bytes`,
      );
    }
    const headersSize = headers === null ? 1 : headers.encodedSize();
    // What of the record's counted bytes is known before the value is: all but it and its length.
    const fixedSize =
      1 +
      sizeOfVarlong(timestampDelta) +
      sizeOfVarint(offsetDelta) +
      sizeOfVarint(keyLength) +
      (keyLength > 0 ? keyLength : 0);

    const valueLength =
      value === null
        ? this.#placeNull(fixedSize, headersSize)
        : this.#placeValue(value, writer, fixedSize, headersSize);
    if (valueLength === DOES_NOT_FIT) return false;

    const valueSize = sizeOfVarint(valueLength) + (valueLength > 0 ? valueLength : 0);
    const bodySize = fixedSize + valueSize + headersSize;
    const buffer = this.#buffer;
    let position = writeVarint(buffer, this.#position, bodySize);
    const end = position + bodySize;
    buffer[position++] = 0;
    position = writeVarlong(buffer, position, timestampDelta);
    position = writeVarint(buffer, position, offsetDelta);
    position = writeVarint(buffer, position, keyLength);
    if (keySource !== null) {
      if (keyLength <= SHORT_COPY_BYTES) {
        for (let i = keyStart; i < keyEnd; i++) buffer[position++] = keySource[i] as number;
      } else {
        position += keySource.copy(buffer, position, keyStart, keyEnd);
      }
    }
    writeVarint(buffer, position, valueLength);
    if (headers === null) buffer[end - 1] = 0;
    else headers.encodeInto(buffer, end - headersSize);

    this.#position = end;
    this.#baseTimestamp = baseTimestamp;
    this.#nextOffsetDelta = offsetDelta + 1;
    this.recordCount++;
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
    return true;
  }

  /** Makes room for a record without a value; returns the length that is written for it. */
  #placeNull(fixedSize: number, headersSize: number): number {
    const bodySize = fixedSize + 1 + headersSize;
    const end = this.#position + sizeOfVarint(bodySize) + bodySize;
    if (end > this.#maxBytes && this.recordCount > 0) return DOES_NOT_FIT;
    if (end > this.#buffer.length && !this.#grow(end)) return DOES_NOT_FIT;
    return NULL_LENGTH;
  }

  /**
   * Has the value written to where it will be, with room for what comes before it, and returns its
   * length. Two lengths come before the bytes that they count, so their size is a guess; a wrong
   * one moves the value by a few bytes.
   */
  #placeValue<T>(value: T, writer: ValueWriter<T>, fixedSize: number, headersSize: number): number {
    const start = this.#position;
    let guess = typeof value === 'string' ? value.length : this.#lastValueLength;
    for (;;) {
      const guessedSize = sizeOfVarint(guess) + guess;
      const guessedBody = fixedSize + guessedSize + headersSize;
      const valueStart = start + sizeOfVarint(guessedBody) + fixedSize + (guessedSize - guess);
      const capacity = this.#buffer.length;
      const written =
        valueStart <= capacity ? writer.write(value, this.#buffer, valueStart) : DOES_NOT_FIT;
      if (written === -1 || written === DOES_NOT_FIT) {
        // The wish is only a guess, so it never exceeds what there may be.
        if (!this.#grow(Math.min(valueStart + guess + headersSize, this.#limit()))) {
          return DOES_NOT_FIT;
        }
        continue;
      }
      const length = written - valueStart;
      if (!(length >= 0) || written > capacity) {
        throw new InvalidValueError(
          `a value writer at byte ${valueStart} of ${capacity} returned ${written}`,
        );
      }
      const bodySize = fixedSize + sizeOfVarint(length) + length + headersSize;
      const end = start + sizeOfVarint(bodySize) + bodySize;
      if (end > this.#maxBytes && this.recordCount > 0) return DOES_NOT_FIT;
      if (end > capacity) {
        if (!this.#grow(end)) return DOES_NOT_FIT;
        guess = length;
        continue;
      }
      const rightStart = end - headersSize - length;
      if (rightStart !== valueStart) this.#buffer.copyWithin(rightStart, valueStart, written);
      this.#lastValueLength = length;
      return length;
    }
  }

  /** The same for bytes at hand. */
  appendBytes(
    timestamp: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    headers: RecordHeaders | null,
  ): boolean {
    const keyLength = key === null ? -1 : key.length;
    return this.append(timestamp, asBuffer(key), 0, keyLength, value, bytesWriter, headers);
  }

  /**
   * Appends the cursor's record with its own timestamp and, unless told otherwise, its own offset
   * delta: what a cleaner does with survivors, and a broker that recompresses.
   */
  appendFrom(cursor: RecordCursor, offsetDelta = cursor.offsetDelta): boolean {
    const previous = this.#nextOffsetDelta;
    if (!(offsetDelta >= previous && offsetDelta <= MAX_OFFSET_DELTA)) {
      throw new InvalidValueError(
        `offset delta ${offsetDelta} does not follow the ${previous - 1} of the last record`,
      );
    }
    this.#nextOffsetDelta = offsetDelta;
    const { buffer, keyStart, keyEnd, timestamp } = cursor;
    const keySource = keyStart === -1 ? null : buffer;
    const headers = cursor.nullableHeaders();
    const isAppended = this.append(
      timestamp,
      keySource,
      keyStart,
      keyEnd,
      cursor.value(),
      bytesWriter,
      headers,
    );
    if (!isAppended) this.#nextOffsetDelta = previous;
    return isAppended;
  }

  /**
   * Compresses, fills in the header and takes the CRC. Uncompressed the result is a view of the
   * builder's memory, valid until `reset` or the next append; compressed it is a Buffer of its own. Without
   * records it is the bare header that keeps a producer's state.
   */
  build(options: BuildOptions = {}): Buffer {
    const deleteHorizonMs = options.deleteHorizonMs ?? this.#deleteHorizonMs;
    if (deleteHorizonMs !== this.#deleteHorizonMs && this.recordCount > 0) {
      return this.#rebased(deleteHorizonMs).build(options);
    }
    const isEmpty = this.recordCount === 0;
    const codec = isEmpty ? 'none' : this.#codec;
    const batch = codec === 'none' ? this.#plainBatch() : this.#compressedBatch(codec);
    writeBatchHeader(batch, batch.length, {
      ...options,
      codec,
      lastOffsetDelta: options.lastOffsetDelta ?? Math.max(0, this.#nextOffsetDelta - 1),
      baseTimestamp: isEmpty ? NO_TIMESTAMP : this.#baseTimestamp,
      maxTimestamp: options.maxTimestamp ?? this.maxTimestamp,
      hasDeleteHorizon: !isEmpty && deleteHorizonMs !== null,
      recordCount: this.recordCount,
    });
    return batch;
  }

  #plainBatch(): Buffer {
    return this.#buffer.subarray(0, this.#position);
  }

  #compressedBatch(codec: Codec): Buffer {
    const records = this.#buffer.subarray(BATCH_HEADER_BYTES, this.#position);
    const compressed = compress(codec, records, this.#compressionLevel);
    const batch = Buffer.allocUnsafe(BATCH_HEADER_BYTES + compressed.length);
    batch.set(compressed, BATCH_HEADER_BYTES);
    return batch;
  }

  /** The same records with their timestamps encoded against a horizon that came late. */
  #rebased(deleteHorizonMs: number | null): BatchBuilder {
    const plain = this.#plainBatch();
    writeBatchHeader(plain, plain.length, {
      codec: 'none',
      lastOffsetDelta: this.#nextOffsetDelta - 1,
      baseTimestamp: this.#baseTimestamp,
      maxTimestamp: this.maxTimestamp,
      hasDeleteHorizon: this.#deleteHorizonMs !== null,
      recordCount: this.recordCount,
    });
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(plain));
    const rebased = new BatchBuilder({
      codec: this.#codec,
      maxBytes: MAX_BATCH_BYTES,
      initialBytes: this.#position + this.recordCount,
      ...(this.#compressionLevel === undefined ? {} : { compressionLevel: this.#compressionLevel }),
    });
    rebased.reset(deleteHorizonMs);
    while (cursor.next()) rebased.appendFrom(cursor);
    return rebased;
  }

  /** How far the buffer may grow now. */
  #limit(): number {
    return this.recordCount === 0 ? MAX_BATCH_BYTES : this.#maxBytes;
  }

  /** Grows to `needed` bytes at least, and always by something; false when the limit is reached. */
  #grow(needed: number): boolean {
    const capacity = this.#buffer.length;
    const limit = this.#limit();
    if (capacity >= limit || needed > limit) {
      if (this.recordCount > 0) return false;
      throw new BatchTooLargeError(
        `a record of at least ${needed} bytes does not fit into a batch, whose limit is ${limit}`,
      );
    }
    const grown = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, capacity * 2)));
    this.#buffer.copy(grown, BATCH_HEADER_BYTES, BATCH_HEADER_BYTES, this.#position);
    this.#buffer = grown;
    return true;
  }
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
