import type { RecordHeaders } from '@millrace/protocol';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { StateStore } from './store.ts';

export interface WindowEntry<K, V> {
  readonly key: Windowed<K>;
  readonly value: V;
  /** Epoch ms; -1 if the store keeps none. */
  readonly timestamp: number;
  /** Only of a store that keeps headers. */
  readonly headers?: RecordHeaders;
}

/**
 * What anyone may ask of a window store. Nothing expired is returned, except from a record cache,
 * which knows no expiry. The order over several keys is the store's own: a persistent store goes from
 * segment to segment, and by the bytes of key and start inside one; an in-memory one goes by start,
 * then by key bytes.
 */
export interface ReadOnlyWindowStore<K, V> {
  get(key: K, windowStart: number): V | null;
  /** The key's windows with `from <= start <= to`, oldest first. */
  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  /** The windows with `from <= start <= to` of the keys from `first` to `last`, both included; null means open. */
  fetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>>;
  backwardFetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>>;
  /** All keys' windows with `from <= start <= to`. */
  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  backwardFetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  all(): IterableIterator<WindowEntry<K, V>>;
  backwardAll(): IterableIterator<WindowEntry<K, V>>;
}

/**
 * A store of one timestamped value per key and window start (Kafka's TimestampedWindowStore).
 * A window expires once its start is at or below observed stream time - retention; observed stream
 * time is the highest window start that the store was given. Its changelog's keys are the key's
 * bytes, 8 bytes of window start and 4 bytes of sequence number (0).
 */
export interface WindowStore<K, V> extends StateStore, ReadOnlyWindowStore<K, V> {
  readonly windowSizeMs: number;
  /** Length of a segment, which decides the order over several keys; 1 in an in-memory store. */
  readonly segmentMs: number;
  /** Of the entry that the last `get` found, -1 if it found none: read it before anything else is called. */
  readonly foundTimestamp: number;
  /**
   * A null value deletes. A window that the store no longer keeps is not stored and counts as a dropped
   * record. `timestamp` and `headers` as in a key-value store.
   */
  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp?: number,
    headers?: RecordHeaders | null,
  ): void;
}
