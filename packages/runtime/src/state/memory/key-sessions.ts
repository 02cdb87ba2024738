import type { MapKey } from './key-codec.ts';

/**
 * One key's sessions in parallel arrays, sorted by end, then by start: what is asked for is nearly
 * always the last. The arrays never shrink, as with windows.
 */
export class KeySessions<K> {
  readonly key: K;
  readonly mapKey: MapKey;
  /** -1: of two with the same end, the later start comes first. */
  readonly #startOrder: 1 | -1;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #stored: unknown[] = [];
  #count = 0;
  #startsAscend = true;
  sortKey: string | null = null;
  /** What it is listed for among what expires, once for all that it has; it is not, if that has expired. */
  listedEnd = -1;
  /** Listed among the keys that had nothing left. */
  isIdle = false;

  constructor(key: K, mapKey: MapKey, startOrder: 1 | -1) {
    this.key = key;
    this.mapKey = mapKey;
    this.#startOrder = startOrder;
  }

  get count(): number {
    return this.#count;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Whether a session that ends later also starts later, as always when sessions do not overlap. */
  get startsAscend(): boolean {
    return this.#startsAscend;
  }

  startAt(index: number): number {
    return this.#starts[index] as number;
  }

  endAt(index: number): number {
    return this.#ends[index] as number;
  }

  storedAt(index: number): unknown {
    return this.#stored[index];
  }

  indexOf(start: number, end: number): number {
    const index = this.#lowerBound(start, end);
    return this.#isAt(index, start, end) ? index : -1;
  }

  /** Index of the first session that does not end before `end`. */
  indexOfEnd(end: number): number {
    let high = this.#count;
    if (high === 0 || this.endAt(high - 1) < end) return high;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.endAt(middle) < end) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  hasEnd(end: number): boolean {
    const index = this.indexOfEnd(end);
    return index < this.#count && this.#ends[index] === end;
  }

  /** True if the session is new. */
  put(start: number, end: number, stored: unknown): boolean {
    const at = this.#lowerBound(start, end);
    if (this.#isAt(at, start, end)) {
      this.#stored[at] = stored;
      return false;
    }
    for (let i = this.#count; i > at; i--) this.#move(i - 1, i);
    this.#count++;
    this.#set(at, start, end, stored);
    if (
      (at > 0 && this.startAt(at - 1) > start) ||
      (at + 1 < this.#count && this.startAt(at + 1) < start)
    ) {
      this.#startsAscend = false;
    }
    return true;
  }

  remove(start: number, end: number): boolean {
    const index = this.indexOf(start, end);
    if (index < 0) return false;
    this.#cut(index, 1);
    return true;
  }

  /** Forgets every session that ends at or before `limit`; true if none is left. */
  expire(limit: number): boolean {
    const count = this.indexOfEnd(limit + 1);
    if (count > 0) this.#cut(0, count);
    return this.#count === 0;
  }

  #isAt(index: number, start: number, end: number): boolean {
    return index < this.#count && this.#ends[index] === end && this.#starts[index] === start;
  }

  #cut(index: number, gone: number): void {
    const left = this.#count - gone;
    for (let i = index; i < left; i++) this.#move(i + gone, i);
    // The values must not be kept alive.
    for (let i = left; i < this.#count; i++) this.#stored[i] = null;
    this.#count = left;
    if (left === 0) this.#startsAscend = true;
  }

  #move(from: number, to: number): void {
    this.#set(to, this.startAt(from), this.endAt(from), this.#stored[from]);
  }

  #set(index: number, start: number, end: number, stored: unknown): void {
    this.#starts[index] = start;
    this.#ends[index] = end;
    this.#stored[index] = stored;
  }

  /** Index of the first session that does not come before this one. */
  #lowerBound(start: number, end: number): number {
    const order = this.#startOrder;
    let low = this.indexOfEnd(end);
    while (
      low < this.#count &&
      this.endAt(low) === end &&
      order * (this.startAt(low) - start) < 0
    ) {
      low++;
    }
    return low;
  }
}
