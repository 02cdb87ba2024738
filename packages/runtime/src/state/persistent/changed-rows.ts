import { sortedMap, type SortedMap } from '../sorted-map.ts';
import type { Row } from './row.ts';

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The rows of a table that are not clean, in the order of their keys. Made only once a range is asked
 * for, and kept in order from then on, so that a store which is only asked for single keys pays nothing.
 */
export class ChangedRows<K> {
  readonly #all: () => Iterable<Row<K>>;
  #tree: SortedMap<string, Row<K>> | null = null;

  /** @param all the rows that are not clean now */
  constructor(all: () => Iterable<Row<K>>) {
    this.#all = all;
  }

  changed(row: Row<K>): void {
    this.#tree?.set(row.sortKey, row);
  }

  /** Clean again, or gone. */
  settled(row: Row<K>): void {
    this.#tree?.delete(row.sortKey);
  }

  clear(): void {
    this.#tree = null;
  }

  /** The row with the lowest key that is at least `bound`, or above it; null bound: the first of all. */
  next(bound: string | null, isAfter: boolean): Row<K> | undefined {
    const tree = this.#sorted();
    if (bound === null) {
      const first = tree.minKey();
      return first === undefined ? undefined : tree.get(first);
    }
    if (!isAfter) {
      const exact = tree.get(bound);
      if (exact !== undefined) return exact;
    }
    return tree.nextHigherPair(bound)?.[1];
  }

  /** The other way round. */
  previous(bound: string | null, isBefore: boolean): Row<K> | undefined {
    const tree = this.#sorted();
    if (bound === null) {
      const last = tree.maxKey();
      return last === undefined ? undefined : tree.get(last);
    }
    if (!isBefore) {
      const exact = tree.get(bound);
      if (exact !== undefined) return exact;
    }
    return tree.nextLowerPair(bound)?.[1];
  }

  #sorted(): SortedMap<string, Row<K>> {
    if (this.#tree === null) {
      const tree = sortedMap<string, Row<K>>(byText);
      for (const row of this.#all()) tree.set(row.sortKey, row);
      this.#tree = tree;
    }
    return this.#tree;
  }
}
