import { BATCH_HEADER_BYTES, BATCH_LOG_OVERHEAD } from '@millrace/protocol';
import type { DiskFile } from '../platform/disk.ts';
import { CorruptBatchError } from '../errors.ts';
import { SCAN_CHUNK_BYTES } from '../limits.ts';
import { ensureNotLegacy } from './legacy-format.ts';

const BATCH_LENGTH_AT = 8;
const MAGIC_AT = 16;
const MAGIC = 2;
const ATTRIBUTES_AT = 21;
const LAST_OFFSET_DELTA_AT = 23;
const MAX_TIMESTAMP_AT = 35;
const RECORD_COUNT_AT = 57;
const CONTROL_BIT = 0x20;

/**
 * Walks batch headers in a segment file without reading the records: small batches come by the
 * chunk, large ones by their header alone.
 */
export class HeaderScanner {
  position = 0;
  sizeBytes = 0;
  baseOffset = 0n;
  lastOffset = -1n;
  maxTimestamp = -1;
  recordCount = 0;
  isControl = false;

  readonly #file: DiskFile;
  readonly #end: number;
  readonly #chunk = Buffer.allocUnsafe(SCAN_CHUNK_BYTES);
  #chunkStart = 0;
  #chunkLength = 0;
  #next: number;

  constructor(file: DiskFile, start: number, end: number) {
    this.#file = file;
    this.#next = start;
    this.#end = end;
  }

  /** False at the end. Throws CorruptBatchError when the next header cannot be one. */
  next(): boolean {
    const position = this.#next;
    if (position >= this.#end) return false;
    let at = position - this.#chunkStart;
    if (at < 0 || at + BATCH_HEADER_BYTES > this.#chunkLength) {
      const wanted = Math.min(this.#chunk.length, this.#end - position);
      this.#chunkStart = position;
      this.#chunkLength = this.#file.read(this.#chunk, 0, wanted, position);
      at = 0;
    }
    const left = this.#end - position;
    const size =
      this.#chunkLength - at < BATCH_HEADER_BYTES
        ? -1
        : BATCH_LOG_OVERHEAD + this.#chunk.readInt32BE(at + BATCH_LENGTH_AT);
    const magic = size < 0 ? MAGIC : this.#chunk.readInt8(at + MAGIC_AT);
    if (size < BATCH_HEADER_BYTES || size > left || magic !== MAGIC) {
      ensureNotLegacy(this.#file, position, this.#end);
      throw new CorruptBatchError(
        `${this.#file.path} at byte ${String(position)}: no record batch ` +
          `(size ${String(size)}, ${String(left)} bytes left)`,
      );
    }
    const chunk = this.#chunk;
    this.position = position;
    this.sizeBytes = size;
    this.baseOffset = chunk.readBigInt64BE(at);
    this.lastOffset = this.baseOffset + BigInt(chunk.readInt32BE(at + LAST_OFFSET_DELTA_AT));
    this.maxTimestamp = Number(chunk.readBigInt64BE(at + MAX_TIMESTAMP_AT));
    this.recordCount = chunk.readInt32BE(at + RECORD_COUNT_AT);
    this.isControl = (chunk.readInt16BE(at + ATTRIBUTES_AT) & CONTROL_BIT) !== 0;
    this.#next = position + size;
    return true;
  }
}
