import { CorruptRecordError } from '../bytes/protocol-error.ts';
import {
  BATCH_HEADER_BYTES,
  BATCH_LENGTH_AT,
  BATCH_LOG_OVERHEAD,
  CURRENT_MAGIC,
  MAGIC_AT,
} from './batch-format.ts';
import { RecordBatch } from './record-batch.ts';

/**
 * Walks the whole batches of `buffer[start, end)`. A last batch that is cut off ends it quietly,
 * which is legal in a fetch response; `position` then says where the cut one starts. What is
 * corrupt throws.
 */
export class BatchIterator {
  readonly #buffer: Buffer;
  readonly #end: number;
  #position: number;
  #batch: RecordBatch | null = null;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    if (start < 0 || start > end || end > buffer.length) {
      throw new CorruptRecordError(
        `bounds [${start}, ${end}) lie outside a buffer of ${buffer.length} bytes`,
      );
    }
    // Nothing of a batch may be looked for beyond the end, also if the buffer goes on there.
    this.#buffer = end === buffer.length ? buffer : buffer.subarray(0, end);
    this.#end = end;
    this.#position = start;
  }

  /** Where the next batch starts. */
  get position(): number {
    return this.#position;
  }

  /** Bytes of a cut batch at the end, once `next` has returned null. */
  get remaining(): number {
    return this.#end - this.#position;
  }

  /** The next batch, always in the same view; null at the end. */
  next(): RecordBatch | null {
    const position = this.#position;
    if (this.#isCut(position)) return null;
    const batch =
      this.#batch === null
        ? (this.#batch = new RecordBatch(this.#buffer, position))
        : this.#batch.at(this.#buffer, position);
    this.#position = position + batch.sizeInBytes;
    return batch;
  }

  #isCut(position: number): boolean {
    const available = this.#end - position;
    if (available <= MAGIC_AT) return true;
    if (this.#buffer.readInt8(position + MAGIC_AT) !== CURRENT_MAGIC) return false;
    const size = BATCH_LOG_OVERHEAD + this.#buffer.readInt32BE(position + BATCH_LENGTH_AT);
    return size >= BATCH_HEADER_BYTES && size > available;
  }
}
