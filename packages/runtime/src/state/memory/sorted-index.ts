/** An entry that can be sorted: `sortKey` is its key's bytes as a latin1 string, once it is known. */
export interface Sortable {
  sortKey: string | null;
  isRemoved: boolean;
}

/**
 * The order of a hash map's entries by key bytes, made when a range is asked for first and brought up
 * to date at the next ask. A walk under way keeps the array that it began with.
 */
export class SortedIndex<E extends Sortable> {
  readonly #all: () => Iterable<E>;
  readonly #sortKeyOf: (entry: E) => string;
  #sorted: readonly E[] | null = null;
  #added: E[] = [];
  #removedCount = 0;

  constructor(all: () => Iterable<E>, sortKeyOf: (entry: E) => string) {
    this.#all = all;
    this.#sortKeyOf = sortKeyOf;
  }

  added(entry: E): void {
    if (this.#sorted !== null) this.#added.push(entry);
  }

  removed(entry: E): void {
    entry.isRemoved = true;
    if (this.#sorted !== null) this.#removedCount++;
  }

  clear(): void {
    this.#sorted = null;
    this.#added = [];
    this.#removedCount = 0;
  }

  entries(): readonly E[] {
    if (this.#sorted === null) {
      this.#sorted = this.#sort([...this.#all()]);
    } else if (this.#added.length > 0 || this.#removedCount > 0) {
      this.#sorted = merge(this.#sorted, this.#sort(this.#added));
    }
    this.#added = [];
    this.#removedCount = 0;
    return this.#sorted;
  }

  /** Index of the first entry whose key is not below `sortKey`. */
  static lowerBound(entries: readonly Sortable[], sortKey: string): number {
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((entries[middle] as Sortable).sortKey as string) < sortKey) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #sort(entries: E[]): E[] {
    for (const entry of entries) entry.sortKey ??= this.#sortKeyOf(entry);
    return entries.sort(bySortKey);
  }
}

function bySortKey(a: Sortable, b: Sortable): number {
  const left = a.sortKey as string;
  const right = b.sortKey as string;
  return left < right ? -1 : left > right ? 1 : 0;
}

function merge<E extends Sortable>(left: readonly E[], right: readonly E[]): E[] {
  const merged: E[] = [];
  let r = 0;
  for (const entry of left) {
    if (entry.isRemoved) continue;
    while (r < right.length && bySortKey(right[r] as E, entry) < 0) {
      const next = right[r++] as E;
      if (!next.isRemoved) merged.push(next);
    }
    merged.push(entry);
  }
  for (; r < right.length; r++) {
    const next = right[r] as E;
    if (!next.isRemoved) merged.push(next);
  }
  return merged;
}
