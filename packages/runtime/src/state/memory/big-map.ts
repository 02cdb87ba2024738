import { MAP_MAX_ENTRIES } from '../limits.ts';

/**
 * A map without V8's bound of 2^24 entries: when one Map is full, the next begins. A look-up costs
 * one probe more per full map, so nothing changes below the bound.
 */
export class BigMap<K, V> {
  readonly #maps: Map<K, V>[] = [new Map<K, V>()];
  #first: Map<K, V>;
  readonly #maxEntries: number;

  constructor(maxEntries: number = MAP_MAX_ENTRIES) {
    this.#first = this.#maps[0] as Map<K, V>;
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    if (this.#maps.length === 1) return this.#first.size;
    return this.#maps.reduce((sum, map) => sum + map.size, 0);
  }

  get(key: K): V | undefined {
    const found = this.#first.get(key);
    if (found !== undefined || this.#maps.length === 1) return found;
    for (let i = 1; i < this.#maps.length; i++) {
      const later = (this.#maps[i] as Map<K, V>).get(key);
      if (later !== undefined) return later;
    }
    return undefined;
  }

  /** Adds a key that is not there yet; the caller has looked. */
  add(key: K, value: V): void {
    if (this.#first.size < this.#maxEntries) {
      this.#first.set(key, value);
      return;
    }
    let free = this.#maps.find((map) => map.size < this.#maxEntries);
    if (free === undefined) {
      free = new Map();
      this.#maps.push(free);
    }
    free.set(key, value);
  }

  delete(key: K): boolean {
    for (const map of this.#maps) if (map.delete(key)) return true;
    return false;
  }

  *values(): IterableIterator<V> {
    for (const map of this.#maps) yield* map.values();
  }

  clear(): void {
    this.#maps.length = 0;
    this.#first = new Map();
    this.#maps.push(this.#first);
  }
}
