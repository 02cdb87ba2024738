import type { StateStore } from './store.ts';

export interface KeyValueEntry<K, V> {
  readonly key: K;
  readonly value: V;
  /** Epoch ms. */
  readonly timestamp: number;
}

/** What anyone may ask of a key-value store. Ranges are in the order of the keys' bytes. */
export interface ReadOnlyKeyValueStore<K, V> {
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
 * A store of one timestamped value per key (Kafka's TimestampedKeyValueStore). Its changelog holds
 * the plain value with the entry's timestamp as the record's.
 */
export interface KeyValueStore<K, V> extends StateStore, ReadOnlyKeyValueStore<K, V> {
  /** Of the entry that the last `get` found, -1 if it found none: read it before anything else is called. */
  readonly foundTimestamp: number;
  /** A null value deletes; `timestamp` is then the tombstone's. */
  put(key: K, value: V | null, timestamp: number): void;
}
