import type { Segment } from './segment.ts';

/** A log's segments by base offset. There is always at least one; the last is the active one. */
export class SegmentList {
  #segments: Segment[] = [];

  get count(): number {
    return this.#segments.length;
  }

  get first(): Segment {
    return this.#segments[0] as Segment;
  }

  get active(): Segment {
    return this.#segments.at(-1) as Segment;
  }

  get all(): readonly Segment[] {
    return this.#segments;
  }

  get sizeBytes(): number {
    let sum = 0;
    for (const segment of this.#segments) sum += segment.sizeBytes;
    return sum;
  }

  at(index: number): Segment | undefined {
    return this.#segments[index];
  }

  /** Keeps the order; a segment with the same base is replaced. */
  add(segment: Segment): void {
    const index = this.floorIndex(segment.baseOffset);
    const isThere = this.#segments[index]?.baseOffset === segment.baseOffset;
    this.#segments.splice(isThere ? index : index + 1, isThere ? 1 : 0, segment);
  }

  remove(segment: Segment): void {
    this.#segments = this.#segments.filter((one) => one !== segment);
  }

  /** Index of the last segment with a base at most `offset`; -1: none. */
  floorIndex(offset: bigint): number {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#segments[middle] as Segment).baseOffset <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Those that may hold offsets from `from` on: the one that holds it and all later ones. */
  from(from: bigint): readonly Segment[] {
    return this.#segments.slice(Math.max(0, this.floorIndex(from)));
  }
}
