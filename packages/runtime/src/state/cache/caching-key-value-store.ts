import type { KeyRanges, RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import type { CachedStore, FlushListener } from '../cached-store.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import { BigMap } from '../memory/big-map.ts';
import { KeyCodec, type MapKey } from '../memory/key-codec.ts';
import { SortedIndex } from '../memory/sorted-index.ts';
import { HitRatio, type MeasuredStore, type StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { StoreContext } from '../store.ts';
import { compareText } from '../window-order.ts';
import { CacheEntry, type CachedChange } from './cache-entry.ts';
import { CachedValues, type CachedValueOptions } from './cached-values.ts';
import { mergeCached } from './merge-cached.ts';
import { StoreCache, type CacheOwner } from './store-cache.ts';

/**
 * A key-value store with a record cache before it. Writes stay in the cache until a commit, or until
 * room is needed; then each key's last value goes to the store, its changelog and the nodes below, the
 * key written longest ago first. A key that was written and deleted since the store saw it last goes
 * nowhere. Reads see the cache over the store, and keep what they found as a copy.
 */
export class CachingKeyValueStore<K, V>
  implements KeyValueStore<K, V>, CachedStore<K, V>, CacheOwner<K>
{
  readonly name: string;
  readonly #inner: KeyValueStore<K, V>;
  readonly #keys: KeyCodec<K>;
  readonly #values: CachedValues<V>;
  readonly #entries = new BigMap<MapKey, CacheEntry<K>>();
  readonly #sorted = new SortedIndex<CacheEntry<K>>(
    () => this.#entries.values(),
    (entry) => this.#keys.latin1(entry.key),
  );
  #cache: StoreCache<K> | null = null;
  #listener: FlushListener<K, V> | null = null;
  #sendsOldValues = false;
  foundTimestamp = -1;
  readonly hitRatio = new HitRatio();

  constructor(
    inner: KeyValueStore<K, V>,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: CachedValueOptions,
  ) {
    this.name = inner.name;
    this.#inner = inner;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new CachedValues(valueSerde, inner.name, options);
  }

  get isTimestamped(): boolean {
    return this.#inner.isTimestamped ?? true;
  }

  get measures(): StoreMeasures | undefined {
    return (this.#inner as MeasuredStore).measures;
  }

  get cachedBytes(): number {
    return this.#cache?.bytes ?? 0;
  }

  get isPersistent(): boolean {
    return this.#inner.isPersistent;
  }

  get isOpen(): boolean {
    return this.#inner.isOpen;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const caching = context.caching ?? null;
    if (caching === null) {
      throw new InvariantError(`The store ${this.name} is cached, but its task has no cache.`);
    }
    this.#cache = new StoreCache<K>(caching, this);
    this.#inner.open(context, changelog);
  }

  setFlushListener(listener: FlushListener<K, V>, sendsOldValues: boolean): void {
    this.#listener = listener;
    this.#sendsOldValues = sendsOldValues;
  }

  get(key: K): V | null {
    const mapKey = this.#keys.mapKey(key);
    const entry = this.#entries.get(mapKey);
    if (entry !== undefined) {
      this.hitRatio.hits++;
      this.#open().touch(entry);
      if (entry.stored === null) {
        this.foundTimestamp = -1;
        return null;
      }
      this.foundTimestamp = this.#values.timestampOf(entry);
      return this.#values.fromStored(entry.stored);
    }
    this.hitRatio.misses++;
    const value = this.#inner.get(key);
    this.foundTimestamp = this.#inner.foundTimestamp;
    if (value !== null) this.#copy(key, mapKey, value, this.foundTimestamp);
    return value;
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    const entry = this.#entries.get(this.#keys.mapKey(key));
    if (entry === undefined) return this.#inner.getEntry(key);
    return this.#view(entry);
  }

  put(key: K, value: V | null, timestamp = -1, headers: RecordHeaders | null = null): void {
    const mapKey = this.#keys.mapKey(key);
    let entry = this.#entries.get(mapKey);
    const stored = value === null ? null : this.#values.toStored(value, headers);
    const valueBytes = this.#values.bytesOf(stored);
    const isNew = entry === undefined;
    entry ??= this.#add(key, mapKey);
    entry.stored = stored;
    entry.timestamp = timestamp;
    entry.headers = headers;
    const cache = this.#open();
    cache.written(entry, isNew, valueBytes);
    // Without nodes to call, letting go is never asynchronous, and nobody else asks for it.
    if (this.#listener === null) void cache.evict();
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

  evict(): Promise<void> | undefined {
    return this.#open().evict();
  }

  flush(): Promise<void> | undefined {
    this.hitRatio.endInterval();
    return this.#open().flush();
  }

  letGo({ entry, stored, timestamp, headers }: CachedChange<K>): Promise<void> | undefined {
    const { key } = entry;
    const value = stored === null ? null : this.#values.fromStored(stored);
    const listener = this.#listener;
    if (listener === null) {
      this.#inner.put(key, value, timestamp, headers);
      return undefined;
    }
    const old = value === null || this.#sendsOldValues ? this.#inner.get(key) : null;
    if (value === null && old === null) return undefined;
    this.#inner.put(key, value, timestamp, headers);
    return listener(key, value, this.#sendsOldValues ? old : null, timestamp, headers);
  }

  forget(entry: CacheEntry<K>): void {
    this.#entries.delete(entry.mapKey);
    this.#sorted.removed(entry);
  }

  range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.#merged(this.#between(from, to), this.#inner.range(from, to), 1);
  }

  reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    const cached = this.#between(from, to).reverse();
    return this.#merged(cached, this.#inner.reverseRange(from, to), -1);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.range(null, null);
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.reverseRange(null, null);
  }

  prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    const text = Buffer.from(prefix).toString('latin1');
    const entries = this.#sorted.entries();
    const start = SortedIndex.lowerBound(entries, text);
    let end = start;
    while (end < entries.length && (entries[end]?.sortKey as string).startsWith(text)) end++;
    return this.#merged(entries.slice(start, end), this.#inner.prefixScan(prefix), 1);
  }

  /** Of the store alone: what is new in the cache is not counted, as in Kafka Streams. */
  approximateEntryCount(): number {
    return this.#inner.approximateEntryCount();
  }

  restore(cursor: RecordCursor): void {
    this.#inner.restore(cursor);
  }

  expect(source: Buffer, keys: KeyRanges): void {
    this.#inner.expect?.(source, keys);
  }

  committedOffset(): bigint | null {
    return this.#inner.committedOffset();
  }

  commit(changelogOffset: bigint | null): void {
    this.#inner.commit(changelogOffset);
  }

  close(): void {
    this.#cache?.clear();
    this.#entries.clear();
    this.#sorted.clear();
    this.#inner.close();
  }

  #open(): StoreCache<K> {
    return this.#cache as StoreCache<K>;
  }

  #add(key: K, mapKey: MapKey): CacheEntry<K> {
    const entry = new CacheEntry(this.#keys.own(key), mapKey, this.#keys.write(key));
    this.#entries.add(mapKey, entry);
    this.#sorted.added(entry);
    return entry;
  }

  #copy(key: K, mapKey: MapKey, value: V, timestamp: number): void {
    const entry = this.#add(key, mapKey);
    const headers = this.#values.keepsHeaders ? this.#inner.getEntry(key)?.headers : null;
    entry.stored = this.#values.toStored(value, headers);
    entry.timestamp = timestamp;
    this.#open().copied(entry, this.#values.bytesOf(entry.stored));
  }

  #between(from: K | null, to: K | null): CacheEntry<K>[] {
    const entries = this.#sorted.entries();
    const start = from === null ? 0 : SortedIndex.lowerBound(entries, this.#keys.latin1(from));
    if (to === null) return entries.slice(start);
    const last = this.#keys.latin1(to);
    let end = SortedIndex.lowerBound(entries, last);
    if (end < entries.length && entries[end]?.sortKey === last) end++;
    return entries.slice(start, end);
  }

  #merged(
    cached: readonly CacheEntry<K>[],
    stored: Iterator<KeyValueEntry<K, V>>,
    direction: 1 | -1,
  ): IterableIterator<KeyValueEntry<K, V>> {
    return mergeCached(cached, stored, {
      compare: (entry, row) =>
        direction * compareText(entry.sortKey as string, this.#keys.latin1(row.key)),
      // One that had to make room meanwhile is in the store now.
      view: (entry) => (entry.isRemoved ? this.getEntry(entry.key) : this.#view(entry)),
    });
  }

  #view(entry: CacheEntry<K>): KeyValueEntry<K, V> | null {
    return entry.stored === null ? null : this.#values.view(entry.key, entry);
  }
}
