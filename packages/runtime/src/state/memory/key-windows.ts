import type { MapKey } from './key-codec.ts';

/**
 * One key's windows in parallel arrays, sorted by start: what is asked for is nearly always the last.
 * The arrays never shrink: a key whose windows expire mostly gets new ones, which take their places.
 */
export class KeyWindows<K> {
  readonly key: K;
  readonly mapKey: MapKey;
  readonly #starts: number[] = [];
  readonly #stored: unknown[] = [];
  readonly #timestamps: number[] = [];
  #count = 0;
  sortKey: string | null = null;
  /** Listed among the keys that had nothing left. */
  isIdle = false;

  constructor(key: K, mapKey: MapKey) {
    this.key = key;
    this.mapKey = mapKey;
  }

  get count(): number {
    return this.#count;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  startAt(index: number): number {
    return this.#starts[index] as number;
  }

  storedAt(index: number): unknown {
    return this.#stored[index];
  }

  timestampAt(index: number): number {
    return this.#timestamps[index] as number;
  }

  indexOf(start: number): number {
    const index = this.#upperBound(start) - 1;
    return index >= 0 && this.#starts[index] === start ? index : -1;
  }

  /** True if the window is new. */
  put(start: number, stored: unknown, timestamp: number): boolean {
    const at = this.#upperBound(start);
    const isNew = at === 0 || this.#starts[at - 1] !== start;
    if (isNew) {
      for (let i = this.#count; i > at; i--) this.#move(i - 1, i);
      this.#count++;
    }
    this.#set(isNew ? at : at - 1, start, stored, timestamp);
    return isNew;
  }

  remove(start: number): boolean {
    const index = this.indexOf(start);
    if (index < 0) return false;
    this.#cut(index, 1);
    return true;
  }

  /** Forgets every window that starts at or before `limit`; true if none is left. */
  expire(limit: number): boolean {
    const count = this.#upperBound(limit);
    if (count > 0) this.#cut(0, count);
    return this.#count === 0;
  }

  #cut(index: number, gone: number): void {
    const left = this.#count - gone;
    for (let i = index; i < left; i++) this.#move(i + gone, i);
    // The values must not be kept alive.
    for (let i = left; i < this.#count; i++) this.#stored[i] = null;
    this.#count = left;
  }

  #move(from: number, to: number): void {
    this.#set(to, this.startAt(from), this.#stored[from], this.timestampAt(from));
  }

  #set(index: number, start: number, stored: unknown, timestamp: number): void {
    this.#starts[index] = start;
    this.#stored[index] = stored;
    this.#timestamps[index] = timestamp;
  }

  /** How many windows start at or before `start`. */
  #upperBound(start: number): number {
    let high = this.#count;
    if (high === 0 || this.startAt(high - 1) <= start) return high;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.startAt(middle) <= start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
