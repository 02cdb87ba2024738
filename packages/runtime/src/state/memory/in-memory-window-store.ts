import { type RecordCursor, type RecordHeaders, writeInt32 } from '@millrace/protocol';
import { isInvalidRange } from '../invalid-range.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import { compareWindows } from '../window-order.ts';
import type { WindowEntry, WindowStore } from '../window-store.ts';
import type { StoreContext } from '../store.ts';
import { BigMap } from './big-map.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';
import { ValueCodec, type HeaderKeeping } from './value-codec.ts';
import { Expiry } from './expiry.ts';
import { IdleKeys } from './idle-keys.ts';
import { KeyWindows } from './key-windows.ts';

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

/** Of a window that a scan found. */
interface Found<K> {
  readonly windows: KeyWindows<K>;
  readonly start: number;
}

/**
 * A window store in memory: per key a short array of windows sorted by start, and a list of what
 * expires when. Lost with the process, so it is always restored from its changelog.
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
  readonly #values: ValueCodec<V>;
  readonly #isTimestamped: boolean;
  readonly #windows = new BigMap<MapKey, KeyWindows<K>>();
  readonly #expiry: Expiry<KeyWindows<K>>;
  readonly #idle: IdleKeys<KeyWindows<K>>;
  #observedStreamTime = -1;
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;
  // An aggregation gets a key's window and then puts it: the second look-up of the key is spared.
  readonly #remembersKey: boolean;
  #lastKey: K | undefined;
  #lastWindows: KeyWindows<K> | undefined;

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
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.#isTimestamped = options.isTimestamped ?? true;
    this.#remembersKey = keySerde.isImmutable === true;
    this.#idle = new IdleKeys((windows) => {
      this.#forget(windows);
    });
    this.#expiry = new Expiry(retentionMs, (windows) => {
      this.#idle.emptied(windows);
    });
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get(key: K, windowStart: number): V | null {
    this.foundTimestamp = -1;
    if (this.#isExpired(windowStart)) return null;
    const windows = this.#windows.get(this.#keys.mapKey(key));
    if (windows === undefined) return null;
    if (this.#remembersKey) {
      this.#lastKey = key;
      this.#lastWindows = windows;
    }
    const index = windows.indexOf(windowStart);
    if (index < 0) return null;
    this.foundTimestamp = windows.timestampAt(index);
    return this.#values.fromStored(windows.storedAt(index));
  }

  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp = -1,
    headers?: RecordHeaders | null,
  ): void {
    const stored = value === null ? null : this.#values.toStored(value, headers);
    // The changelog first: if it refuses the record, the store is as it was. What is expired goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      const keyEnd = this.#keys.write(key);
      const { buffer } = this.#keys;
      const end = writeInt32(buffer, writeTimestamp(windowStart, buffer, keyEnd), 0);
      const { storedSerde } = this.#values;
      const carried = this.#values.changelogHeaders(stored, headers);
      this.#changelog.append(timestamp, buffer, 0, end, stored, storedSerde, carried);
    }
    if (!this.#set(key, stored, windowStart, this.#isTimestamped ? timestamp : -1)) {
      this.#context?.recordDropped(this.name, 'the window store no longer keeps its window');
    }
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).values();
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).reverse().values();
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
    const key = this.#keys.read(buffer, keyStart, keyEnd);
    const timestamp = this.#isTimestamped ? cursor.timestamp : -1;
    this.#set(key, this.#values.restored(cursor), readTimestamp(buffer, keyEnd), timestamp);
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#lastWindows = undefined;
    this.#windows.clear();
    this.#expiry.clear();
    this.#idle.clear();
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

  /** False if the store no longer keeps the window. */
  #set(key: K, stored: unknown, windowStart: number, timestamp: number): boolean {
    if (windowStart > this.#observedStreamTime) {
      this.#observedStreamTime = windowStart;
      this.#expiry.advanceTo(windowStart - this.#retentionMs);
    }
    // What nobody can read any more is not kept, even where it counts as written.
    if (this.#isExpired(windowStart)) return !this.#isForgotten(windowStart);
    const isLast = this.#lastWindows !== undefined && key === this.#lastKey;
    const mapKey = isLast ? (this.#lastWindows as KeyWindows<K>).mapKey : this.#keys.mapKey(key);
    let windows = isLast ? this.#lastWindows : this.#windows.get(mapKey);
    if (stored === null) {
      if (windows?.remove(windowStart) === true && windows.isEmpty) this.#idle.emptied(windows);
      return true;
    }
    if (windows === undefined) {
      windows = new KeyWindows(this.#keys.own(key), mapKey);
      this.#windows.add(mapKey, windows);
    }
    if (windows.put(windowStart, stored, timestamp)) {
      this.#expiry.add(windowStart, windows);
      if (windows.count === 1) this.#idle.filled();
    }
    return true;
  }

  #forget(windows: KeyWindows<K>): void {
    this.#windows.delete(windows.mapKey);
    if (windows === this.#lastWindows) this.#lastWindows = undefined;
  }

  #ofKey(key: K, from: number, to: number): WindowEntry<K, V>[] {
    const windows = this.#windows.get(this.#keys.mapKey(key));
    const found: WindowEntry<K, V>[] = [];
    if (windows === undefined) return found;
    for (let i = 0; i < windows.count; i++) {
      const start = windows.startAt(i);
      if (start > to) break;
      if (start >= from && !this.#isExpired(start)) found.push(this.#view(windows, i));
    }
    return found;
  }

  /** Live windows of a range of keys and starts, in the store's order. */
  #scan(first: K | null, last: K | null, from: number, to: number): Found<K>[] {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : this.#keys.latin1(last);
    const found: Found<K>[] = [];
    if (isInvalidRange(lowest, highest, this.name, this.#context?.logger)) return found;
    for (const windows of this.#windows.values()) {
      if (lowest !== null && this.#sortKey(windows) < lowest) continue;
      if (highest !== null && this.#sortKey(windows) > highest) continue;
      for (let i = 0; i < windows.count; i++) {
        const start = windows.startAt(i);
        if (start >= from && start <= to && !this.#isExpired(start)) found.push({ windows, start });
      }
    }
    const { segmentMs } = this;
    return found.sort((a, b) =>
      compareWindows(
        segmentMs,
        this.#sortKey(a.windows),
        a.start,
        this.#sortKey(b.windows),
        b.start,
      ),
    );
  }

  *#walk(found: readonly Found<K>[]): IterableIterator<WindowEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (const { windows, start } of found) {
        const index = windows.indexOf(start);
        if (index >= 0) yield this.#view(windows, index);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #view(windows: KeyWindows<K>, index: number): WindowEntry<K, V> {
    const start = windows.startAt(index);
    const key = new Windowed(windows.key, start, start + this.windowSizeMs);
    const stored = windows.storedAt(index);
    const value = this.#values.fromStored(stored);
    const timestamp = windows.timestampAt(index);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }

  #sortKey(windows: KeyWindows<K>): string {
    windows.sortKey ??= this.#keys.latin1(windows.key);
    return windows.sortKey;
  }
}
