import type { KeyRanges, RecordCursor, RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../../serdes/serde.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import type { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { StoreContext } from '../store.ts';
import {
  InMemoryKeyValueStore,
  type InMemoryKeyValueStoreOptions,
} from './in-memory-key-value-store.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';

/**
 * A key-value store in memory that keeps the `maxEntries` keys that were got or put last (Kafka's
 * lruMap). A plain one writes a tombstone to its changelog for a key that it forgets, a timestamped one
 * does not, as in Kafka Streams: restored, it forgets again by itself.
 */
export class LruKeyValueStore<K, V> implements KeyValueStore<K, V> {
  readonly isPersistent = false;
  readonly #inner: InMemoryKeyValueStore<K, V>;
  readonly #keys: KeyCodec<K>;
  readonly #maxEntries: number;
  readonly #logsForgotten: boolean;
  /** The key used longest ago first. */
  readonly #use = new Map<MapKey, K>();

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    maxEntries: number,
    options: InMemoryKeyValueStoreOptions = {},
  ) {
    this.#inner = new InMemoryKeyValueStore(name, keySerde, valueSerde, {
      ...options,
      metricsScope: 'in-memory-lru-state',
    });
    this.#keys = new KeyCodec(keySerde);
    this.#maxEntries = maxEntries;
    this.#logsForgotten = options.isTimestamped === false;
  }

  get isTimestamped(): boolean {
    return this.#inner.isTimestamped;
  }

  get name(): string {
    return this.#inner.name;
  }

  get measures(): StoreMeasures {
    return this.#inner.measures;
  }

  get isOpen(): boolean {
    return this.#inner.isOpen;
  }

  get foundTimestamp(): number {
    return this.#inner.foundTimestamp;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#inner.open(context, changelog);
  }

  get(key: K): V | null {
    const value = this.#inner.get(key);
    if (value !== null) this.#used(key);
    return value;
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    const entry = this.#inner.getEntry(key);
    if (entry !== null) this.#used(key);
    return entry;
  }

  put(key: K, value: V | null, timestamp = -1, headers?: RecordHeaders | null): void {
    this.#inner.put(key, value, timestamp, headers);
    const forgotten = this.#written(key, value === null);
    if (forgotten === null) return;
    if (this.#logsForgotten) this.#inner.put(forgotten, null, timestamp);
    else this.#inner.forget(forgotten);
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
    return this.#inner.range(from, to);
  }

  reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.#inner.reverseRange(from, to);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.#inner.all();
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.#inner.reverseAll();
  }

  prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    return this.#inner.prefixScan(prefix);
  }

  approximateEntryCount(): number {
    return this.#inner.approximateEntryCount();
  }

  restore(cursor: RecordCursor): void {
    if (cursor.keyStart < 0) return;
    this.#inner.restore(cursor);
    const key = this.#keys.read(cursor.buffer, cursor.keyStart, cursor.keyEnd);
    const forgotten = this.#written(key, cursor.valueStart < 0);
    if (forgotten !== null) this.#inner.forget(forgotten);
  }

  expect(source: Buffer, keys: KeyRanges): void {
    this.#inner.expect(source, keys);
  }

  committedOffset(): bigint | null {
    return this.#inner.committedOffset();
  }

  commit(changelogOffset: bigint | null): void {
    this.#inner.commit(changelogOffset);
  }

  close(): void {
    this.#use.clear();
    this.#inner.close();
  }

  #used(key: K): void {
    const mapKey = this.#keys.mapKey(key);
    const kept = this.#use.get(mapKey) as K;
    this.#use.delete(mapKey);
    this.#use.set(mapKey, kept);
  }

  /** The key that has to go, if there is one too many. */
  #written(key: K, isDeleted: boolean): K | null {
    const mapKey = this.#keys.mapKey(key);
    this.#use.delete(mapKey);
    if (isDeleted) return null;
    this.#use.set(mapKey, this.#keys.own(key));
    if (this.#use.size <= this.#maxEntries) return null;
    const [oldest] = this.#use as unknown as Iterable<[MapKey, K]>;
    const [oldestKey, forgotten] = oldest as [MapKey, K];
    this.#use.delete(oldestKey);
    return forgotten;
  }
}
