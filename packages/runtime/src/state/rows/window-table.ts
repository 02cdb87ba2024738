import type { ByteSpan } from './byte-span.ts';
import { floatOf, intOf, NO_ROW, ROW_EXTRA_INT, RowTable } from './row-table.ts';
import { CHUNK_SHIFT } from './row-memory.ts';

/*
 * What the rows of windows have beside key, value and timestamp, by int32:
 *   0  address of the same key's next older window, else 0
 *   1  the window's start, a float64
 *   3  address of the same key's next newer window, else 0
 */
const OLDER = ROW_EXTRA_INT;
const START_FLOATS = (ROW_EXTRA_INT + 1) / 2;
const NEWER = ROW_EXTRA_INT + 3;
const EXTRA_BYTES = 16;

/**
 * Rows of windows outside of V8's heap. A key's newest window is found by a hash of the key's bytes, the
 * others by going from window to window: whoever asks for the next one of the same key begins at the last.
 */
export class WindowTable {
  readonly #rows = new RowTable(EXTRA_BYTES);
  /** Start of the newest window that was ever in it. */
  newestStart = Number.NEGATIVE_INFINITY;

  /** What rows take, bytes. */
  get takenBytes(): number {
    return this.#rows.memory.takenBytes;
  }

  /** What rows may take before more memory is made, bytes. */
  get reservedBytes(): number {
    return this.#rows.memory.reservedBytes;
  }

  /**
   * The key's window of this start, or else one that is next to where it would be; NO_ROW if the key has none.
   *
   * @param from some window of the same key, if one is known
   */
  nearest(source: Buffer, start: number, end: number, windowStart: number, from = NO_ROW): number {
    let row = from === NO_ROW ? this.#rows.find(source, start, end) : from;
    if (row === NO_ROW) return NO_ROW;
    let at = this.startOf(row);
    const isNewer = at < windowStart;
    while (at !== windowStart && at < windowStart === isNewer) {
      const next = this.#link(row, isNewer ? NEWER : OLDER);
      if (next === NO_ROW) break;
      row = next;
      at = this.startOf(row);
    }
    return row;
  }

  /** A window that the key does not have yet. @param nearest what `nearest` has found just now */
  add(
    nearest: number,
    source: Buffer,
    start: number,
    end: number,
    windowStart: number,
    valueBytes: number,
  ): number {
    if (windowStart > this.newestStart) this.newestStart = windowStart;
    const rows = this.#rows;
    if (nearest === NO_ROW) {
      const only = rows.addMissing(source, start, end, valueBytes);
      this.#set(only, NO_ROW, windowStart, NO_ROW);
      return only;
    }
    const isNewer = this.startOf(nearest) < windowStart;
    const older = isNewer ? nearest : this.#link(nearest, OLDER);
    const newer = isNewer ? this.#link(nearest, NEWER) : nearest;
    const row = rows.addUnlisted(source, start, end, valueBytes);
    this.#set(row, older, windowStart, newer);
    if (older !== NO_ROW) this.#setLink(older, NEWER, row);
    if (newer === NO_ROW) rows.relist(older, row);
    else this.#setLink(newer, OLDER, row);
    return row;
  }

  /** Its memory will be used again. */
  remove(row: number): void {
    const rows = this.#rows;
    const older = this.#link(row, OLDER);
    const newer = this.#link(row, NEWER);
    if (older !== NO_ROW) this.#setLink(older, NEWER, newer);
    if (newer !== NO_ROW) this.#setLink(newer, OLDER, older);
    else if (older !== NO_ROW) rows.relist(row, older);
    else rows.unlist(row);
    rows.release(row);
  }

  /** Takes out all rows, and keeps their memory for those to come. */
  reset(): void {
    this.#rows.reset();
    this.newestStart = Number.NEGATIVE_INFINITY;
  }

  startOf(row: number): number {
    return this.#floats(row)[floatOf(row) + START_FLOATS] as number;
  }

  /** The same key's next older window, NO_ROW if there is none. */
  olderOf(row: number): number {
    return this.#link(row, OLDER);
  }

  /** Each key's newest window. */
  *newest(): IterableIterator<number> {
    for (let slot = 0; slot < this.#rows.slotCount; slot++) {
      const row = this.#rows.rowAt(slot);
      if (row !== NO_ROW) yield row;
    }
  }

  /** Where the row's key is; valid until the next call. */
  key(row: number): ByteSpan {
    return this.#rows.key(row);
  }

  /** Where the row's value is; valid until the next call. */
  value(row: number): ByteSpan {
    return this.#rows.value(row);
  }

  timestamp(row: number): number {
    return this.#rows.timestamp(row);
  }

  set(row: number, source: Buffer, start: number, end: number, timestamp: number): void {
    this.#rows.setValue(row, source, start, end);
    this.#rows.setTimestamp(row, timestamp);
  }

  #set(row: number, older: number, windowStart: number, newer: number): void {
    this.#floats(row)[floatOf(row) + START_FLOATS] = windowStart;
    this.#setLink(row, OLDER, older);
    this.#setLink(row, NEWER, newer);
  }

  #link(row: number, which: number): number {
    return (this.#rows.memory.ints[row >>> CHUNK_SHIFT] as Int32Array)[
      intOf(row) + which
    ] as number;
  }

  #setLink(row: number, which: number, other: number): void {
    (this.#rows.memory.ints[row >>> CHUNK_SHIFT] as Int32Array)[intOf(row) + which] = other;
  }

  #floats(row: number): Float64Array {
    return this.#rows.memory.floats[row >>> CHUNK_SHIFT] as Float64Array;
  }
}
