import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import type { CachedStore, FlushListener } from '../cached-store.ts';
import { CACHE_WINDOW_KEY_BYTES } from '../limits.ts';
import { KeyCodec, type MapKey } from '../memory/key-codec.ts';
import { HitRatio, type MeasuredStore, type StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { StoreContext } from '../store.ts';
import { compareWindows } from '../window-order.ts';
import type { WindowEntry, WindowStore } from '../window-store.ts';
import { CacheEntry, type CachedChange } from './cache-entry.ts';
import { CachedValues, type CachedValueOptions } from './cached-values.ts';
import { CachedWindows } from './cached-windows.ts';
import { mergeCached } from './merge-cached.ts';
import { StoreCache, type CacheOwner } from './store-cache.ts';

/**
 * A window store with a record cache before it, as the key-value store's. The cache knows no
 * expiry: a window that the store has forgotten is found as long as it stays in the cache.
 */
export class CachingWindowStore<K, V>
  implements WindowStore<K, V>, CachedStore<Windowed<K>, V>, CacheOwner<K>
{
  readonly name: string;
  readonly #inner: WindowStore<K, V>;
  readonly #keys: KeyCodec<K>;
  readonly #values: CachedValues<V>;
  readonly #windows = new Map<MapKey, CachedWindows<K>>();
  #cache: StoreCache<K> | null = null;
  #listener: FlushListener<Windowed<K>, V> | null = null;
  #sendsOldValues = false;
  foundTimestamp = -1;
  readonly hitRatio = new HitRatio();

  constructor(
    inner: WindowStore<K, V>,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: CachedValueOptions,
  ) {
    this.name = inner.name;
    this.#inner = inner;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new CachedValues(valueSerde, inner.name, options);
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

  get windowSizeMs(): number {
    return this.#inner.windowSizeMs;
  }

  get segmentMs(): number {
    return this.#inner.segmentMs;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const caching = context.caching ?? null;
    if (caching === null) {
      throw new InvariantError(`The store ${this.name} is cached, but its task has no cache.`);
    }
    this.#cache = new StoreCache<K>(caching, this);
    this.#inner.open(context, changelog);
  }

  setFlushListener(listener: FlushListener<Windowed<K>, V>, sendsOldValues: boolean): void {
    this.#listener = listener;
    this.#sendsOldValues = sendsOldValues;
  }

  get(key: K, windowStart: number): V | null {
    const entry = this.#windows.get(this.#keys.mapKey(key))?.get(windowStart);
    if (entry === undefined) {
      this.hitRatio.misses++;
      const value = this.#inner.get(key, windowStart);
      this.foundTimestamp = this.#inner.foundTimestamp;
      return value;
    }
    this.hitRatio.hits++;
    this.#open().touch(entry);
    if (entry.stored === null) {
      this.foundTimestamp = -1;
      return null;
    }
    this.foundTimestamp = this.#values.timestampOf(entry);
    return this.#values.fromStored(entry.stored);
  }

  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp = -1,
    headers: RecordHeaders | null = null,
  ): void {
    const stored = value === null ? null : this.#values.toStored(value, headers);
    const valueBytes = this.#values.bytesOf(stored);
    const mapKey = this.#keys.mapKey(key);
    let windows = this.#windows.get(mapKey);
    let entry = windows?.get(windowStart);
    const isNew = entry === undefined;
    if (entry === undefined) {
      if (windows === undefined) {
        windows = new CachedWindows(this.#keys.own(key), mapKey);
        this.#windows.set(mapKey, windows);
      }
      const keyBytes = this.#keys.write(key) + CACHE_WINDOW_KEY_BYTES;
      entry = new CacheEntry(windows.key, mapKey, keyBytes, windowStart);
      windows.add(entry);
    }
    entry.stored = stored;
    entry.timestamp = timestamp;
    entry.headers = headers;
    const cache = this.#open();
    cache.written(entry, isNew, valueBytes);
    // Without nodes to call, letting go is never asynchronous, and nobody else asks for it.
    if (this.#listener === null) void cache.evict();
  }

  evict(): Promise<void> | undefined {
    return this.#open().evict();
  }

  flush(): Promise<void> | undefined {
    this.hitRatio.endInterval();
    return this.#open().flush();
  }

  letGo({ entry, stored, timestamp, headers }: CachedChange<K>): Promise<void> | undefined {
    const { key, windowStart } = entry;
    const value = stored === null ? null : this.#values.fromStored(stored);
    const listener = this.#listener;
    if (listener === null) {
      this.#inner.put(key, value, windowStart, timestamp, headers);
      return undefined;
    }
    const old = value === null || this.#sendsOldValues ? this.#inner.get(key, windowStart) : null;
    if (value === null && old === null) return undefined;
    this.#inner.put(key, value, windowStart, timestamp, headers);
    const windowed = new Windowed(key, windowStart, windowStart + this.windowSizeMs);
    return listener(windowed, value, this.#sendsOldValues ? old : null, timestamp, headers);
  }

  forget(entry: CacheEntry<K>): void {
    entry.isRemoved = true;
    const windows = this.#windows.get(entry.mapKey);
    windows?.remove(entry);
    if (windows?.isEmpty === true) this.#windows.delete(entry.mapKey);
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    const cached = this.#ofKey(key, from, to);
    return this.#mergedByStart(cached, this.#inner.fetch(key, from, to), 1);
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    const cached = this.#ofKey(key, from, to).reverse();
    return this.#mergedByStart(cached, this.#inner.backwardFetch(key, from, to), -1);
  }

  fetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    const cached = this.#sorted(first, last, from, to);
    return this.#merged(cached, this.#inner.fetchRange(first, last, from, to), 1);
  }

  backwardFetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    const cached = this.#sorted(first, last, from, to).reverse();
    return this.#merged(cached, this.#inner.backwardFetchRange(first, last, from, to), -1);
  }

  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#merged(this.#sorted(null, null, from, to), this.#inner.fetchAll(from, to), 1);
  }

  backwardFetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    const cached = this.#sorted(null, null, from, to).reverse();
    return this.#merged(cached, this.#inner.backwardFetchAll(from, to), -1);
  }

  all(): IterableIterator<WindowEntry<K, V>> {
    return this.fetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  backwardAll(): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  restore(cursor: RecordCursor): void {
    this.#inner.restore(cursor);
  }

  committedOffset(): bigint | null {
    return this.#inner.committedOffset();
  }

  commit(changelogOffset: bigint | null): void {
    this.#inner.commit(changelogOffset);
  }

  close(): void {
    this.#cache?.clear();
    this.#windows.clear();
    this.#inner.close();
  }

  #open(): StoreCache<K> {
    return this.#cache as StoreCache<K>;
  }

  #ofKey(key: K, from: number, to: number): CacheEntry<K>[] {
    return this.#windows.get(this.#keys.mapKey(key))?.between(from, to) ?? [];
  }

  /** In the store's order. */
  #sorted(first: K | null, last: K | null, from: number, to: number): CacheEntry<K>[] {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : this.#keys.latin1(last);
    const found: CacheEntry<K>[] = [];
    for (const windows of this.#windows.values()) {
      const sortKey = this.#keys.latin1(windows.key);
      if (lowest !== null && sortKey < lowest) continue;
      if (highest !== null && sortKey > highest) continue;
      for (const entry of windows.between(from, to)) {
        entry.sortKey = sortKey;
        found.push(entry);
      }
    }
    const { segmentMs } = this;
    return found.sort((a, b) =>
      compareWindows(
        segmentMs,
        a.sortKey as string,
        a.windowStart,
        b.sortKey as string,
        b.windowStart,
      ),
    );
  }

  #merged(
    cached: readonly CacheEntry<K>[],
    stored: Iterator<WindowEntry<K, V>>,
    direction: 1 | -1,
  ): IterableIterator<WindowEntry<K, V>> {
    const { segmentMs } = this;
    return mergeCached(cached, stored, {
      compare: ({ sortKey, windowStart }, { key: { key, start } }) =>
        direction *
        compareWindows(segmentMs, sortKey as string, windowStart, this.#keys.latin1(key), start),
      view: (entry) => this.#shown(entry),
    });
  }

  #mergedByStart(
    cached: readonly CacheEntry<K>[],
    stored: Iterator<WindowEntry<K, V>>,
    direction: 1 | -1,
  ): IterableIterator<WindowEntry<K, V>> {
    return mergeCached(cached, stored, {
      compare: (entry, row) => direction * (entry.windowStart - row.key.start),
      view: (entry) => this.#shown(entry),
    });
  }

  #shown(entry: CacheEntry<K>): WindowEntry<K, V> | null {
    const { key, windowStart } = entry;
    // One that had to make room meanwhile is in the store now.
    if (entry.isRemoved) {
      const [row] = this.fetch(key, windowStart, windowStart);
      return row ?? null;
    }
    if (entry.stored === null) return null;
    const windowed = new Windowed(key, windowStart, windowStart + this.windowSizeMs);
    return this.#values.view(windowed, entry);
  }
}
