import { type RecordCursor, type RecordHeaders, writeInt32 } from '@millrace/protocol';
import { isInvalidRange } from '../invalid-range.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import { spanSerde } from '../rows/byte-span.ts';
import { NO_ROW } from '../rows/row-table.ts';
import { RowValues } from '../rows/row-values.ts';
import type { WindowTable } from '../rows/window-table.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import { compareWindows } from '../window-order.ts';
import type { WindowEntry, WindowStore } from '../window-store.ts';
import type { StoreContext } from '../store.ts';
import { KeyCodec } from './key-codec.ts';
import type { HeaderKeeping } from './value-codec.ts';
import { WindowSlices } from './window-slices.ts';

const START_BYTES = 8;
const SEQUENCE_BYTES = 4;
const SUFFIX_BYTES = START_BYTES + SEQUENCE_BYTES;

export interface InMemoryWindowStoreOptions {
  readonly windowSizeMs: number;
  readonly retentionMs: number;
  /**
   * Above 1: the store behaves as a persistent one. It goes from segment to segment, and a write is too
   * late only if its whole segment has expired. 1: by start, and expired to the millisecond.
   */
  readonly segmentMs?: number;
  /** Default: timestamped. A plain store's entries have the timestamp -1. */
  readonly isTimestamped?: boolean;
  readonly headers?: HeaderKeeping;
}

/** A window that a scan found: bytes of its key as a latin1 string, and start. */
interface Found {
  readonly text: string;
  readonly start: number;
}

/**
 * A window store in memory: rows of bytes, in slices of time that expire as a whole. Lost with the process,
 * so it is always restored from its changelog.
 */
export class InMemoryWindowStore<K, V> implements WindowStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly windowSizeMs: number;
  readonly segmentMs: number;
  readonly measures = new StoreMeasures('in-memory-window-state');
  isOpen = false;
  foundTimestamp = -1;

  readonly #retentionMs: number;
  readonly #keys: KeyCodec<K>;
  readonly #values: RowValues<V>;
  readonly #isTimestamped: boolean;
  readonly #slices: WindowSlices;
  #observedStreamTime = -1;
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;
  // An aggregation gets a key's window and then puts it, or the next one: looking up the key again is spared.
  /** Where the key that `keys` holds was looked up last. */
  #lastTable: WindowTable | null = null;
  /** Some window of it there; NO_ROW if it has none. */
  #last = NO_ROW;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: InMemoryWindowStoreOptions,
  ) {
    const { retentionMs } = options;
    this.name = name;
    this.windowSizeMs = options.windowSizeMs;
    this.segmentMs = options.segmentMs ?? 1;
    this.#retentionMs = retentionMs;
    this.#keys = new KeyCodec(keySerde, SUFFIX_BYTES);
    this.#values = new RowValues(valueSerde, options.headers);
    this.#isTimestamped = options.isTimestamped ?? true;
    this.#slices = new WindowSlices(retentionMs);
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get(key: K, windowStart: number): V | null {
    this.foundTimestamp = -1;
    if (this.#isExpired(windowStart)) return null;
    const table = this.#slices.at(windowStart);
    if (table === null) return null;
    const row = this.#nearest(table, this.#hold(key), windowStart);
    if (row === NO_ROW || table.startOf(row) !== windowStart) return null;
    this.foundTimestamp = table.timestamp(row);
    return this.#values.read(table.value(row));
  }

  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp = -1,
    headers?: RecordHeaders | null,
  ): void {
    const isTombstone = value === null;
    if (!isTombstone) this.#values.write(value, headers);
    const keyEnd = this.#hold(key);
    const { buffer } = this.#keys;
    // The changelog first: if it refuses the record, the store is as it was. What is expired goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      this.#changelog.append(
        timestamp,
        buffer,
        0,
        writeInt32(buffer, writeTimestamp(windowStart, buffer, keyEnd), 0),
        isTombstone ? null : this.#values.payload,
        spanSerde,
        this.#values.changelogHeaders(isTombstone, headers),
      );
    }
    if (this.#advance(windowStart)) {
      const table = this.#slices.atOrNew(windowStart);
      const nearest = this.#nearest(table, keyEnd, windowStart);
      if (isTombstone) this.#remove(table, nearest, windowStart);
      else this.#set(table, nearest, buffer, 0, keyEnd, windowStart, timestamp);
    } else if (this.#isForgotten(windowStart)) {
      this.#context?.recordDropped(this.name, 'the window store no longer keeps its window');
    }
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).reverse().values();
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).values();
  }

  fetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.#walk(this.#scan(first, last, from, to));
  }

  backwardFetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.#walk(this.#scan(first, last, from, to).reverse());
  }

  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.fetchRange(null, null, from, to);
  }

  backwardFetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchRange(null, null, from, to);
  }

  all(): IterableIterator<WindowEntry<K, V>> {
    return this.fetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  backwardAll(): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    const keyEnd = cursor.keyEnd - SUFFIX_BYTES;
    if (keyStart < 0 || keyEnd < keyStart) return;
    const windowStart = readTimestamp(buffer, keyEnd);
    if (!this.#advance(windowStart)) return;
    const table = this.#slices.atOrNew(windowStart);
    const nearest = table.nearest(buffer, keyStart, keyEnd, windowStart);
    if (cursor.valueStart < 0) {
      this.#remove(table, nearest, windowStart);
    } else {
      this.#values.restore(cursor);
      this.#set(table, nearest, buffer, keyStart, keyEnd, windowStart, cursor.timestamp);
    }
    this.#lastTable = null;
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#lastTable = null;
    this.#keys.letGo();
    this.#slices.clear();
    this.#observedStreamTime = -1;
  }

  #isExpired(windowStart: number): boolean {
    return windowStart <= this.#observedStreamTime - this.#retentionMs;
  }

  /** Whether a write is too late. A persistent store takes it as long as the window's segment lives. */
  #isForgotten(windowStart: number): boolean {
    const limit = this.#observedStreamTime - this.#retentionMs;
    if (this.segmentMs === 1) return windowStart <= limit;
    return Math.floor(windowStart / this.segmentMs) < Math.floor(limit / this.segmentMs);
  }

  /** Observes the start of a window that is written; false if nobody can read the window any more, so that it is not kept. */
  #advance(windowStart: number): boolean {
    if (windowStart <= this.#observedStreamTime) return !this.#isExpired(windowStart);
    this.#observedStreamTime = windowStart;
    if (this.#slices.advanceTo(windowStart - this.#retentionMs)) this.#lastTable = null;
    return true;
  }

  /** Writes the key to the start of the buffer of `keys`, if it is not there; returns its end. */
  #hold(key: K): number {
    if (!this.#keys.holds(key)) this.#lastTable = null;
    return this.#keys.hold(key);
  }

  /** `WindowTable.nearest` of the key that is held. */
  #nearest(table: WindowTable, keyEnd: number, windowStart: number): number {
    if (table !== this.#lastTable || this.#last !== NO_ROW) {
      const from = table === this.#lastTable ? this.#last : NO_ROW;
      this.#last = table.nearest(this.#keys.buffer, 0, keyEnd, windowStart, from);
      this.#lastTable = table;
    }
    return this.#last;
  }

  #set(
    table: WindowTable,
    nearest: number,
    source: Buffer,
    start: number,
    end: number,
    windowStart: number,
    timestamp: number,
  ): void {
    const { row: stored } = this.#values;
    const isThere = nearest !== NO_ROW && table.startOf(nearest) === windowStart;
    const row = isThere
      ? nearest
      : table.add(nearest, source, start, end, windowStart, stored.end - stored.start);
    table.set(row, stored.buffer, stored.start, stored.end, this.#isTimestamped ? timestamp : -1);
    this.#last = row;
  }

  #remove(table: WindowTable, nearest: number, windowStart: number): void {
    if (nearest === NO_ROW || table.startOf(nearest) !== windowStart) return;
    table.remove(nearest);
    this.#lastTable = null;
  }

  /** A key's live windows, newest first. */
  #ofKey(key: K, from: number, to: number): WindowEntry<K, V>[] {
    const found: WindowEntry<K, V>[] = [];
    const own = this.#keys.own(key);
    const keyEnd = this.#hold(key);
    for (const table of this.#slices.between(from, to)) {
      let row = this.#nearest(table, keyEnd, to);
      for (; row !== NO_ROW && table.startOf(row) >= from; row = table.olderOf(row)) {
        const start = table.startOf(row);
        if (start <= to && !this.#isExpired(start)) found.push(this.#view(own, table, row));
      }
    }
    return found;
  }

  /** Live windows of a range of keys and starts, in the store's order. */
  #scan(first: K | null, last: K | null, from: number, to: number): Found[] {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : this.#keys.latin1(last);
    const found: Found[] = [];
    if (isInvalidRange(lowest, highest, this.name, this.#context?.logger)) return found;
    for (const table of this.#slices.between(from, to)) {
      for (const newest of table.newest()) {
        const { buffer, start: keyStart, end: keyEnd } = table.key(newest);
        const text = buffer.toString('latin1', keyStart, keyEnd);
        if (lowest !== null && text < lowest) continue;
        if (highest !== null && text > highest) continue;
        for (let row = newest; row !== NO_ROW; row = table.olderOf(row)) {
          const start = table.startOf(row);
          if (start >= from && start <= to && !this.#isExpired(start)) found.push({ text, start });
        }
      }
    }
    const { segmentMs } = this;
    return found.sort((a, b) => compareWindows(segmentMs, a.text, a.start, b.text, b.start));
  }

  *#walk(found: readonly Found[]): IterableIterator<WindowEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (const { text, start } of found) {
        // Either may be gone since the walk began.
        const table = this.#slices.at(start);
        if (table === null) continue;
        const end = this.#keys.writeLatin1(text);
        const row = table.nearest(this.#keys.buffer, 0, end, start);
        if (row === NO_ROW || table.startOf(row) !== start) continue;
        yield this.#view(this.#keys.fromLatin1(text), table, row);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #view(key: K, table: WindowTable, row: number): WindowEntry<K, V> {
    const start = table.startOf(row);
    const windowed = new Windowed(key, start, start + this.windowSizeMs);
    const timestamp = table.timestamp(row);
    const stored = table.value(row);
    const headers = this.#values.headersOf(stored);
    const value = this.#values.read(stored);
    return headers === undefined
      ? { key: windowed, value, timestamp }
      : { key: windowed, value, timestamp, headers };
  }
}
