import type { Row } from './row.ts';

/**
 * The rows that may be forgotten, because they are on disk as well: those that were asked for longest ago
 * first. A list through the rows themselves, so that keeping it costs no memory and no look-up.
 */
export class CleanRows<K> {
  #first: Row<K> | null = null;
  #last: Row<K> | null = null;

  add(row: Row<K>): void {
    row.before = this.#last;
    if (this.#last === null) this.#first = row;
    else this.#last.after = row;
    this.#last = row;
    row.isListed = true;
  }

  remove(row: Row<K>): void {
    if (!row.isListed) return;
    const { before, after } = row;
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    row.before = null;
    row.after = null;
    row.isListed = false;
  }

  get isEmpty(): boolean {
    return this.#first === null;
  }

  /** Looks at the first and takes it if it may go; one that was asked for since the last look gets another turn. */
  look(): Row<K> | null {
    const row = this.#first;
    if (row === null) return null;
    this.remove(row);
    if (!row.isUsed) return row;
    row.isUsed = false;
    this.add(row);
    return null;
  }

  clear(): void {
    this.#first = null;
    this.#last = null;
  }
}
