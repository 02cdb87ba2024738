import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { isInvalidRange } from '../invalid-range.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import { KeyCodec } from '../memory/key-codec.ts';
import { ValueCodec, type HeaderKeeping } from '../memory/value-codec.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { PersistentStore, StoreContext, StoreLogger } from '../store.ts';
import { environmentOf } from './environment-of.ts';
import type { StateEnvironment } from './environment.ts';
import { keyedCodec } from './keyed-codec.ts';
import { LayeredTable, type RowCodec } from './layered-table.ts';
import { RowFormat } from './row-format.ts';
import type { Row } from './row.ts';

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
  readonly #values: ValueCodec<V>;
  readonly #codec: RowCodec<K>;
  readonly #keepsTimestamps: boolean;
  #environment: StateEnvironment | null = null;
  #table: LayeredTable<K> | null = null;
  #changelog: PartitionAppender | null = null;
  #logger: StoreLogger | undefined;
  #committedOffset: bigint | null = null;
  // An aggregation gets a key and then puts it: the second look-up is spared.
  readonly #remembersKey: boolean;
  #found: Row<K> | null = null;
  #lastKey: K | undefined;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: PersistentKeyValueStoreOptions = {},
  ) {
    this.name = name;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.isTimestamped = options.isTimestamped ?? true;
    this.#keepsTimestamps = options.keepsTimestamps ?? this.isTimestamped;
    this.#remembersKey = keySerde.isImmutable === true;
    this.#codec = keyedCodec(this.#keys, new RowFormat(this.#values));
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const environment = environmentOf(context, this);
    this.#logger = context.logger;
    this.#environment = environment;
    this.#table = new LayeredTable(environment.table(this.name), this.#codec);
    this.#committedOffset = environment.offset(this.name);
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get foundTimestamp(): number {
    return this.#found === null ? -1 : this.#found.timestamp;
  }

  get(key: K): V | null {
    const row = this.#rows.find(key);
    this.#found = row;
    if (row === null) return null;
    if (this.#remembersKey) this.#lastKey = key;
    return this.#values.fromStored(row.stored);
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    const row = this.#rows.find(key);
    return row === null ? null : this.#view(row);
  }

  put(key: K, value: V | null, timestamp = -1, headers?: RecordHeaders | null): void {
    const stored = value === null ? null : this.#values.toStored(value, headers);
    // The changelog first: if it refuses the record, the store is as it was.
    if (this.#changelog !== null) {
      const keyEnd = this.#keys.write(key);
      this.#changelog.append(
        timestamp,
        this.#keys.buffer,
        0,
        keyEnd,
        stored,
        this.#values.storedSerde,
        this.#values.changelogHeaders(stored, headers),
      );
    }
    this.#set(key, stored, this.#keepsTimestamps ? timestamp : -1);
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
      for (const row of this.#rows.range(text, null, false)) {
        if (!row.sortKey.startsWith(text)) return;
        yield this.#view(row);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  approximateEntryCount(): number {
    return this.#rows.approximateRowCount;
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    if (keyStart < 0) return;
    const key = this.#keys.read(buffer, keyStart, cursor.keyEnd);
    this.#set(key, this.#values.restored(cursor), this.#keepsTimestamps ? cursor.timestamp : -1);
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
    this.#found = null;
    this.#lastKey = undefined;
    this.#table?.clear();
    this.#table = null;
    this.#environment = null;
  }

  get #rows(): LayeredTable<K> {
    if (this.#table === null) throw new InvariantError(`The store ${this.name} is not open`);
    return this.#table;
  }

  #set(key: K, stored: unknown, timestamp: number): void {
    const found = this.#found;
    if (found !== null && !found.isForgotten && key === this.#lastKey) {
      this.#lastKey = undefined;
      this.#rows.update(found, stored, timestamp);
      return;
    }
    this.#rows.put(key, stored, timestamp);
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
      for (const row of this.#rows.range(from, to, isReverse)) yield this.#view(row);
    } finally {
      this.measures.openIterators--;
    }
  }

  #view({ key, stored, timestamp }: Row<K>): KeyValueEntry<K, V> {
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }
}
