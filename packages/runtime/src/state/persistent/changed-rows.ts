import { sortedMap, type SortedMap } from '../sorted-map.ts';

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A row and its key's bytes as a latin1 string. */
export type SortedRow<R> = readonly [sortKey: string, row: R];

/**
 * The rows of a table that are not clean, in the order of their keys. Made only once a range is asked
 * for, and kept in order from then on, so that a store which is only asked for single keys pays nothing.
 */
export class ChangedRows<R> {
  readonly #all: () => Iterable<SortedRow<R>>;
  #tree: SortedMap<string, R> | null = null;

  /** @param all the rows that are not clean now */
  constructor(all: () => Iterable<SortedRow<R>>) {
    this.#all = all;
  }

  /** Whether it must be told of changes. */
  get isKept(): boolean {
    return this.#tree !== null;
  }

  changed(sortKey: string, row: R): void {
    this.#tree?.set(sortKey, row);
  }

  /** Clean again, or gone. */
  settled(sortKey: string): void {
    this.#tree?.delete(sortKey);
  }

  clear(): void {
    this.#tree = null;
  }

  /** The row with the lowest key that is at least `bound`, or above it; null bound: the first of all. */
  next(bound: string | null, isAfter: boolean): SortedRow<R> | undefined {
    const tree = this.#sorted();
    if (bound === null) return tree.nextHigherPair(undefined);
    return (isAfter ? undefined : exact(tree, bound)) ?? tree.nextHigherPair(bound);
  }

  /** The other way round. */
  previous(bound: string | null, isBefore: boolean): SortedRow<R> | undefined {
    const tree = this.#sorted();
    if (bound === null) return tree.nextLowerPair(undefined);
    return (isBefore ? undefined : exact(tree, bound)) ?? tree.nextLowerPair(bound);
  }

  #sorted(): SortedMap<string, R> {
    if (this.#tree === null) {
      const tree = sortedMap<string, R>(byText);
      for (const [sortKey, row] of this.#all()) tree.set(sortKey, row);
      this.#tree = tree;
    }
    return this.#tree;
  }
}

function exact<R>(tree: SortedMap<string, R>, sortKey: string): SortedRow<R> | undefined {
  const row = tree.get(sortKey);
  return row === undefined ? undefined : [sortKey, row];
}
