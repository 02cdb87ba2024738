import type { MapKey } from './key-codec.ts';

/** One key's windows in parallel arrays, sorted by start: what is asked for is nearly always the last. */
export class KeyWindows<K> {
  readonly key: K;
  readonly mapKey: MapKey;
  readonly starts: number[] = [];
  readonly stored: unknown[] = [];
  readonly timestamps: number[] = [];
  sortKey: string | null = null;

  constructor(key: K, mapKey: MapKey) {
    this.key = key;
    this.mapKey = mapKey;
  }

  get isEmpty(): boolean {
    return this.starts.length === 0;
  }

  indexOf(start: number): number {
    const index = this.#upperBound(start) - 1;
    return index >= 0 && this.starts[index] === start ? index : -1;
  }

  /** True if the window is new. */
  put(start: number, stored: unknown, timestamp: number): boolean {
    const at = this.#upperBound(start);
    if (at > 0 && this.starts[at - 1] === start) {
      this.stored[at - 1] = stored;
      this.timestamps[at - 1] = timestamp;
      return false;
    }
    if (at === this.starts.length) {
      this.starts.push(start);
      this.stored.push(stored);
      this.timestamps.push(timestamp);
    } else {
      this.starts.splice(at, 0, start);
      this.stored.splice(at, 0, stored);
      this.timestamps.splice(at, 0, timestamp);
    }
    return true;
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
    return this.starts.length === 0;
  }

  #cut(index: number, count: number): void {
    this.starts.splice(index, count);
    this.stored.splice(index, count);
    this.timestamps.splice(index, count);
  }

  /** How many windows start at or before `start`. */
  #upperBound(start: number): number {
    const { starts } = this;
    let high = starts.length;
    if (high === 0 || (starts[high - 1] as number) <= start) return high;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] as number) <= start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
