import { BATCH_HEADER_BYTES, BATCH_LOG_OVERHEAD, RecordBatch } from '@millrace/protocol';
import type { DiskFile } from '../platform/disk.ts';
import { CorruptBatchError } from '../errors.ts';
import { ensureNotLegacy } from './legacy-format.ts';

const BATCH_LENGTH_AT = 8;
const MAGIC_AT = 16;
const MAGIC = 2;

/**
 * Reads whole batches from a segment file, one after another, through one buffer that grows to the
 * largest batch and never beyond what the file still holds.
 */
export class BatchReader {
  readonly #file: DiskFile;
  readonly #end: number;
  #chunk: Buffer;
  /** File position of `#chunk[0]`, and how much of it is filled. */
  #chunkStart: number;
  #chunkLength = 0;
  /** The filled part of the chunk: whatever lies behind it is old. */
  #filled: Buffer;
  #position: number;
  #batch: RecordBatch | null = null;

  /** Reads [start, end) of the file; `start` must be a batch's. */
  constructor(file: DiskFile, start: number, end: number, chunkBytes: number) {
    this.#file = file;
    this.#position = start;
    this.#chunkStart = start;
    this.#end = end;
    this.#chunk = Buffer.allocUnsafeSlow(
      Math.max(BATCH_HEADER_BYTES, Math.min(chunkBytes, end - start)),
    );
    this.#filled = this.#chunk.subarray(0, 0);
  }

  /** Where the next batch starts. */
  get position(): number {
    return this.#position;
  }

  /**
   * The next batch, in a reused view; null at the end.
   *
   * @throws CorruptBatchError on lengths, magic or counts that cannot be; the CRC is not looked at.
   * LegacyFormatError on a message of before Kafka 0.11.
   */
  next(): RecordBatch | null {
    const start = this.#position;
    const left = this.#end - start;
    if (left === 0) return null;
    if (left < BATCH_HEADER_BYTES) throw this.#damage(`only ${String(left)} bytes are left`);
    let at = this.#require(BATCH_HEADER_BYTES);
    const size = BATCH_LOG_OVERHEAD + this.#chunk.readInt32BE(at + BATCH_LENGTH_AT);
    if (size < BATCH_HEADER_BYTES || size > left) {
      throw this.#damage(`a size of ${String(size)} bytes where ${String(left)} are left`);
    }
    if (this.#chunk.readInt8(at + MAGIC_AT) < MAGIC) throw this.#damage('no record batch');
    at = this.#require(size);
    try {
      if (this.#batch === null) this.#batch = new RecordBatch(this.#filled, at);
      else this.#batch.at(this.#filled, at);
    } catch (error) {
      throw this.#corrupt(error instanceof Error ? error.message : String(error), error);
    }
    this.#position = start + size;
    return this.#batch;
  }

  /** Goes on behind a batch of this size, which is not read for it. */
  stepOver(sizeInBytes: number): void {
    const left = this.#end - this.#position;
    if (sizeInBytes > left) {
      throw this.#corrupt(`a size of ${String(sizeInBytes)} bytes where ${String(left)} are left`);
    }
    this.#position += sizeInBytes;
  }

  /** Makes `length` bytes from the current position available; where they start in the chunk. */
  #require(length: number): number {
    const at = this.#position - this.#chunkStart;
    if (at + length <= this.#chunkLength) return at;
    // What was stepped over may reach beyond the chunk.
    const kept = Math.max(0, this.#chunkLength - at);
    if (length > this.#chunk.length) {
      const grown = Buffer.allocUnsafeSlow(length);
      this.#chunk.copy(grown, 0, this.#chunkLength - kept, this.#chunkLength);
      this.#chunk = grown;
    } else {
      this.#chunk.copyWithin(0, this.#chunkLength - kept, this.#chunkLength);
    }
    this.#chunkLength = kept;
    this.#chunkStart = this.#position;
    const wanted = Math.min(this.#chunk.length, this.#end - this.#chunkStart);
    this.#chunkLength += this.#file.read(
      this.#chunk,
      this.#chunkLength,
      wanted - this.#chunkLength,
      this.#chunkStart + this.#chunkLength,
    );
    this.#filled = this.#chunk.subarray(0, this.#chunkLength);
    if (this.#chunkLength < length) {
      throw this.#corrupt(`the file ends ${String(length - this.#chunkLength)} bytes early`);
    }
    return 0;
  }

  /** What looks like damage; throws LegacyFormatError when it isn't. */
  #damage(what: string): CorruptBatchError {
    ensureNotLegacy(this.#file, this.#position, this.#end);
    return this.#corrupt(what);
  }

  #corrupt(what: string, cause?: unknown): CorruptBatchError {
    return new CorruptBatchError(
      `${this.#file.path} at byte ${String(this.#position)}: ${what}`,
      cause === undefined ? undefined : { cause },
    );
  }
}
