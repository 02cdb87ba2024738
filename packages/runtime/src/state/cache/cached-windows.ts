import type { MapKey } from '../memory/key-codec.ts';
import type { CacheEntry } from './cache-entry.ts';

/** The cached windows of one key, sorted by start. */
export class CachedWindows<K> {
  readonly key: K;
  readonly mapKey: MapKey;
  readonly #entries: CacheEntry<K>[] = [];

  constructor(key: K, mapKey: MapKey) {
    this.key = key;
    this.mapKey = mapKey;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  get(start: number): CacheEntry<K> | undefined {
    const entry = this.#entries[this.#lowerBound(start)];
    return entry?.windowStart === start ? entry : undefined;
  }

  add(entry: CacheEntry<K>): void {
    this.#entries.splice(this.#lowerBound(entry.windowStart), 0, entry);
  }

  remove(entry: CacheEntry<K>): void {
    this.#entries.splice(this.#lowerBound(entry.windowStart), 1);
  }

  between(from: number, to: number): CacheEntry<K>[] {
    const found: CacheEntry<K>[] = [];
    for (let i = this.#lowerBound(from); i < this.#entries.length; i++) {
      const entry = this.#entries[i] as CacheEntry<K>;
      if (entry.windowStart > to) break;
      found.push(entry);
    }
    return found;
  }

  /** Index of the first entry that does not start before `start`. */
  #lowerBound(start: number): number {
    const entries = this.#entries;
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((entries[middle] as CacheEntry<K>).windowStart < start) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
