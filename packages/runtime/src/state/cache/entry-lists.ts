import type { CacheEntry } from './cache-entry.ts';

/** The entries of one store's cache, the least recently used first. */
export class UseOrder<K> {
  oldest: CacheEntry<K> | null = null;
  #newest: CacheEntry<K> | null = null;

  add(entry: CacheEntry<K>): void {
    entry.older = this.#newest;
    entry.newer = null;
    if (this.#newest === null) this.oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  touch(entry: CacheEntry<K>): void {
    if (entry === this.#newest) return;
    this.remove(entry);
    this.add(entry);
  }

  remove(entry: CacheEntry<K>): void {
    const { older, newer } = entry;
    if (older === null) this.oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    entry.older = null;
    entry.newer = null;
  }

  clear(): void {
    this.oldest = null;
    this.#newest = null;
  }
}

/** The dirty entries of one store's cache, the one written longest ago first. */
export class DirtyOrder<K> {
  first: CacheEntry<K> | null = null;
  #last: CacheEntry<K> | null = null;

  /** A dirty entry goes to the end. */
  written(entry: CacheEntry<K>): void {
    if (entry.isDirty) {
      if (entry === this.#last) return;
      this.remove(entry);
    }
    entry.isDirty = true;
    entry.dirtyBefore = this.#last;
    entry.dirtyAfter = null;
    if (this.#last === null) this.first = entry;
    else this.#last.dirtyAfter = entry;
    this.#last = entry;
  }

  remove(entry: CacheEntry<K>): void {
    const { dirtyBefore, dirtyAfter } = entry;
    if (dirtyBefore === null) this.first = dirtyAfter;
    else dirtyBefore.dirtyAfter = dirtyAfter;
    if (dirtyAfter === null) this.#last = dirtyBefore;
    else dirtyAfter.dirtyBefore = dirtyBefore;
    entry.dirtyBefore = null;
    entry.dirtyAfter = null;
    entry.isDirty = false;
  }

  clear(): void {
    this.first = null;
    this.#last = null;
  }
}
