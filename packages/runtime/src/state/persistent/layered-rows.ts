import { readInt64AsNumber, writeInt64FromNumber } from '@millrace/protocol';
import {
  CLEAN_ROWS_LOOKS,
  CLEAN_ROWS_MAX_BYTES,
  ROW_SLOT_BYTES,
  SPILL_SLICE_ROWS,
  WALK_FIRST_ROWS,
  WALK_ROWS,
} from '../limits.ts';
import { AddressList } from '../rows/address-list.ts';
import type { ByteSpan } from '../rows/byte-span.ts';
import { copyBytes } from '../rows/copy-bytes.ts';
import { NO_ROW, RowTable } from '../rows/row-table.ts';
import { Arena } from './arena.ts';
import { ChangedRows, type SortedRow } from './changed-rows.ts';
import type { StateEnvironment } from './environment.ts';
import { inKeyOrder } from './key-order.ts';
import type { StoredRow } from './state-table.ts';

/** Rows on disk by the bytes of their keys, as a `StateTable` has them. */
export interface DiskRows {
  readonly rowCount: number;
  readAt(key: ByteSpan): Buffer | undefined;
  putAt(key: ByteSpan, value: Buffer): void;
  removeAt(key: ByteSpan): void;
  rows(from: string | null, to: string | null, isReverse: boolean): Iterable<StoredRow>;
}

/** A key, and its row on disk, if it was found there. */
type FoundRow = readonly [key: string, stored: Buffer | null];

/** A row that a walk has come to; its value is to be looked at at once. */
export interface WalkedRow {
  /** The key's bytes as a latin1 string. */
  sortKey: string;
  readonly value: ByteSpan;
  timestamp: number;
}

/*
 * A row's marks. Its layer: clean, on disk as it is here; committed, but not on disk yet; or written since
 * the last commit (KIP-892).
 */
const LAYER = 0b11;
const CLEAN = 0;
const COMMITTED = 1;
const UNCOMMITTED = 2;
/** Waits to be written to disk, in whatever layer it is now. */
const LISTED = 1 << 2;
/** Asked for since the last look: not to be forgotten yet. */
const USED = 1 << 3;
/** Handed to LMDB, whose answer is not there yet. */
const WRITING = 1 << 4;
/** Forgotten while it was written. */
const GONE = 1 << 5;

/** On disk a row begins with its timestamp, int64 (-1: none). */
const TIMESTAMP_BYTES = 8;

/**
 * Rows of bytes with layers before a table on disk. Rows that were written, or read lately, are in memory;
 * each belongs to one of three layers: uncommitted, committed but not on disk yet, clean. A commit moves
 * rows from the first to the second, writing to disk (`spill`) to the third, and clean rows are forgotten,
 * those asked for longest ago first (as a clock's hand comes by), when all take too much memory. So a
 * commit costs no disk work, and a row that changes often is written once for many changes.
 */
export class LayeredRows {
  /** What is in memory. A row without a value says that there is no such row. */
  readonly #rows = new RowTable();
  readonly #disk: DiskRows;
  readonly #cleanBytesMax: number;
  readonly #changed = new ChangedRows<number>(() => this.#notClean());
  /** Values on their way to disk: LMDB reads them when it commits. */
  readonly #arena = new Arena();
  readonly #onDiskWriter = {
    write: (stored: unknown, timestamp: number, target: Buffer, position: number) =>
      writeRow(stored as ByteSpan, timestamp, target, position),
  };
  /** Reused for each look on disk. */
  readonly #sought: ByteSpan = { buffer: Buffer.alloc(0), start: 0, end: 0 };
  #uncommitted = new AddressList();
  #committed = new AddressList();
  #committedBytes = 0;
  #cleanCount = 0;
  /** The clock's hand: the slot that is looked at next. */
  #hand = 0;
  /** Nothing has ever been written there, so that nothing need be looked for. */
  #isDiskEmpty: boolean;
  /** Changes whenever a row leaves memory: an address that was found before may be another row's then. */
  epoch = 0;

  constructor(disk: DiskRows, cleanBytesMax = CLEAN_ROWS_MAX_BYTES) {
    this.#disk = disk;
    this.#isDiskEmpty = disk.rowCount === 0;
    this.#cleanBytesMax = cleanBytesMax;
  }

  /** What waits to be written to disk, in bytes of memory. */
  get committedBytes(): number {
    return this.#committedBytes;
  }

  /** What all its rows take in memory, bytes. */
  get memoryBytes(): number {
    return this.#rows.bytes;
  }

  /** Rows on disk and rows in memory that may not be there yet. */
  get approximateRowCount(): number {
    return this.#disk.rowCount + this.#uncommitted.length;
  }

  /** The row's address, which is the row's as long as `epoch` does not change; NO_ROW if there is none. */
  find(source: Buffer, start: number, end: number): number {
    const rows = this.#rows;
    const known = rows.find(source, start, end);
    if (known !== NO_ROW) {
      rows.setMarks(known, rows.marks(known) | USED);
      return rows.hasValue(known) ? known : NO_ROW;
    }
    if (this.#isDiskEmpty) return NO_ROW;
    pointAt(this.#sought, source, start, end);
    const stored = this.#disk.readAt(this.#sought);
    if (stored === undefined) return NO_ROW;
    // Before it is there, or it might be the one that goes.
    this.#forgetSome(CLEAN_ROWS_LOOKS);
    const row = rows.findOrAdd(source, start, end, stored.length - TIMESTAMP_BYTES);
    rows.setValue(row, stored, TIMESTAMP_BYTES, stored.length);
    rows.setTimestamp(row, readInt64AsNumber(stored, 0));
    rows.setMarks(row, CLEAN | USED);
    this.#cleanCount++;
    return row;
  }

  value(row: number): ByteSpan {
    return this.#rows.value(row);
  }

  timestamp(row: number): number {
    return this.#rows.timestamp(row);
  }

  /** A value of null deletes. Returns the row. */
  put(
    source: Buffer,
    start: number,
    end: number,
    value: ByteSpan | null,
    timestamp: number,
  ): number {
    const rows = this.#rows;
    const valueBytes = value === null ? 0 : value.end - value.start;
    const row = rows.findOrAdd(source, start, end, valueBytes);
    const isNew = rows.marks(row) === 0 && !rows.hasValue(row);
    this.#write(row, isNew, value, timestamp);
    if (isNew) this.#forgetSome(CLEAN_ROWS_LOOKS);
    return row;
  }

  /** `put` for a row that `find` has returned, and that is still there. */
  update(row: number, value: ByteSpan | null, timestamp: number): void {
    this.#write(row, false, value, timestamp);
  }

  /** All writes so far stand. */
  commit(): void {
    const rows = this.#rows;
    for (let i = 0; i < this.#uncommitted.length; i++) {
      const row = this.#uncommitted.at(i);
      rows.dropKept(row);
      this.#setLayer(row, COMMITTED);
      this.#list(row);
    }
    this.#uncommitted = new AddressList();
  }

  /** Everything since the last commit is undone. */
  rollBack(): void {
    const rows = this.#rows;
    for (let i = 0; i < this.#uncommitted.length; i++) {
      const row = this.#uncommitted.at(i);
      if (!rows.isKept(row)) {
        // It was clean, or is on disk by now: what is on disk counts.
        this.#settled(row);
        this.#forget(row);
        continue;
      }
      const timestamp = rows.keptTimestamp(row);
      const kept = rows.kept(row);
      this.#setValue(row, kept);
      rows.setTimestamp(row, timestamp);
      rows.dropKept(row);
      this.#setLayer(row, COMMITTED);
      this.#list(row);
    }
    this.#uncommitted = new AddressList();
  }

  /**
   * Rows with `from <= key <= to` by their bytes, null means open. Some are looked up at a time: whatever
   * is written, committed or spilled in between, each is as it is when the walk comes to it.
   */
  *range(from: string | null, to: string | null, isReverse: boolean): Generator<WalkedRow> {
    let last: string | null = null;
    const walked: WalkedRow = {
      sortKey: '',
      value: { buffer: Buffer.alloc(0), start: 0, end: 0 },
      timestamp: -1,
    };
    for (let count = WALK_FIRST_ROWS; ; count = Math.min(2 * count, WALK_ROWS)) {
      const found: FoundRow[] = [];
      const start: string | null = last ?? (isReverse ? to : from);
      for (const row of this.#scan(isReverse ? from : start, isReverse ? start : to, isReverse)) {
        if (row[0] !== last) found.push(row);
        if (found.length === count) break;
      }
      const { epoch } = this;
      for (const [key, stored] of found) {
        // What was on disk is there still, unless rows have come and gone since.
        if (this.#walkTo(key, this.epoch === epoch ? stored : null, walked)) yield walked;
      }
      if (found.length < count) return;
      [last] = found.at(-1) as FoundRow;
    }
  }

  /**
   * Writes what is committed to disk, in the order of the keys, a slice of rows per turn of the event
   * loop. May be called only when no other spill of these rows is under way.
   */
  async spill(environment: StateEnvironment): Promise<void> {
    const listed = this.#committed;
    this.#committed = new AddressList();
    this.#committedBytes = 0;
    let failure: unknown = null;
    for await (const slice of inKeyOrder(listed, this.#rows.compareKeys, SPILL_SLICE_ROWS)) {
      try {
        if (failure === null) await this.#spillSlice(slice, environment);
      } catch (error) {
        failure = error;
      }
      // Nothing is lost: what is not on disk waits for the next time.
      if (failure !== null) for (const row of slice) this.#relist(row);
    }
    this.#rows.trim();
    if (failure !== null) throw failure as Error;
  }

  clear(): void {
    this.#rows.clear();
    this.#changed.clear();
    this.#uncommitted = new AddressList();
    this.#committed = new AddressList();
    this.#committedBytes = 0;
    this.#cleanCount = 0;
    this.epoch++;
  }

  async #spillSlice(slice: readonly number[], environment: StateEnvironment): Promise<void> {
    this.#isDiskEmpty = false;
    await environment.write(() => {
      for (const row of slice) this.#toDisk(row);
    });
    this.#arena.reset();
    for (const row of slice) this.#onDisk(row);
    this.#forgetSome(CLEAN_ROWS_LOOKS * slice.length);
  }

  #write(row: number, isNew: boolean, value: ByteSpan | null, timestamp: number): void {
    const rows = this.#rows;
    const marks = rows.marks(row);
    if ((marks & LAYER) !== UNCOMMITTED) {
      if ((marks & LAYER) === COMMITTED) {
        rows.keep(row);
      } else {
        if (!isNew) this.#cleanCount--;
        if (this.#changed.isKept) this.#changed.changed(this.#sortKey(row), row);
      }
      this.#uncommitted.push(row);
    }
    rows.setMarks(row, (marks & ~LAYER) | UNCOMMITTED | USED);
    this.#setValue(row, value);
    rows.setTimestamp(row, timestamp);
  }

  #setValue(row: number, value: ByteSpan | null): void {
    if (value === null) this.#rows.dropValue(row);
    else this.#rows.setValue(row, value.buffer, value.start, value.end);
  }

  #setLayer(row: number, layer: number): void {
    this.#rows.setMarks(row, (this.#rows.marks(row) & ~LAYER) | layer);
  }

  /** To be written with the next spill. */
  #list(row: number): void {
    const marks = this.#rows.marks(row);
    if ((marks & LISTED) !== 0) return;
    this.#rows.setMarks(row, marks | LISTED);
    this.#committed.push(row);
    this.#committedBytes += this.#rows.bytesOf(row) + ROW_SLOT_BYTES;
  }

  /** The committed value: a row may have been written since. From here on it counts as on disk. */
  #toDisk(row: number): void {
    const rows = this.#rows;
    rows.setMarks(row, (rows.marks(row) & ~LISTED) | WRITING);
    const isKept = rows.isKept(row);
    const hasValue = isKept ? rows.kept(row) !== null : rows.hasValue(row);
    if (!hasValue) {
      this.#disk.removeAt(rows.key(row));
    } else {
      const timestamp = isKept ? rows.keptTimestamp(row) : rows.timestamp(row);
      const value = isKept ? (rows.kept(row) as ByteSpan) : rows.value(row);
      const stored = this.#arena.write(this.#onDiskWriter, value, timestamp);
      this.#disk.putAt(rows.key(row), stored);
    }
  }

  #onDisk(row: number): void {
    const rows = this.#rows;
    const marks = rows.marks(row) & ~WRITING;
    rows.setMarks(row, marks);
    if ((marks & GONE) !== 0) {
      rows.release(row);
      return;
    }
    // Written and committed once more meanwhile: that is to be written yet.
    if ((marks & LISTED) !== 0) return;
    if ((marks & LAYER) === UNCOMMITTED) {
      // What was committed before is on disk now, and need not be kept for undoing.
      rows.dropKept(row);
      return;
    }
    this.#setLayer(row, CLEAN);
    this.#settled(row);
    if (rows.hasValue(row)) this.#cleanCount++;
    else this.#forget(row);
  }

  /** It could not be written. */
  #relist(row: number): void {
    const marks = this.#rows.marks(row) & ~(LISTED | WRITING);
    this.#rows.setMarks(row, marks);
    if ((marks & GONE) !== 0) this.#rows.release(row);
    else if ((marks & LAYER) === COMMITTED) this.#list(row);
  }

  #forgetSome(maxLooks: number): void {
    const rows = this.#rows;
    for (let looks = 0; looks < maxLooks; looks++) {
      if (this.#cleanCount === 0 || rows.bytes <= this.#cleanBytesMax) return;
      const row = this.#nextRow();
      const marks = rows.marks(row);
      if ((marks & LAYER) !== CLEAN) continue;
      if ((marks & USED) !== 0) {
        rows.setMarks(row, marks & ~USED);
        continue;
      }
      this.#cleanCount--;
      this.#forget(row);
    }
  }

  /** The hand goes on to it; there is one. */
  #nextRow(): number {
    const rows = this.#rows;
    for (;;) {
      this.#hand = (this.#hand + 1) % rows.slotCount;
      const row = rows.rowAt(this.#hand);
      if (row !== NO_ROW) return row;
    }
  }

  /** Out of memory; what LMDB is writing stays until it is written. */
  #forget(row: number): void {
    const rows = this.#rows;
    const marks = rows.marks(row);
    rows.unlist(row);
    if ((marks & WRITING) === 0) rows.release(row);
    else rows.setMarks(row, marks | GONE);
    this.epoch++;
  }

  #settled(row: number): void {
    if (this.#changed.isKept) this.#changed.settled(this.#sortKey(row));
  }

  #sortKey(row: number): string {
    const { buffer, start, end } = this.#rows.key(row);
    return buffer.toString('latin1', start, end);
  }

  *#notClean(): Iterable<SortedRow<number>> {
    for (let slot = 0; slot < this.#rows.slotCount; slot++) {
      const row = this.#rows.rowAt(slot);
      if (row === NO_ROW || (this.#rows.marks(row) & LAYER) === CLEAN) continue;
      yield [this.#sortKey(row), row];
    }
  }

  /** Rows in memory and on disk by their keys, in order; some may be deleted. */
  *#scan(from: string | null, to: string | null, isReverse: boolean): Generator<FoundRow> {
    if (from !== null && to !== null && from > to) return;
    const step = (bound: string | null, isBeyond: boolean): string | undefined => {
      const found = isReverse
        ? this.#changed.previous(bound, isBeyond)
        : this.#changed.next(bound, isBeyond);
      if (found === undefined) return undefined;
      const [key] = found;
      const isInRange = isReverse ? from === null || key >= from : to === null || key <= to;
      return isInRange ? key : undefined;
    };
    let ours = step(isReverse ? to : from, false);
    for (const [key, stored] of this.#disk.rows(from, to, isReverse)) {
      while (ours !== undefined && (isReverse ? ours > key : ours < key)) {
        yield [ours, null];
        ours = step(ours, true);
      }
      // In memory as well: it comes with the next.
      if (ours !== key) yield [key, stored];
    }
    while (ours !== undefined) {
      yield [ours, null];
      ours = step(ours, true);
    }
  }

  /**
   * False if there is no such row by now. Rows on disk are not taken into memory: a walk comes by once.
   *
   * @param onDisk the row as it is on disk, if that is known
   */
  #walkTo(key: string, onDisk: Buffer | null, walked: WalkedRow): boolean {
    const bytes = Buffer.from(key, 'latin1');
    const rows = this.#rows;
    const row = rows.find(bytes, 0, bytes.length);
    walked.sortKey = key;
    if (row === NO_ROW) {
      const stored = onDisk ?? this.#disk.readAt({ buffer: bytes, start: 0, end: bytes.length });
      if (stored === undefined) return false;
      walked.timestamp = readInt64AsNumber(stored, 0);
      pointAt(walked.value, stored, TIMESTAMP_BYTES, stored.length);
      return true;
    }
    if (!rows.hasValue(row)) return false;
    walked.timestamp = rows.timestamp(row);
    const { buffer, start, end } = rows.value(row);
    pointAt(walked.value, buffer, start, end);
    return true;
  }
}

function pointAt(span: ByteSpan, buffer: Buffer, start: number, end: number): void {
  span.buffer = buffer;
  span.start = start;
  span.end = end;
}

function writeRow(
  { buffer, start, end }: ByteSpan,
  timestamp: number,
  target: Buffer,
  position: number,
): number {
  if (end - start + TIMESTAMP_BYTES > target.length - position) return -1;
  const valueStart = writeInt64FromNumber(target, position, timestamp);
  copyBytes(buffer, start, end, target, valueStart);
  return valueStart + end - start;
}
