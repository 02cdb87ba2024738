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
    const isFirst = this.recordCount === 0;
    const baseTimestamp =
      isFirst && this.#deleteHorizonMs === null ? timestamp : this.#baseTimestamp;
    const timestampDelta = timestamp - baseTimestamp;
    const offsetDelta = this.#nextOffsetDelta;
    const keyLength = keySource === null ? -1 : keyEnd - keyStart;
    const headersSize = headers === null ? 1 : headers.encodedSize();
    // What of the record's counted bytes is known before the value is: all but it and its length.
    const fixedSize =
      1 +
      sizeOfVarlong(timestampDelta) +
      sizeOfVarint(offsetDelta) +
      sizeOfVarint(keyLength) +
      (keyLength > 0 ? keyLength : 0);

    const start = this.#position;
    let valueLength = -1;
    let bodySize = fixedSize + 1 + headersSize;
    let valueStart = 0;
    let end = 0;
    if (value === null) {
      end = start + sizeOfVarint(bodySize) + bodySize;
      if (!this.#makeRoom(end, isFirst)) return false;
    } else {
      // The two lengths come before the bytes that they count, so room for them is left by guess;
      // a wrong guess moves the value by a few bytes.
      let guess = typeof value === 'string' ? value.length : this.#lastValueLength;
      for (;;) {
        bodySize = fixedSize + sizeOfVarint(guess) + guess + headersSize;
        const guessedStart = start + sizeOfVarint(bodySize) + fixedSize + sizeOfVarint(guess);
        const written =
          guessedStart <= this.#buffer.length
            ? writer.write(value, this.#buffer, guessedStart)
            : -1;
        if (written === -1) {
          // Only a guess, so it never asks for more than there may be.
          const needed = Math.min(guessedStart + guess + headersSize, this.#limit(isFirst));
          if (!this.#grow(needed, isFirst)) return false;
          continue;
        }
        valueLength = written - guessedStart;
        if (!(valueLength >= 0) || written > this.#buffer.length) {
          throw new InvalidValueError(
            `a value writer at ${guessedStart} of ${this.#buffer.length} bytes returned ${written}`,
          );
        }
        bodySize = fixedSize + sizeOfVarint(valueLength) + valueLength + headersSize;
        end = start + sizeOfVarint(bodySize) + bodySize;
        valueStart = end - headersSize - valueLength;
        if (end > this.#buffer.length) {
          if (!this.#grow(end, isFirst)) return false;
          guess = valueLength;
          continue;
        }
        if (end > this.#maxBytes && !isFirst) return false;
        if (valueStart !== guessedStart) {
          this.#buffer.copyWithin(valueStart, guessedStart, written);
        }
        this.#lastValueLength = valueLength;
        break;
      }
    }

    const buffer = this.#buffer;
    let position = writeVarint(buffer, start, bodySize);
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
    if (offsetDelta < previous) {
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

  /** For a known end. False: the batch is not empty and the record does not fit. */
  #makeRoom(end: number, isFirst: boolean): boolean {
    if (!isFirst && end > this.#maxBytes) return false;
    return end <= this.#buffer.length || this.#grow(end, isFirst);
  }

  #limit(isFirst: boolean): number {
    return isFirst ? MAX_BATCH_BYTES : this.#maxBytes;
  }

  /** Grows to `needed` bytes at least, and always by something. */
  #grow(needed: number, isFirst: boolean): boolean {
    const capacity = this.#buffer.length;
    const limit = this.#limit(isFirst);
    if (capacity >= limit || needed > limit) {
      if (!isFirst) return false;
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
