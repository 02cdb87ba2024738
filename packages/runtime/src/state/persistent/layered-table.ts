import {
  CLEAN_ROWS_LOOKS,
  CLEAN_ROWS_MAX_BYTES,
  ROW_OVERHEAD_BYTES,
  SPILL_SLICE_ROWS,
} from '../limits.ts';
import { BigMap } from '../memory/big-map.ts';
import { SortedIndex } from '../memory/sorted-index.ts';
import { Arena } from './arena.ts';
import type { StateEnvironment } from './environment.ts';
import { CLEAN, COMMITTED, Row, UNCOMMITTED } from './row.ts';
import type { StateTable } from './state-table.ts';

/** How a store's rows look on disk. */
export interface RowCodec<M> {
  /** The key's bytes as a latin1 string. */
  sortKey(mapKey: M): string;
  /** The other way round, for rows that are read by range. */
  mapKey(sortKey: string): M;
  /** Value and timestamp; returns the end, or -1 if `target` is too small. */
  write(stored: unknown, timestamp: number, target: Buffer, position: number): number;
  /** Sets the row's value and timestamp; `source` is used again. */
  read(source: Buffer, row: Row<M>): void;
}

/**
 * A table with layers before it. Rows that were written, or read lately, are in memory; each belongs
 * to one of three layers: uncommitted, committed but not on disk yet, clean. A commit moves rows from
 * the first to the second, writing to disk (`spill`) to the third, and clean rows are forgotten when
 * they take too much memory. So a commit costs no disk work, and a row that changes often is written
 * once for many changes.
 */
export class LayeredTable<M> {
  readonly #table: StateTable;
  readonly #codec: RowCodec<M>;
  readonly #rows = new BigMap<M, Row<M>>();
  readonly #cleanBytesMax: number;
  /**
   * Rows that are not clean, in order; made only when a range is asked for, and anew after each spill.
   * A row that becomes clean may stay in it: it then says what the disk says.
   */
  readonly #dirty = new SortedIndex<Row<M>>(
    () => this.#dirtyRows(),
    (row) => row.sortKey,
  );
  #order = 1;
  #uncommitted: Row<M>[] = [];
  #committed: Row<M>[] = [];
  /** What the spill under way has taken and not written yet. */
  #spilling: readonly Row<M>[] = [];
  #bytes = 0;
  #committedBytes = 0;
  #hand: IterableIterator<Row<M>> | null = null;
  /** Values on their way to disk: LMDB reads them when it commits. */
  readonly #arena = new Arena();

  constructor(table: StateTable, codec: RowCodec<M>, cleanBytesMax = CLEAN_ROWS_MAX_BYTES) {
    this.#table = table;
    this.#codec = codec;
    this.#cleanBytesMax = cleanBytesMax;
  }

  /** What waits to be written to disk, about, in bytes of memory. */
  get committedBytes(): number {
    return this.#committedBytes;
  }

  /** What all its rows take in memory, about. */
  get memoryBytes(): number {
    return this.#bytes;
  }

  get uncommittedCount(): number {
    return this.#uncommitted.length;
  }

  /** The row; null if there is none. It stays as it is only until the next call. */
  find(mapKey: M): Row<M> | null {
    const known = this.#rows.get(mapKey);
    if (known !== undefined) {
      known.isUsed = true;
      return known.stored === null ? null : known;
    }
    const sortKey = this.#codec.sortKey(mapKey);
    const bytes = this.#table.read(sortKey);
    if (bytes === undefined) return null;
    const row = new Row(mapKey, sortKey);
    this.#codec.read(bytes, row);
    this.#add(row, ROW_OVERHEAD_BYTES + 2 * sortKey.length + bytes.length);
    return row;
  }

  /** A stored value of null deletes. */
  put(mapKey: M, stored: unknown, timestamp: number): void {
    const known = this.#rows.get(mapKey);
    const row = known ?? new Row(mapKey, this.#codec.sortKey(mapKey));
    if (row.layer !== UNCOMMITTED) {
      if (row.layer === CLEAN) this.#index(row);
      else row.committed = { stored: row.stored, timestamp: row.timestamp };
      row.layer = UNCOMMITTED;
      this.#uncommitted.push(row);
    }
    row.stored = stored;
    row.timestamp = timestamp;
    row.isUsed = true;
    if (known === undefined) this.#add(row, ROW_OVERHEAD_BYTES + 2 * row.sortKey.length);
  }

  /** All writes so far stand. */
  commit(): void {
    for (const row of this.#uncommitted) {
      row.layer = COMMITTED;
      row.committed = null;
      this.#list(row);
    }
    this.#uncommitted = [];
  }

  /** Everything since the last commit is undone. */
  rollBack(): void {
    for (const row of this.#uncommitted) {
      const { committed } = row;
      if (committed === null) {
        // It was clean, or is on disk by now: what is on disk counts.
        this.#delete(row);
        continue;
      }
      row.layer = COMMITTED;
      row.stored = committed.stored;
      row.timestamp = committed.timestamp;
      row.committed = null;
      this.#list(row);
    }
    this.#uncommitted = [];
  }

  /** Rows with `from <= key <= to` by their bytes, null means open. Stands up to writes in between. */
  *range(from: string | null, to: string | null, isReverse: boolean): Generator<Row<M>> {
    if (from !== null && to !== null && from > to) return;
    const dirty = this.#dirty.entries();
    let index = from === null ? 0 : SortedIndex.lowerBound(dirty, from);
    let end = dirty.length;
    if (to !== null) {
      end = SortedIndex.lowerBound(dirty, to);
      if (end < dirty.length && (dirty[end] as Row<M>).sortKey === to) end++;
    }
    const step = isReverse ? -1 : 1;
    if (isReverse) [index, end] = [end - 1, index - 1];
    for (const [key, value] of this.#table.rows(from, to, isReverse)) {
      for (; index !== end; index += step) {
        const row = dirty[index] as Row<M>;
        const isNext = isReverse ? row.sortKey > key : row.sortKey < key;
        if (!isNext) break;
        if (row.stored !== null && !row.isRemoved) yield row;
      }
      // Ours is newer, and comes with the next; unless it is not there any more.
      const same = index === end ? undefined : (dirty[index] as Row<M>);
      if (same?.sortKey === key && !same.isRemoved) continue;
      const row = new Row(this.#codec.mapKey(key), key);
      this.#codec.read(value, row);
      yield row;
    }
    for (; index !== end; index += step) {
      const row = dirty[index] as Row<M>;
      if (row.stored !== null && !row.isRemoved) yield row;
    }
  }

  /**
   * Writes what is committed to disk, in the order of the keys, a slice of rows per turn of the event
   * loop. May be called only when no other spill of this table is under way.
   */
  async spill(environment: StateEnvironment): Promise<void> {
    const rows = this.#committed;
    this.#committed = [];
    this.#committedBytes = 0;
    rows.sort(bySortKey);
    this.#spilling = rows;
    try {
      for (let start = 0; start < rows.length; start += SPILL_SLICE_ROWS) {
        const slice = rows.slice(start, start + SPILL_SLICE_ROWS);
        await environment.write(() => {
          for (const row of slice) this.#write(row);
        });
        this.#arena.reset();
        for (const row of slice) this.#written(row);
        this.#forgetSome(CLEAN_ROWS_LOOKS * slice.length);
      }
    } catch (error) {
      // Nothing is lost: what is not on disk waits for the next time.
      for (const row of rows) {
        row.isSpilling = false;
        if (row.layer === COMMITTED && !row.isRemoved) this.#list(row);
      }
      throw error;
    } finally {
      this.#spilling = [];
      this.#dirty.clear();
      this.#order++;
    }
  }

  clear(): void {
    this.#rows.clear();
    this.#dirty.clear();
    this.#uncommitted = [];
    this.#committed = [];
    this.#spilling = [];
    this.#bytes = 0;
    this.#committedBytes = 0;
    this.#hand = null;
  }

  /** The committed value: a row may have been written since. From here on it counts as on disk. */
  #write(row: Row<M>): void {
    row.isSpilling = false;
    const { committed } = row;
    row.committed = null;
    const stored = committed === null ? row.stored : committed.stored;
    if (stored === null) {
      this.#table.remove(row.sortKey);
      return;
    }
    const timestamp = committed === null ? row.timestamp : committed.timestamp;
    const value = this.#arena.write((target, position) =>
      this.#codec.write(stored, timestamp, target, position),
    );
    this.#table.put(row.sortKey, value);
    this.#bytes -= row.bytes;
    row.bytes = ROW_OVERHEAD_BYTES + 2 * row.sortKey.length + value.length;
    this.#bytes += row.bytes;
  }

  #written(row: Row<M>): void {
    // Written once more meanwhile, and perhaps committed.
    if (row.layer !== COMMITTED || row.isSpilling) return;
    row.layer = CLEAN;
    if (row.stored === null) this.#delete(row);
  }

  #add(row: Row<M>, bytes: number): void {
    row.bytes = bytes;
    this.#bytes += bytes;
    this.#rows.add(row.mapKey, row);
    this.#forgetSome(CLEAN_ROWS_LOOKS);
  }

  /** Goes round all rows like the hand of a clock; a row that was used since the last round stays. */
  #forgetSome(maxLooks: number): void {
    for (let looks = 0; looks < maxLooks && this.#bytes > this.#cleanBytesMax; looks++) {
      this.#hand ??= this.#rows.values();
      const next: IteratorResult<Row<M>, unknown> = this.#hand.next();
      if (next.done === true) {
        this.#hand = null;
        continue;
      }
      const row = next.value;
      if (row.layer !== CLEAN) continue;
      if (row.isUsed) row.isUsed = false;
      else this.#delete(row);
    }
  }

  #delete(row: Row<M>): void {
    this.#rows.delete(row.mapKey);
    this.#bytes -= row.bytes;
    if (row.order === this.#order) this.#dirty.removed(row);
    row.isRemoved = true;
  }

  /** To be written with the next spill. */
  #list(row: Row<M>): void {
    if (row.isSpilling) return;
    row.isSpilling = true;
    this.#committed.push(row);
    this.#committedBytes += row.bytes;
  }

  #index(row: Row<M>): void {
    if (row.order === this.#order) return;
    row.order = this.#order;
    this.#dirty.added(row);
  }

  *#dirtyRows(): Iterable<Row<M>> {
    const seen = new Set<Row<M>>();
    for (const rows of [this.#uncommitted, this.#committed, this.#spilling]) {
      for (const row of rows) {
        if (row.layer === CLEAN || row.isRemoved || seen.has(row)) continue;
        seen.add(row);
        row.order = this.#order;
        yield row;
      }
    }
  }
}

function bySortKey(a: { readonly sortKey: string }, b: { readonly sortKey: string }): number {
  return a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0;
}
