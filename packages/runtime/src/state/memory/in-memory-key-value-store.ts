import type { KeyRanges, RecordCursor, RecordHeaders } from '@millrace/protocol';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { isInvalidRange } from '../invalid-range.ts';
import { lowerBound } from '../lower-bound.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import type { StoreContext, StoreLogger } from '../store.ts';
import { spanSerde } from '../rows/byte-span.ts';
import { NO_ROW, RowTable } from '../rows/row-table.ts';
import { RowValues } from '../rows/row-values.ts';
import { KeyCodec } from './key-codec.ts';
import { SortedKeys } from './sorted-keys.ts';
import type { HeaderKeeping } from './value-codec.ts';

export interface InMemoryKeyValueStoreOptions {
  /** Default: timestamped. A plain store's entries have the timestamp -1; its changelog's records have theirs. */
  readonly isTimestamped?: boolean;
  /** False: entries of a timestamped store have the timestamp -1, because what it lies on keeps none. */
  readonly keepsTimestamps?: boolean;
  readonly headers?: HeaderKeeping;
  /** See `StoreMeasures`. */
  readonly metricsScope?: string;
}

/**
 * A key-value store in memory: rows of bytes in a hash table, as Kafka Streams keeps bytes too, and an
 * order of its keys that is made only when a range is asked for. Lost with the process, so it is always
 * restored from the start of its changelog, and `commit` has nothing to keep.
 */
export class InMemoryKeyValueStore<K, V> implements KeyValueStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly isTimestamped: boolean;
  readonly measures: StoreMeasures;
  isOpen = false;

  readonly #keys: KeyCodec<K>;
  readonly #values: RowValues<V>;
  readonly #keepsTimestamps: boolean;
  readonly #rows = new RowTable();
  readonly #sorted = new SortedKeys(
    () => this.#latin1Keys(),
    (key) => this.#findLatin1(key) !== NO_ROW,
  );
  #changelog: PartitionAppender | null = null;
  #logger: StoreLogger | undefined;
  #found = NO_ROW;
  /** Of the key that `keys` holds. */
  #last = NO_ROW;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: InMemoryKeyValueStoreOptions = {},
  ) {
    this.name = name;
    this.measures = new StoreMeasures(options.metricsScope ?? 'in-memory-state');
    this.#keys = new KeyCodec(keySerde);
    this.#values = new RowValues(valueSerde, options.headers);
    this.isTimestamped = options.isTimestamped ?? true;
    this.#keepsTimestamps = options.keepsTimestamps ?? this.isTimestamped;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#logger = context.logger;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  /** Read only when asked for: a join has no use for it. */
  get foundTimestamp(): number {
    return this.#found === NO_ROW ? -1 : this.#rows.timestamp(this.#found);
  }

  get(key: K): V | null {
    const row = this.#find(key);
    this.#found = row;
    return row === NO_ROW ? null : this.#values.read(this.#rows.value(row));
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    const row = this.#find(key);
    return row === NO_ROW ? null : this.#view(this.#keys.own(key), row);
  }

  put(key: K, value: V | null, timestamp = -1, headers?: RecordHeaders | null): void {
    // An aggregation gets a key and then puts it: the second look-up is spared.
    const known = this.#keys.holds(key) ? this.#last : NO_ROW;
    const keyEnd = this.#keys.hold(key);
    const isTombstone = value === null;
    if (!isTombstone) this.#values.write(value, headers);
    // The changelog first: if it refuses the record, the store is as it was.
    this.#changelog?.append(
      timestamp,
      this.#keys.buffer,
      0,
      keyEnd,
      isTombstone ? null : this.#values.payload,
      spanSerde,
      this.#values.changelogHeaders(isTombstone, headers),
    );
    if (isTombstone) this.#remove(this.#keys.buffer, 0, keyEnd);
    else this.#set(known, this.#keys.buffer, 0, keyEnd, timestamp);
  }

  putIfAbsent(key: K, value: V | null, timestamp?: number, headers?: RecordHeaders): V | null {
    const old = this.get(key);
    if (old === null) this.put(key, value, timestamp, headers);
    return old;
  }

  putAll(rows: Iterable<KeyValuePut<K, V>>): void {
    for (const { key, value, timestamp, headers } of rows) this.put(key, value, timestamp, headers);
  }

  delete(key: K, timestamp?: number): V | null {
    const old = this.get(key);
    this.put(key, null, timestamp);
    return old;
  }

  /** Takes a row out without telling the changelog. */
  forget(key: K): void {
    this.#remove(this.#keys.buffer, 0, this.#keys.hold(key));
  }

  *range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    const [keys, start, end] = this.#bounds(from, to);
    yield* this.#walk(keys, start, end, 1);
  }

  *reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    const [keys, start, end] = this.#bounds(from, to);
    yield* this.#walk(keys, end - 1, start - 1, -1);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.range(null, null);
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.reverseRange(null, null);
  }

  *prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    const text = Buffer.from(prefix).toString('latin1');
    const keys = this.#sorted.keys();
    const start = lowerBound(keys, text);
    let end = start;
    while (end < keys.length && (keys[end] as string).startsWith(text)) end++;
    yield* this.#walk(keys, start, end, 1);
  }

  approximateEntryCount(): number {
    return this.#rows.rowCount;
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart, keyEnd } = cursor;
    if (keyStart < 0) return;
    if (cursor.valueStart < 0) {
      this.#remove(buffer, keyStart, keyEnd);
      return;
    }
    this.#values.restore(cursor);
    // What a source topic holds may be anything, and is not to be found out later.
    if (this.#changelog === null) this.#check(cursor);
    this.#set(NO_ROW, buffer, keyStart, keyEnd, cursor.timestamp);
    this.#last = NO_ROW;
  }

  expect(source: Buffer, keys: KeyRanges): void {
    this.#rows.lookAt(source, keys);
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#found = NO_ROW;
    this.#last = NO_ROW;
    this.#keys.letGo();
    this.#rows.clear();
    this.#sorted.clear();
  }

  #find(key: K): number {
    if (this.#keys.holds(key) && this.#last !== NO_ROW) return this.#last;
    const end = this.#keys.hold(key);
    this.#last = this.#rows.find(this.#keys.buffer, 0, end);
    return this.#last;
  }

  #check(cursor: RecordCursor): void {
    this.#keys.read(cursor.buffer, cursor.keyStart, cursor.keyEnd);
    this.#values.read(this.#values.row);
  }

  #set(known: number, source: Buffer, start: number, end: number, timestamp: number): void {
    const rows = this.#rows;
    const { row: stored } = this.#values;
    let row = known;
    if (row === NO_ROW) {
      row = rows.findOrAdd(source, start, end, stored.end - stored.start);
      if (this.#sorted.isKept && !rows.hasValue(row)) {
        this.#sorted.added(source.toString('latin1', start, end));
      }
    }
    rows.setValue(row, stored.buffer, stored.start, stored.end);
    rows.setTimestamp(row, this.#keepsTimestamps ? timestamp : -1);
    this.#last = row;
  }

  #remove(source: Buffer, start: number, end: number): void {
    this.#last = NO_ROW;
    const row = this.#rows.find(source, start, end);
    if (row === NO_ROW) return;
    this.#rows.remove(row);
    if (this.#sorted.isKept) this.#sorted.removed();
  }

  *#latin1Keys(): Iterable<string> {
    for (let slot = 0; slot < this.#rows.slotCount; slot++) {
      const row = this.#rows.rowAt(slot);
      if (row === NO_ROW) continue;
      const { buffer, start, end } = this.#rows.key(row);
      yield buffer.toString('latin1', start, end);
    }
  }

  #findLatin1(key: string): number {
    const end = this.#keys.writeLatin1(key);
    return this.#rows.find(this.#keys.buffer, 0, end);
  }

  #view(key: K, row: number): KeyValueEntry<K, V> {
    const timestamp = this.#rows.timestamp(row);
    const stored = this.#rows.value(row);
    const headers = this.#values.headersOf(stored);
    const value = this.#values.read(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }

  *#walk(
    keys: readonly string[],
    from: number,
    to: number,
    step: 1 | -1,
  ): IterableIterator<KeyValueEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (let i = from; (to - i) * step > 0; i += step) {
        const text = keys[i] as string;
        const row = this.#findLatin1(text);
        // Gone since the walk began.
        if (row === NO_ROW) continue;
        yield this.#view(this.#keys.fromLatin1(text), row);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #bounds(from: K | null, to: K | null): [readonly string[], number, number] {
    const keys = this.#sorted.keys();
    const first = from === null ? null : this.#keys.latin1(from);
    const start = first === null ? 0 : lowerBound(keys, first);
    if (to === null) return [keys, start, keys.length];
    const last = this.#keys.latin1(to);
    if (isInvalidRange(first, last, this.name, this.#logger)) return [keys, start, start];
    let end = lowerBound(keys, last);
    if (end < keys.length && keys[end] === last) end++;
    return [keys, start, end];
  }
}
