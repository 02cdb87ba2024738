import { EXPIRY_BUCKETS_PER_RETENTION, SPARE_TABLE_MIN_BYTES } from '../limits.ts';
import { WindowTable } from '../rows/window-table.ts';

/** A table is kept for the next slice if at least one of so many bytes was in use. */
const SPARE_BYTES_PER_USED = 4;

interface Slice {
  readonly number: number;
  readonly table: WindowTable;
}

/**
 * The windows of a store by slices of their starts, a table each. A slice goes as a whole once all of it has
 * expired, so no row is touched for its expiry, and leaves its memory to the next one; readers leave out what
 * has expired meanwhile.
 */
export class WindowSlices {
  readonly #sliceMs: number;
  /** Lowest number first; a handful. */
  readonly #slices: Slice[] = [];
  /** First time of the slice of the last one, which most often is that of the next one. */
  #lastTime = Number.NaN;
  #lastTable: WindowTable | null = null;
  #spare: WindowTable | null = null;

  constructor(retentionMs: number) {
    this.#sliceMs = Math.max(1, Math.floor(retentionMs / EXPIRY_BUCKETS_PER_RETENTION));
  }

  /** The table that a window of this start is in, if it is there. */
  at(windowStart: number): WindowTable | null {
    const isOfLast = windowStart >= this.#lastTime && windowStart < this.#lastTime + this.#sliceMs;
    if (!isOfLast) {
      const number = Math.floor(windowStart / this.#sliceMs);
      const slice = this.#slices[this.#indexFrom(number)];
      this.#lastTime = number * this.#sliceMs;
      this.#lastTable = slice?.number === number ? slice.table : null;
    }
    return this.#lastTable;
  }

  atOrNew(windowStart: number): WindowTable {
    const known = this.at(windowStart);
    if (known !== null) return known;
    const number = Math.floor(windowStart / this.#sliceMs);
    const table = this.#spare ?? new WindowTable();
    this.#spare = null;
    this.#slices.splice(this.#indexFrom(number), 0, { number, table });
    this.#lastTable = table;
    return table;
  }

  /** Tables that may have windows with `from <= start <= to`, newest first. */
  *between(from: number, to: number): IterableIterator<WindowTable> {
    const first = Math.floor(from / this.#sliceMs);
    const last = Math.floor(to / this.#sliceMs);
    for (let i = this.#slices.length - 1; i >= 0; i--) {
      const { number, table } = this.#slices[i] as Slice;
      if (number >= first && number <= last) yield table;
    }
  }

  /** Every window that starts at or before `limit` has expired. True if a table is gone, or is for another slice now. */
  advanceTo(limit: number): boolean {
    let gone = 0;
    for (const { table } of this.#slices) {
      if (table.newestStart > limit) break;
      gone++;
      this.#keep(table);
    }
    if (gone === 0) return false;
    this.#slices.splice(0, gone);
    this.#lastTime = Number.NaN;
    return true;
  }

  clear(): void {
    this.#slices.length = 0;
    this.#spare = null;
    this.#lastTime = Number.NaN;
    this.#lastTable = null;
  }

  /** Its memory is what the next slice is likely to need, unless there was a rush before it. */
  #keep(table: WindowTable): void {
    const { takenBytes, reservedBytes } = table;
    const isUsed =
      reservedBytes <= SPARE_TABLE_MIN_BYTES || takenBytes * SPARE_BYTES_PER_USED >= reservedBytes;
    if (!isUsed) return;
    table.reset();
    this.#spare = table;
  }

  /** Index of the first slice that is not before this one. */
  #indexFrom(number: number): number {
    let index = this.#slices.length;
    while (index > 0 && (this.#slices[index - 1] as Slice).number >= number) index--;
    return index;
  }
}
