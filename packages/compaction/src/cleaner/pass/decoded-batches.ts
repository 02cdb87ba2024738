import { BATCH_HEADER_BYTES, RecordBatch } from '@millrace/protocol';
import type { OffsetMap } from '../map/offset-map.ts';

/**
 * Headers and decompressed records of batches that the first phase leaves for the second, so that they are
 * read and decoded once: in the part of the offset map's memory that no key needs, as long as there is
 * one. What does not fit, or has to make way for keys, is read again.
 */
export class DecodedBatches {
  readonly #map: OffsetMap;
  /** Of the batches that are kept, rising: their segments, and where in these they are. */
  readonly #segments: bigint[] = [];
  readonly #positions: number[] = [];
  /** Where their records end here. Each starts, with its header, where the one before ends. */
  readonly #ends: number[] = [];
  #length = 0;
  #next = 0;
  #batch: RecordBatch | null = null;

  constructor(map: OffsetMap) {
    this.#map = map;
  }

  /** Where a batch of `recordCount` may be decoded to; undefined: nowhere here. */
  roomFor(recordCount: number): Buffer | undefined {
    const spare = this.#map.spareMemory(recordCount);
    const start = this.#length + BATCH_HEADER_BYTES;
    return spare === undefined || start > spare.length ? undefined : spare.subarray(start);
  }

  /** The records of this batch, decoded maybe into that room, are worth keeping. */
  keep(segment: bigint, position: number, batch: RecordBatch, records: Buffer, room: Buffer): void {
    // The header speaks of the batch's own size, for which there must be room behind it.
    if (Math.max(records.length, batch.sizeInBytes) > room.length) return;
    if (records.buffer !== room.buffer) records.copy(room);
    const spare = this.#map.spareMemory(0);
    if (spare === undefined) return;
    const { buffer, position: start } = batch;
    buffer.copy(spare, this.#length, start, start + BATCH_HEADER_BYTES);
    this.#length += BATCH_HEADER_BYTES + records.length;
    this.#segments.push(segment);
    this.#positions.push(position);
    this.#ends.push(this.#length);
  }

  /** The map is built: what it needs is known. */
  settle(): void {
    if (this.#map.spareMemory(0) !== undefined) return;
    this.#segments.length = 0;
    this.#positions.length = 0;
    this.#ends.length = 0;
  }

  /**
   * The batch that begins at this position of the segment, if it is kept: its header, in a reused view whose
   * body means nothing, and its `records`. Has to be asked for in the log's order.
   */
  find(segment: bigint, position: number): RecordBatch | null {
    const segments = this.#segments;
    let next = this.#next;
    while (
      next < segments.length &&
      ((segments[next] as bigint) < segment ||
        (segments[next] === segment && (this.#positions[next] as number) < position))
    ) {
      next++;
    }
    this.#next = next;
    if (segments[next] !== segment || this.#positions[next] !== position) return null;
    const spare = this.#map.spareMemory(0);
    if (spare === undefined) return null;
    const start = this.#startOf(next);
    if (this.#batch === null) this.#batch = new RecordBatch(spare, start);
    else this.#batch.at(spare, start);
    return this.#batch;
  }

  /** Of the batch that was found last. */
  get records(): Buffer | undefined {
    const start = this.#startOf(this.#next) + BATCH_HEADER_BYTES;
    return this.#map.spareMemory(0)?.subarray(start, this.#ends[this.#next]);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] as number);
  }
}
