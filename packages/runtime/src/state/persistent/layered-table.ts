import {
  CLEAN_ROWS_LOOKS,
  CLEAN_ROWS_MAX_BYTES,
  ROW_OVERHEAD_BYTES,
  SPILL_SLICE_ROWS,
  WALK_FIRST_ROWS,
  WALK_ROWS,
} from '../limits.ts';
import { BigMap } from '../memory/big-map.ts';
import { Arena, type RowWriter } from './arena.ts';
import { ChangedRows, type SortedRow } from './changed-rows.ts';
import { CleanRows } from './clean-rows.ts';
import type { StateEnvironment } from './environment.ts';
import { inKeyOrder } from './key-order.ts';
import { CLEAN, COMMITTED, Row, UNCOMMITTED } from './row.ts';
import type { StoredRow } from './state-table.ts';

/** Rows on disk, as a `StateTable` has them. */
export interface DiskTable {
  readonly rowCount: number;
  read(key: string): Buffer | undefined;
  put(key: string, value: Buffer): void;
  remove(key: string): void;
  rows(from: string | null, to: string | null, isReverse: boolean): Iterable<StoredRow>;
}

/** How a store's rows look in memory and on disk. */
export interface RowCodec<K> extends RowWriter {
  /** A primitive that is equal exactly when the keys' bytes are. */
  mapKey(key: K): string | number;
  /** The key's bytes as a latin1 string. */
  sortKey(key: K): string;
  /** The key of these bytes. */
  keyOf(sortKey: string): K;
  /** A key that nobody else can change. */
  own(key: K): K;
  /** Sets the row's value and timestamp; `source` is used again. */
  read(source: Buffer, row: Row<K>): void;
}

/**
 * A table with layers before it. Rows that were written, or read lately, are in memory; each belongs
 * to one of three layers: uncommitted, committed but not on disk yet, clean. A commit moves rows from
 * the first to the second, writing to disk (`spill`) to the third, and clean rows are forgotten when
 * they take too much memory. So a commit costs no disk work, and a row that changes often is written
 * once for many changes.
 */
export class LayeredTable<K> {
  readonly #table: DiskTable;
  readonly #codec: RowCodec<K>;
  readonly #rows = new BigMap<string | number, Row<K>>();
  readonly #cleanBytesMax: number;
  readonly #changed = new ChangedRows<Row<K>>(() => this.#notClean());
  /** Values on their way to disk: LMDB reads them when it commits. */
  readonly #arena = new Arena();
  #uncommitted: Row<K>[] = [];
  #committed: Row<K>[] = [];
  #committedBytes = 0;
  #bytes = 0;
  readonly #clean = new CleanRows<K>();
  /** Nothing has ever been written there, so that nothing need be looked for. */
  #isDiskEmpty: boolean;

  constructor(table: DiskTable, codec: RowCodec<K>, cleanBytesMax = CLEAN_ROWS_MAX_BYTES) {
    this.#table = table;
    this.#isDiskEmpty = table.rowCount === 0;
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

  /** Rows on disk and rows in memory that may not be there yet. */
  get approximateRowCount(): number {
    return this.#table.rowCount + this.#uncommitted.length;
  }

  /** The row; null if there is none. It stays as it is only until the next call. */
  find(key: K): Row<K> | null {
    const mapKey = this.#codec.mapKey(key);
    const known = this.#rows.get(mapKey);
    if (known !== undefined) {
      known.isUsed = true;
      return known.stored === null ? null : known;
    }
    if (this.#isDiskEmpty) return null;
    const sortKey = this.#codec.sortKey(key);
    const bytes = this.#table.read(sortKey);
    if (bytes === undefined) return null;
    const row = new Row(this.#codec.own(key), mapKey, sortKey);
    this.#codec.read(bytes, row);
    this.#add(row, ROW_OVERHEAD_BYTES + 2 * sortKey.length + bytes.length);
    return row;
  }

  /** A stored value of null deletes. */
  put(key: K, stored: unknown, timestamp: number): void {
    const mapKey = this.#codec.mapKey(key);
    const known = this.#rows.get(mapKey);
    const row = known ?? new Row(this.#codec.own(key), mapKey, this.#codec.sortKey(key));
    this.#write(row, stored, timestamp);
    if (known === undefined) this.#add(row, ROW_OVERHEAD_BYTES + 2 * row.sortKey.length);
  }

  /** `put` for a row that `find` has returned, and that is not forgotten. */
  update(row: Row<K>, stored: unknown, timestamp: number): void {
    this.#write(row, stored, timestamp);
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
        this.#changed.settled(row.sortKey);
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

  /**
   * Rows with `from <= key <= to` by their bytes, null means open. Some are read at a time: whatever is
   * written, committed or spilled in between.
   */
  *range(from: string | null, to: string | null, isReverse: boolean): Generator<Row<K>> {
    let last: string | null = null;
    for (let count = WALK_FIRST_ROWS; ; count = Math.min(2 * count, WALK_ROWS)) {
      const rows: Row<K>[] = [];
      const start: string | null = last ?? (isReverse ? to : from);
      for (const row of this.#scan(isReverse ? from : start, isReverse ? start : to, isReverse)) {
        if (row.sortKey !== last) rows.push(row);
        if (rows.length === count) break;
      }
      for (const row of rows) if (row.stored !== null) yield row;
      if (rows.length < count) return;
      last = (rows.at(-1) as Row<K>).sortKey;
    }
  }

  *#scan(from: string | null, to: string | null, isReverse: boolean): Generator<Row<K>> {
    if (from !== null && to !== null && from > to) return;
    const isInRange = ({ sortKey }: Row<K>): boolean =>
      isReverse ? from === null || sortKey >= from : to === null || sortKey <= to;
    const step = (bound: string | null, isBeyond: boolean): Row<K> | undefined => {
      const found = isReverse
        ? this.#changed.previous(bound, isBeyond)
        : this.#changed.next(bound, isBeyond);
      return found !== undefined && isInRange(found[1]) ? found[1] : undefined;
    };
    let ours = step(isReverse ? to : from, false);
    for (const [key, value] of this.#table.rows(from, to, isReverse)) {
      while (ours !== undefined && (isReverse ? ours.sortKey > key : ours.sortKey < key)) {
        const { sortKey } = ours;
        if (ours.stored !== null) yield ours;
        ours = step(sortKey, true);
      }
      // Ours is newer, and comes with the next.
      if (ours?.sortKey === key) continue;
      const row = new Row(this.#codec.keyOf(key), key, key);
      this.#codec.read(value, row);
      yield row;
    }
    while (ours !== undefined) {
      const { sortKey } = ours;
      if (ours.stored !== null) yield ours;
      ours = step(sortKey, true);
    }
  }

  /**
   * Visits rows on disk that have not changed since, from a key on; returns the key to go on with, null
   * at the end. What is visited is not to be changed meanwhile.
   */
  visitClean(from: string | null, maxRows: number, visit: (row: Row<K>) => void): string | null {
    let left = maxRows;
    for (const [sortKey, value] of this.#table.rows(from, null, false)) {
      if (left-- === 0) return sortKey;
      const key = this.#codec.keyOf(sortKey);
      const known = this.#rows.get(this.#codec.mapKey(key));
      if (known !== undefined) {
        if (known.layer === CLEAN) visit(known);
        continue;
      }
      const row = new Row(key, this.#codec.mapKey(key), sortKey);
      this.#codec.read(value, row);
      visit(row);
    }
    return null;
  }

  /**
   * Writes what is committed to disk, in the order of the keys, a slice of rows per turn of the event
   * loop. May be called only when no other spill of this table is under way.
   */
  async spill(environment: StateEnvironment): Promise<void> {
    const rows = this.#committed;
    this.#committed = [];
    this.#committedBytes = 0;
    try {
      for await (const slice of inKeyOrder(rows, bySortKey, SPILL_SLICE_ROWS)) {
        this.#isDiskEmpty = false;
        await environment.write(() => {
          for (const row of slice) this.#toDisk(row);
        });
        this.#arena.reset();
        for (const row of slice) this.#onDisk(row);
        this.#forgetSome(CLEAN_ROWS_LOOKS * slice.length);
      }
    } catch (error) {
      // Nothing is lost: what is not on disk waits for the next time.
      for (const row of rows) {
        row.isSpilling = false;
        if (row.layer === COMMITTED) this.#list(row);
      }
      throw error;
    }
  }

  clear(): void {
    this.#rows.clear();
    this.#changed.clear();
    this.#uncommitted = [];
    this.#committed = [];
    this.#bytes = 0;
    this.#committedBytes = 0;
    this.#clean.clear();
  }

  #write(row: Row<K>, stored: unknown, timestamp: number): void {
    if (row.layer !== UNCOMMITTED) {
      if (row.layer === CLEAN) {
        this.#changed.changed(row.sortKey, row);
        this.#clean.remove(row);
      } else row.committed = { stored: row.stored, timestamp: row.timestamp };
      row.layer = UNCOMMITTED;
      this.#uncommitted.push(row);
    }
    row.stored = stored;
    row.timestamp = timestamp;
    row.isUsed = true;
  }

  /** The committed value: a row may have been written since. From here on it counts as on disk. */
  #toDisk(row: Row<K>): void {
    row.isSpilling = false;
    const { committed } = row;
    const stored = committed === null ? row.stored : committed.stored;
    if (stored === null) {
      this.#table.remove(row.sortKey);
      return;
    }
    const timestamp = committed === null ? row.timestamp : committed.timestamp;
    const value = this.#arena.write(this.#codec, stored, timestamp);
    this.#table.put(row.sortKey, value);
    this.#bytes -= row.bytes;
    row.bytes = ROW_OVERHEAD_BYTES + 2 * row.sortKey.length + value.length;
    this.#bytes += row.bytes;
  }

  #onDisk(row: Row<K>): void {
    // Written and committed once more meanwhile: that is to be written yet.
    if (row.isSpilling) return;
    if (row.layer === UNCOMMITTED) {
      // What was committed before is on disk now, and need not be kept for undoing.
      row.committed = null;
      return;
    }
    row.layer = CLEAN;
    this.#changed.settled(row.sortKey);
    if (row.stored === null) this.#delete(row);
    else this.#clean.add(row);
  }

  /** To be written with the next spill. */
  #list(row: Row<K>): void {
    if (row.isSpilling) return;
    row.isSpilling = true;
    this.#committed.push(row);
    this.#committedBytes += row.bytes;
  }

  #add(row: Row<K>, bytes: number): void {
    row.bytes = bytes;
    this.#bytes += bytes;
    this.#rows.add(row.mapKey, row);
    if (row.layer === CLEAN) this.#clean.add(row);
    this.#forgetSome(CLEAN_ROWS_LOOKS);
  }

  #forgetSome(maxLooks: number): void {
    for (let looks = 0; looks < maxLooks; looks++) {
      if (this.#bytes <= this.#cleanBytesMax || this.#clean.isEmpty) return;
      const row = this.#clean.look();
      if (row !== null) this.#delete(row);
    }
  }

  #delete(row: Row<K>): void {
    row.isForgotten = true;
    this.#clean.remove(row);
    this.#rows.delete(row.mapKey);
    this.#bytes -= row.bytes;
  }

  *#notClean(): Iterable<SortedRow<Row<K>>> {
    for (const row of this.#rows.values()) if (row.layer !== CLEAN) yield [row.sortKey, row];
  }
}

function bySortKey(a: Row<unknown>, b: Row<unknown>): number {
  return a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0;
}
