import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { isInvalidRange } from '../invalid-range.ts';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../key-value-store.ts';
import type { StoreContext, StoreLogger } from '../store.ts';
import { BigMap } from './big-map.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';
import { SortedIndex, type Sortable } from './sorted-index.ts';
import { ValueCodec, type HeaderKeeping } from './value-codec.ts';

/** Splits a timestamp into two small integers. */
const TIMESTAMP_LOW_RANGE = 2 ** 30;

class Entry<K> implements Sortable {
  readonly key: K;
  readonly mapKey: MapKey;
  stored: unknown;
  // Epoch ms in two parts: V8 keeps small integers in the object, but a larger number in a box of its
  // own, which is one more place in memory to look at for each record.
  #timestampHigh = 0;
  #timestampLow = 0;
  sortKey: string | null = null;
  isRemoved = false;

  constructor(key: K, mapKey: MapKey, stored: unknown, timestamp: number) {
    this.key = key;
    this.mapKey = mapKey;
    this.stored = stored;
    this.timestamp = timestamp;
  }

  get timestamp(): number {
    return this.#timestampHigh * TIMESTAMP_LOW_RANGE + this.#timestampLow;
  }

  set timestamp(timestamp: number) {
    this.#timestampHigh = Math.floor(timestamp / TIMESTAMP_LOW_RANGE);
    this.#timestampLow = timestamp - this.#timestampHigh * TIMESTAMP_LOW_RANGE;
  }
}

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
 * A key-value store in memory: a hash map, and an order of its keys that is made only
 * when a range is asked for. Lost with the process, so it is always restored from the start of its
 * changelog, and `commit` has nothing to keep.
 */
export class InMemoryKeyValueStore<K, V> implements KeyValueStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly isTimestamped: boolean;
  readonly measures: StoreMeasures;
  isOpen = false;

  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #keepsTimestamps: boolean;
  readonly #entries = new BigMap<MapKey, Entry<K>>();
  readonly #sorted = new SortedIndex<Entry<K>>(
    () => this.#entries.values(),
    (entry) => this.#keys.latin1(entry.key),
  );
  #changelog: PartitionAppender | null = null;
  #logger: StoreLogger | undefined;
  // An aggregation gets a key and then puts it: the second look-up is spared.
  readonly #remembersKey: boolean;
  #found: Entry<K> | undefined;
  #lastKey: K | undefined;
  #lastEntry: Entry<K> | undefined;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: InMemoryKeyValueStoreOptions = {},
  ) {
    this.name = name;
    this.measures = new StoreMeasures(options.metricsScope ?? 'in-memory-state');
    this.#keys = new KeyCodec(keySerde);
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.isTimestamped = options.isTimestamped ?? true;
    this.#keepsTimestamps = options.keepsTimestamps ?? this.isTimestamped;
    this.#remembersKey = keySerde.isImmutable === true;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#logger = context.logger;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  /** Read only when asked for: a join has no use for it, and it is a look into memory of its own. */
  get foundTimestamp(): number {
    return this.#found === undefined ? -1 : this.#found.timestamp;
  }

  get(key: K): V | null {
    const entry = this.#entries.get(this.#keys.mapKey(key));
    this.#found = entry;
    if (entry === undefined) return null;
    if (this.#remembersKey) {
      this.#lastKey = key;
      this.#lastEntry = entry;
    }
    return this.#values.fromStored(entry.stored);
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    const entry = this.#entries.get(this.#keys.mapKey(key));
    return entry === undefined ? null : this.#view(entry);
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

  /** Takes a row out without telling the changelog. */
  forget(key: K): void {
    this.#set(key, null, -1);
  }

  *range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    const [entries, start, end] = this.#bounds(from, to);
    yield* this.#walk(entries, start, end, 1);
  }

  *reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    const [entries, start, end] = this.#bounds(from, to);
    yield* this.#walk(entries, end - 1, start - 1, -1);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.range(null, null);
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.reverseRange(null, null);
  }

  *prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    const text = Buffer.from(prefix).toString('latin1');
    const entries = this.#sorted.entries();
    const start = SortedIndex.lowerBound(entries, text);
    let end = start;
    while (end < entries.length && (entries[end]?.sortKey as string).startsWith(text)) end++;
    yield* this.#walk(entries, start, end, 1);
  }

  approximateEntryCount(): number {
    return this.#entries.size;
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    if (keyStart < 0) return;
    const key = this.#keys.read(buffer, keyStart, cursor.keyEnd);
    this.#set(key, this.#values.restored(cursor), this.#keepsTimestamps ? cursor.timestamp : -1);
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#found = undefined;
    this.#lastEntry = undefined;
    this.#entries.clear();
    this.#sorted.clear();
  }

  #set(key: K, stored: unknown, timestamp: number): void {
    const last = this.#lastEntry;
    if (last !== undefined && stored !== null && key === this.#lastKey) {
      last.stored = stored;
      last.timestamp = timestamp;
      return;
    }
    const mapKey = this.#keys.mapKey(key);
    const entry = this.#entries.get(mapKey);
    if (stored === null) {
      if (entry === undefined) return;
      this.#entries.delete(mapKey);
      this.#sorted.removed(entry);
      this.#lastEntry = undefined;
    } else if (entry === undefined) {
      const added = new Entry(this.#keys.own(key), mapKey, stored, timestamp);
      this.#entries.add(mapKey, added);
      this.#sorted.added(added);
    } else {
      entry.stored = stored;
      entry.timestamp = timestamp;
    }
  }

  #view(entry: Entry<K>): KeyValueEntry<K, V> {
    const { key, stored, timestamp } = entry;
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }

  *#walk(
    entries: readonly Entry<K>[],
    from: number,
    to: number,
    step: 1 | -1,
  ): IterableIterator<KeyValueEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (let i = from; (to - i) * step > 0; i += step) {
        const entry = entries[i] as Entry<K>;
        if (!entry.isRemoved) yield this.#view(entry);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #bounds(from: K | null, to: K | null): [readonly Entry<K>[], number, number] {
    const entries = this.#sorted.entries();
    const first = from === null ? null : this.#keys.latin1(from);
    const start = first === null ? 0 : SortedIndex.lowerBound(entries, first);
    if (to === null) return [entries, start, entries.length];
    const last = this.#keys.latin1(to);
    if (isInvalidRange(first, last, this.name, this.#logger)) return [entries, start, start];
    let end = SortedIndex.lowerBound(entries, last);
    if (end < entries.length && (entries[end] as Entry<K>).sortKey === last) end++;
    return [entries, start, end];
  }
}
