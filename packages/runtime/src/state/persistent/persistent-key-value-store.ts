import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { isInvalidRange } from '../invalid-range.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import { KeyCodec } from '../memory/key-codec.ts';
import type { HeaderKeeping } from '../memory/value-codec.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import { spanSerde, type ByteSpan } from '../rows/byte-span.ts';
import { NO_ROW } from '../rows/row-table.ts';
import { RowValues } from '../rows/row-values.ts';
import type { PersistentStore, StoreContext, StoreLogger } from '../store.ts';
import { environmentOf } from './environment-of.ts';
import type { StateEnvironment } from './environment.ts';
import { LayeredRows } from './layered-rows.ts';

export interface PersistentKeyValueStoreOptions {
  /** Default: timestamped. A plain store's entries have the timestamp -1; its changelog's records have theirs. */
  readonly isTimestamped?: boolean;
  /** False: entries of a timestamped store have the timestamp -1, because what it lies on keeps none. */
  readonly keepsTimestamps?: boolean;
  readonly headers?: HeaderKeeping;
}

/**
 * A key-value store on disk, with its latest changes and what was asked for lately in memory. After a
 * restart it goes on from the changelog offset that its contents stand at.
 */
export class PersistentKeyValueStore<K, V> implements KeyValueStore<K, V>, PersistentStore {
  readonly name: string;
  readonly isPersistent = true;
  readonly isTimestamped: boolean;
  readonly measures = new StoreMeasures('lmdb-state');
  isOpen = false;

  readonly #keys: KeyCodec<K>;
  readonly #values: RowValues<V>;
  readonly #keepsTimestamps: boolean;
  #environment: StateEnvironment | null = null;
  #table: LayeredRows | null = null;
  #changelog: PartitionAppender | null = null;
  #logger: StoreLogger | undefined;
  #committedOffset: bigint | null = null;
  #found = NO_ROW;
  /** Of the key that `keys` holds, at the table's epoch. */
  #last = NO_ROW;
  #lastEpoch = -1;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: PersistentKeyValueStoreOptions = {},
  ) {
    this.name = name;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new RowValues(valueSerde, options.headers);
    this.isTimestamped = options.isTimestamped ?? true;
    this.#keepsTimestamps = options.keepsTimestamps ?? this.isTimestamped;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const environment = environmentOf(context, this);
    this.#logger = context.logger;
    this.#environment = environment;
    this.#table = new LayeredRows(environment.table(this.name));
    this.#committedOffset = environment.offset(this.name);
    this.#changelog = changelog;
    this.isOpen = true;
  }

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
    if (row === NO_ROW) return null;
    const rows = this.#rows;
    return this.#view(this.#keys.own(key), rows.value(row), rows.timestamp(row));
  }

  put(key: K, value: V | null, timestamp = -1, headers?: RecordHeaders | null): void {
    // An aggregation gets a key and then puts it: the second look-up is spared.
    const known = this.#lastOf(key);
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
    const rows = this.#rows;
    const stored = isTombstone ? null : this.#values.row;
    const storedTimestamp = this.#keepsTimestamps ? timestamp : -1;
    let row = known;
    if (row === NO_ROW) row = rows.put(this.#keys.buffer, 0, keyEnd, stored, storedTimestamp);
    else rows.update(row, stored, storedTimestamp);
    this.#last = isTombstone ? NO_ROW : row;
    this.#lastEpoch = rows.epoch;
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

  range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.#walk(this.#sortKey(from), this.#sortKey(to), false);
  }

  reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.#walk(this.#sortKey(from), this.#sortKey(to), true);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.range(null, null);
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.reverseRange(null, null);
  }

  *prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    const text = Buffer.from(prefix).toString('latin1');
    this.measures.openIterators++;
    try {
      for (const { sortKey, value, timestamp } of this.#rows.range(text, null, false)) {
        if (!sortKey.startsWith(text)) return;
        yield this.#view(this.#keys.fromLatin1(sortKey), value, timestamp);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  approximateEntryCount(): number {
    return this.#rows.approximateRowCount;
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart, keyEnd } = cursor;
    if (keyStart < 0) return;
    const isTombstone = cursor.valueStart < 0;
    if (!isTombstone) this.#values.restore(cursor);
    // What a source topic holds may be anything, and is not to be found out later.
    if (this.#changelog === null) this.#check(cursor);
    const timestamp = this.#keepsTimestamps ? cursor.timestamp : -1;
    this.#rows.put(buffer, keyStart, keyEnd, isTombstone ? null : this.#values.row, timestamp);
    this.#last = NO_ROW;
  }

  committedOffset(): bigint | null {
    return this.#committedOffset;
  }

  commit(changelogOffset: bigint | null): void {
    this.#rows.commit();
    if (changelogOffset !== null) this.#committedOffset = changelogOffset;
  }

  get unspilledBytes(): number {
    return this.#rows.committedBytes;
  }

  async spill(): Promise<void> {
    const environment = this.#environment as StateEnvironment;
    const offset = this.#committedOffset;
    await this.#rows.spill(environment);
    // After what it speaks of: a kill in between makes some rows newer than the offset says, which the
    // changelog brings to the same end.
    if (offset !== null) await environment.setOffset(this.name, offset);
  }

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#found = NO_ROW;
    this.#last = NO_ROW;
    this.#keys.letGo();
    this.#table?.clear();
    this.#table = null;
    this.#environment = null;
  }

  get #rows(): LayeredRows {
    if (this.#table === null) throw new InvariantError(`The store ${this.name} is not open`);
    return this.#table;
  }

  #find(key: K): number {
    const known = this.#lastOf(key);
    if (known !== NO_ROW) return known;
    const rows = this.#rows;
    const end = this.#keys.hold(key);
    this.#last = rows.find(this.#keys.buffer, 0, end);
    this.#lastEpoch = rows.epoch;
    return this.#last;
  }

  /** The row of this key, if it was found last and is still there. */
  #lastOf(key: K): number {
    const isLast = this.#keys.holds(key) && this.#lastEpoch === this.#rows.epoch;
    return isLast ? this.#last : NO_ROW;
  }

  #check(cursor: RecordCursor): void {
    this.#keys.read(cursor.buffer, cursor.keyStart, cursor.keyEnd);
    if (cursor.valueStart >= 0) this.#values.read(this.#values.row);
  }

  #sortKey(key: K | null): string | null {
    return key === null ? null : this.#keys.latin1(key);
  }

  *#walk(
    from: string | null,
    to: string | null,
    isReverse: boolean,
  ): IterableIterator<KeyValueEntry<K, V>> {
    if (isInvalidRange(from, to, this.name, this.#logger)) return;
    this.measures.openIterators++;
    try {
      for (const { sortKey, value, timestamp } of this.#rows.range(from, to, isReverse)) {
        yield this.#view(this.#keys.fromLatin1(sortKey), value, timestamp);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #view(key: K, stored: ByteSpan, timestamp: number): KeyValueEntry<K, V> {
    const headers = this.#values.headersOf(stored);
    const value = this.#values.read(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }
}
