import type { StateStore } from './store.ts';

/** What `put` of a versioned store returns when the new version is the key's latest. */
export const PUT_LATEST = -1;
/** What `put` of a versioned store returns when the version is older than the history that is kept. */
export const PUT_NOT_PUT = Number.MIN_SAFE_INTEGER;

/** One version of a key's value (KIP-889): valid from `timestamp`, included, until `validTo`, excluded. */
export interface VersionedRecord<V> {
  readonly value: V;
  /** Epoch ms. */
  readonly timestamp: number;
  /** Epoch ms; null while it is the latest. */
  readonly validTo: number | null;
}

/** What anyone may ask of a versioned store. */
export interface ReadOnlyVersionedStore<K, V> {
  /** The latest value; null if there is none, or if it was deleted. */
  get(key: K): V | null;
  /**
   * The value that was current at `asOf`, epoch ms. Null if there was none, or if `asOf` lies further
   * back than the history retention; the latest version is found however old it is.
   */
  getAsOf(key: K, asOf: number): V | null;
  /** The same with the version's bounds; without `asOf` the latest. */
  getRecord(key: K, asOf?: number): VersionedRecord<V> | null;
  /** The versions that were valid at some time between `from` and `to`, both included; oldest first. */
  history(key: K, from?: number, to?: number): IterableIterator<VersionedRecord<V>>;
}

/**
 * A store of a key's value over time (Kafka's VersionedKeyValueStore, KIP-889). Stream time is the
 * highest timestamp that the store was given; versions that ended before stream time - history
 * retention are forgotten, and writes older than that are not accepted. Its changelog holds the plain
 * values, with the versions' timestamps, in the order of arrival.
 */
export interface VersionedKeyValueStore<K, V> extends StateStore, ReadOnlyVersionedStore<K, V> {
  readonly isVersioned: true;
  readonly historyRetentionMs: number;
  /** Of the version that the last `get` or `getAsOf` found, -1 if none: read it before anything else is called. */
  readonly foundTimestamp: number;
  /**
   * Adds a version; a null value says that the key has none from `timestamp` on. Returns the time at
   * which the version ends, `PUT_LATEST` if it is the latest, or `PUT_NOT_PUT` if it came too late: it
   * is then counted as dropped, though it goes to the changelog, as Kafka's does.
   */
  put(key: K, value: V | null, timestamp: number): number;
  /** `put` of null; returns the version that was current at `timestamp`. */
  delete(key: K, timestamp: number): VersionedRecord<V> | null;
}

export function isVersionedStore(
  store: StateStore,
): store is VersionedKeyValueStore<unknown, unknown> {
  return 'isVersioned' in store;
}
