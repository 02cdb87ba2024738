import type { CacheEntry } from './cache-entry.ts';

/** How entries of a cache and rows of the store below are told apart and shown. */
export interface CacheMerge<K, Row> {
  /** Below 0: the entry comes first; 0: both are the same row, and the cache's counts. */
  readonly compare: (entry: CacheEntry<K>, row: Row) => number;
  /** null: deleted, so there is no such row. */
  readonly view: (entry: CacheEntry<K>) => Row | null;
}

/** The rows of a store with those of the cache before it, both in the same order. */
export function* mergeCached<K, Row>(
  cached: readonly CacheEntry<K>[],
  stored: Iterator<Row>,
  { compare, view }: CacheMerge<K, Row>,
): IterableIterator<Row> {
  let next = 0;
  let row = stored.next();
  try {
    while (next < cached.length || row.done !== true) {
      const entry = cached[next];
      const order = entry === undefined ? 1 : row.done === true ? -1 : compare(entry, row.value);
      if (entry === undefined || order > 0) {
        yield row.value as Row;
        row = stored.next();
        continue;
      }
      next++;
      if (order === 0) row = stored.next();
      const shown = view(entry);
      if (shown !== null) yield shown;
    }
  } finally {
    stored.return?.();
  }
}
