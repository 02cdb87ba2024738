import { MAX_TRACKED_OFFSETS } from '../../limits.ts';

const TWO_32 = 2 ** 32;

/**
 * Which records of the dirty section are the latest of their keys, a bit per offset: kept while the offset map
 * is filled, so that the second phase looks no key up there, and doesn't even decode a batch of which
 * nothing is left. It speaks for batches all of whose records went into the map; of any other
 * record, and of what lies beyond MAX_TRACKED_OFFSETS, the map itself is asked.
 */
export class LatestOffsets {
  #firstOffset = 0n;
  #firstHigh = 0;
  #firstLow = 0;
  #count = 0;
  #latest = new Int32Array(0);
  /** At the base offset of a batch whose records are all in the map. */
  #covered = new Int32Array(0);

  /** Forgets everything; from now on it is about [firstOffset, endOffset). */
  reset(firstOffset: bigint, endOffset: bigint): void {
    const span = endOffset - firstOffset;
    this.#count = span > BigInt(MAX_TRACKED_OFFSETS) ? MAX_TRACKED_OFFSETS : Number(span);
    this.#firstOffset = firstOffset;
    this.#firstHigh = Number(firstOffset >> 32n);
    this.#firstLow = Number(BigInt.asUintN(32, firstOffset));
    const words = (this.#count + 31) >>> 5;
    if (words > this.#latest.length) {
      this.#latest = new Int32Array(words);
      this.#covered = new Int32Array(words);
    } else {
      this.#latest.fill(0, 0, words);
      this.#covered.fill(0, 0, words);
    }
  }

  #indexOf(offsetHigh: number, offsetLow: number): number {
    return (offsetHigh - this.#firstHigh) * TWO_32 + (offsetLow >>> 0) - this.#firstLow;
  }

  /** The record at this offset is its key's latest, for now. */
  add(offsetHigh: number, offsetLow: number): void {
    const index = this.#indexOf(offsetHigh, offsetLow);
    if (index >= 0 && index < this.#count) {
      const word = index >>> 5;
      this.#latest[word] = (this.#latest[word] as number) | (1 << (index & 31));
    }
  }

  /** It no longer is. */
  remove(offsetHigh: number, offsetLow: number): void {
    const index = this.#indexOf(offsetHigh, offsetLow);
    if (index >= 0 && index < this.#count) {
      const word = index >>> 5;
      this.#latest[word] = (this.#latest[word] as number) & ~(1 << (index & 31));
    }
  }

  /** All records of the batch [baseOffset, nextOffset) are in the map, each at an offset of its own. */
  cover(baseOffset: bigint, nextOffset: bigint): void {
    const index = Number(baseOffset - this.#firstOffset);
    if (index < 0 || Number(nextOffset - this.#firstOffset) > this.#count) return;
    const word = index >>> 5;
    this.#covered[word] = (this.#covered[word] as number) | (1 << (index & 31));
  }

  /** What to ask for its records by, adding their offset deltas; -1: it isn't covered. */
  indexOf(baseOffset: bigint): number {
    const index = Number(baseOffset - this.#firstOffset);
    if (index < 0 || index >= this.#count) return -1;
    return ((this.#covered[index >>> 5] as number) & (1 << (index & 31))) === 0 ? -1 : index;
  }

  isLatest(index: number): boolean {
    return ((this.#latest[index >>> 5] as number) & (1 << (index & 31))) !== 0;
  }

  /** Whether any of the offsets [start, end), as indexes, is a key's latest. */
  hasLatest(start: number, end: number): boolean {
    const latest = this.#latest;
    for (let index = start; index < end;) {
      const bit = index & 31;
      const word = (latest[index >>> 5] as number) >>> bit;
      const length = Math.min(32 - bit, end - index);
      if ((length === 32 ? word : word & ((1 << length) - 1)) !== 0) return true;
      index += length;
    }
    return false;
  }
}
