import type { RecordHeaders } from '@millrace/protocol';
import type { StateStore } from './store.ts';

export interface KeyValueEntry<K, V> {
  readonly key: K;
  readonly value: V;
  /** Epoch ms; -1 if the store keeps none. */
  readonly timestamp: number;
  /** Only of a store that keeps headers. */
  readonly headers?: RecordHeaders;
}

/** What `putAll` takes: an entry of a store, or a row without a time. */
export interface KeyValuePut<K, V> {
  readonly key: K;
  /** Null deletes. */
  readonly value: V | null;
  readonly timestamp?: number;
  readonly headers?: RecordHeaders | null;
}

/**
 * What anyone may ask of a key-value store. Ranges are in the order of the keys' bytes; one that ends
 * before it begins holds nothing, and is warned of.
 */
export interface ReadOnlyKeyValueStore<K, V> {
  /** False of a plain store, whose entries have no timestamp: -1 stands there. Default true. */
  readonly isTimestamped?: boolean;
  get(key: K): V | null;
  getEntry(key: K): KeyValueEntry<K, V> | null;
  /** Keys from `from` to `to`, both included; null means open. */
  range(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>>;
  reverseRange(from: K | null, to: K | null): IterableIterator<KeyValueEntry<K, V>>;
  all(): IterableIterator<KeyValueEntry<K, V>>;
  reverseAll(): IterableIterator<KeyValueEntry<K, V>>;
  /** Keys whose bytes begin with these. */
  prefixScan(prefix: Uint8Array): IterableIterator<KeyValueEntry<K, V>>;
  approximateEntryCount(): number;
}

/**
 * A store of one value per key, with its timestamp (Kafka's TimestampedKeyValueStore) unless it is a
 * plain one. Its changelog holds the plain value with the timestamp as the record's.
 */
export interface KeyValueStore<K, V> extends StateStore, ReadOnlyKeyValueStore<K, V> {
  /** Of the entry that the last `get` found, -1 if it found none: read it before anything else is called. */
  readonly foundTimestamp: number;
  /**
   * A null value deletes; `timestamp` is then the tombstone's. `headers` are those of the record being
   * processed: a record cache keeps them for those who see the change later, and a store that keeps
   * headers keeps them. A processor may leave both out: they are then those of its record in hand.
   */
  put(key: K, value: V | null, timestamp?: number, headers?: RecordHeaders | null): void;
  /** `put`, unless the key has a value; returns the value that it had. */
  putIfAbsent(key: K, value: V | null, timestamp?: number, headers?: RecordHeaders): V | null;
  /** `put` of each, in this order. */
  putAll(rows: Iterable<KeyValuePut<K, V>>): void;
  /** `put` of null; returns the value that the key had. */
  delete(key: K, timestamp?: number): V | null;
}
