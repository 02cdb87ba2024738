import type { OffsetMap } from './offset-map.ts';

/**
 * Decompressed records that the first phase leaves for the second, so that they are decoded once: in the
 * part of the offset map's memory that no key needs, as long as there is one. What does not fit, or has
 * to make way for keys, is decoded again.
 */
export class DecodedBatches {
  readonly #map: OffsetMap;
  /** Of the batches that are kept, rising, and where their records end; each starts where the one before ends. */
  readonly #baseOffsets: bigint[] = [];
  readonly #ends: number[] = [];
  #length = 0;
  #next = 0;

  constructor(map: OffsetMap) {
    this.#map = map;
  }

  /** Where a batch of `recordCount` may be decoded to; undefined: nowhere here. */
  roomFor(recordCount: number): Buffer | undefined {
    return this.#map.spareMemory(recordCount)?.subarray(this.#length);
  }

  /** The records that were decoded, maybe into that room, are worth keeping. */
  keep(baseOffset: bigint, records: Buffer, room: Buffer): void {
    if (records.length > room.length) return;
    if (records.buffer !== room.buffer) records.copy(room);
    this.#length += records.length;
    this.#baseOffsets.push(baseOffset);
    this.#ends.push(this.#length);
  }

  /** The map is built: what it needs is known. */
  settle(): void {
    if (this.#map.spareMemory(0) !== undefined) return;
    this.#baseOffsets.length = 0;
    this.#ends.length = 0;
  }

  /** The records of a batch, if they are kept. Batches have to be asked for in the log's order. */
  find(baseOffset: bigint): Buffer | undefined {
    const offsets = this.#baseOffsets;
    while (this.#next < offsets.length && (offsets[this.#next] as bigint) < baseOffset) {
      this.#next++;
    }
    if (offsets[this.#next] !== baseOffset) return undefined;
    const start = this.#next === 0 ? 0 : this.#ends[this.#next - 1];
    return this.#map.spareMemory(0)?.subarray(start, this.#ends[this.#next]);
  }
}
