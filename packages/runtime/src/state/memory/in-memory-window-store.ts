import type { RecordCursor } from '@millrace/protocol';
import type { PartitionAppender } from '../partition-appender.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import type { WindowEntry, WindowStore } from '../window-store.ts';
import type { StoreContext } from '../store.ts';
import { BigMap } from './big-map.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';
import { ValueCodec } from './value-codec.ts';
import { WindowExpiry } from './window-expiry.ts';
import { KeyWindows } from './key-windows.ts';

const START_BYTES = 8;
const SEQUENCE_BYTES = 4;
const SUFFIX_BYTES = START_BYTES + SEQUENCE_BYTES;

/**
 * A window store in memory: per key a short array of windows sorted by start, and a list of what
 * expires when. Lost with the process, so it is always restored from its changelog.
 */
export class InMemoryWindowStore<K, V> implements WindowStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly windowSizeMs: number;
  isOpen = false;
  foundTimestamp = -1;

  readonly #retentionMs: number;
  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #windows = new BigMap<MapKey, KeyWindows<K>>();
  readonly #expiry: WindowExpiry<K>;
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
    retentionMs: number,
    windowSizeMs: number,
  ) {
    this.name = name;
    this.windowSizeMs = windowSizeMs;
    this.#retentionMs = retentionMs;
    this.#keys = new KeyCodec(keySerde, SUFFIX_BYTES);
    this.#values = new ValueCodec(valueSerde, name);
    this.#remembersKey = keySerde.isImmutable === true;
    this.#expiry = new WindowExpiry(retentionMs, (windows) => {
      this.#forget(windows);
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
    this.foundTimestamp = windows.timestamps[index] as number;
    return this.#values.fromStored(windows.stored[index]);
  }

  put(key: K, value: V | null, windowStart: number, timestamp: number): void {
    const stored = value === null ? null : this.#values.toStored(value);
    // The changelog first: if it refuses the record, the store is as it was. What is expired goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      const keyEnd = this.#keys.write(key);
      const { buffer } = this.#keys;
      const end = buffer.writeInt32BE(0, writeTimestamp(windowStart, buffer, keyEnd));
      const { storedSerde } = this.#values;
      this.#changelog.append(timestamp, buffer, 0, end, stored, storedSerde, null);
    }
    if (!this.#set(key, stored, windowStart, timestamp)) {
      this.#context?.recordDropped(this.name, 'the window store no longer keeps its window');
    }
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).values();
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.#ofKey(key, from, to).reverse().values();
  }

  *fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    const live: { readonly start: number; readonly windows: KeyWindows<K> }[] = [];
    for (const windows of this.#windows.values()) {
      for (const start of windows.starts) {
        if (start >= from && start <= to && !this.#isExpired(start)) live.push({ start, windows });
      }
    }
    live.sort((a, b) => a.start - b.start || this.#compareKeys(a.windows, b.windows));
    for (const { start, windows } of live) {
      const index = windows.indexOf(start);
      if (index >= 0) yield this.#view(windows, index);
    }
  }

  all(): IterableIterator<WindowEntry<K, V>> {
    return this.fetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart, valueStart } = cursor;
    const keyEnd = cursor.keyEnd - SUFFIX_BYTES;
    if (keyStart < 0 || keyEnd < keyStart) return;
    const key = this.#keys.read(buffer, keyStart, keyEnd);
    const stored =
      valueStart < 0 ? null : this.#values.storedSerde.read(buffer, valueStart, cursor.valueEnd);
    this.#set(key, stored, readTimestamp(buffer, keyEnd), cursor.timestamp);
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
    this.#observedStreamTime = -1;
  }

  #isExpired(windowStart: number): boolean {
    return windowStart <= this.#observedStreamTime - this.#retentionMs;
  }

  /** False if the window has expired already. */
  #set(key: K, stored: unknown, windowStart: number, timestamp: number): boolean {
    if (windowStart > this.#observedStreamTime) {
      this.#observedStreamTime = windowStart;
      this.#expiry.advanceTo(windowStart - this.#retentionMs);
    }
    if (this.#isExpired(windowStart)) return false;
    const isLast = this.#lastWindows !== undefined && key === this.#lastKey;
    const mapKey = isLast ? (this.#lastWindows as KeyWindows<K>).mapKey : this.#keys.mapKey(key);
    let windows = isLast ? this.#lastWindows : this.#windows.get(mapKey);
    if (stored === null) {
      if (windows?.remove(windowStart) === true && windows.isEmpty) this.#forget(windows);
      return true;
    }
    if (windows === undefined) {
      windows = new KeyWindows(this.#keys.own(key), mapKey);
      this.#windows.add(mapKey, windows);
    }
    if (windows.put(windowStart, stored, timestamp)) this.#expiry.add(windowStart, windows);
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
    for (let i = 0; i < windows.starts.length; i++) {
      const start = windows.starts[i] as number;
      if (start > to) break;
      if (start >= from && !this.#isExpired(start)) found.push(this.#view(windows, i));
    }
    return found;
  }

  #view(windows: KeyWindows<K>, index: number): WindowEntry<K, V> {
    const start = windows.starts[index] as number;
    return {
      key: new Windowed(windows.key, start, start + this.windowSizeMs),
      value: this.#values.fromStored(windows.stored[index]),
      timestamp: windows.timestamps[index] as number,
    };
  }

  #compareKeys(a: KeyWindows<K>, b: KeyWindows<K>): number {
    a.sortKey ??= this.#keys.latin1(a.key);
    b.sortKey ??= this.#keys.latin1(b.key);
    return a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0;
  }
}
