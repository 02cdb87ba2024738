import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueEntry, KeyValuePut, KeyValueStore } from '../state/key-value-store.ts';
import type { SessionStore } from '../state/session-store.ts';
import type { StateStore } from '../state/store.ts';
import type { WindowEntry, WindowStore } from '../state/window-store.ts';
import { UserSessionStore } from './user-session-store.ts';
import { UserStore, type RecordInHand } from './user-store.ts';

/**
 * A store as a processor sees it: what it writes has the timestamp and headers of the record in hand
 * where it names none. Kinds of stores of the user's own are given as they are.
 */
export function userStore(store: StateStore, record: RecordInHand): StateStore {
  if ('fetchAll' in store) {
    return new UserWindowStore(store as WindowStore<unknown, unknown>, record);
  }
  if ('findSessions' in store) {
    return new UserSessionStore(store as SessionStore<unknown, unknown>, record);
  }
  if ('prefixScan' in store) {
    return new UserKeyValueStore(store as KeyValueStore<unknown, unknown>, record);
  }
  return store;
}

class UserKeyValueStore<K, V>
  extends UserStore<KeyValueStore<K, V>>
  implements KeyValueStore<K, V>
{
  get isTimestamped(): boolean {
    return this.inner.isTimestamped ?? true;
  }

  get foundTimestamp(): number {
    return this.inner.foundTimestamp;
  }

  get(key: K): V | null {
    return this.inner.get(key);
  }

  getEntry(key: K): KeyValueEntry<K, V> | null {
    return this.inner.getEntry(key);
  }

  put(
    key: K,
    value: V | null,
    timestamp: number = this.record.recordTimestamp,
    headers: RecordHeaders | null = this.record.recordHeaders,
  ): void {
    this.inner.put(key, value, timestamp, headers);
  }

  putIfAbsent(key: K, value: V | null, timestamp?: number, headers?: RecordHeaders): V | null {
    const old = this.inner.get(key);
    if (old === null) this.put(key, value, timestamp, headers);
    return old;
  }

  putAll(rows: Iterable<KeyValuePut<K, V>>): void {
    for (const { key, value, timestamp, headers } of rows) this.put(key, value, timestamp, headers);
  }

  delete(key: K, timestamp?: number): V | null {
    const old = this.inner.get(key);
    this.put(key, null, timestamp);
    return old;
  }

  range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.inner.range(from, to);
  }

  reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>> {
    return this.inner.reverseRange(from, to);
  }

  all(): IterableIterator<KeyValueEntry<K, V>> {
    return this.inner.all();
  }

  reverseAll(): IterableIterator<KeyValueEntry<K, V>> {
    return this.inner.reverseAll();
  }

  prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>> {
    return this.inner.prefixScan(prefix);
  }

  approximateEntryCount(): number {
    return this.inner.approximateEntryCount();
  }
}

class UserWindowStore<K, V> extends UserStore<WindowStore<K, V>> implements WindowStore<K, V> {
  get windowSizeMs(): number {
    return this.inner.windowSizeMs;
  }

  get segmentMs(): number {
    return this.inner.segmentMs;
  }

  get foundTimestamp(): number {
    return this.inner.foundTimestamp;
  }

  get(key: K, windowStart: number): V | null {
    return this.inner.get(key, windowStart);
  }

  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp: number = this.record.recordTimestamp,
    headers: RecordHeaders | null = this.record.recordHeaders,
  ): void {
    this.inner.put(key, value, windowStart, timestamp, headers);
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.inner.fetch(key, from, to);
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.inner.backwardFetch(key, from, to);
  }

  fetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.inner.fetchRange(first, last, from, to);
  }

  backwardFetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.inner.backwardFetchRange(first, last, from, to);
  }

  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.inner.fetchAll(from, to);
  }

  backwardFetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.inner.backwardFetchAll(from, to);
  }

  all(): IterableIterator<WindowEntry<K, V>> {
    return this.inner.all();
  }

  backwardAll(): IterableIterator<WindowEntry<K, V>> {
    return this.inner.backwardAll();
  }
}
