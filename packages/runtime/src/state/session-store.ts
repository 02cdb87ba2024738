import type { RecordHeaders } from '@millrace/protocol';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { StateStore } from './store.ts';

export interface SessionEntry<K, V> {
  /** The key in its session; the end lies within it. */
  readonly key: Windowed<K>;
  readonly value: V;
  /** Only of a store that keeps headers. */
  readonly headers?: RecordHeaders;
}

/**
 * What anyone may ask of a session store. Times are epoch ms, and both ends lie within a session.
 * Nothing expired is returned, except by end, and from a record cache, which knows no expiry. A range of
 * keys that ends before it begins holds nothing, which is logged as a warning.
 *
 * A key's sessions come by their end; of two with the same end a persistent store gives the earlier
 * start first, an in-memory store the later. Over several keys a persistent store goes from segment to
 * segment, and by the bytes of key, end and start inside one; an in-memory one goes by end, then by key
 * bytes. Both as in Kafka Streams; backward is the exact reverse.
 */
export interface ReadOnlySessionStore<K, V> {
  /** The aggregate of the session with exactly these bounds. */
  fetchSession(key: K, start: number, end: number): V | null;
  /** All of the key's sessions. */
  fetch(key: K): IterableIterator<SessionEntry<K, V>>;
  backwardFetch(key: K): IterableIterator<SessionEntry<K, V>>;
  /** All sessions of the keys from `first` to `last`, both included; null means open. */
  fetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>>;
  backwardFetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>>;
  /** The key's sessions with `end >= earliestEnd` and `start <= latestStart`. */
  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>>;
  backwardFindSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>>;
  /** The same of the keys from `first` to `last`, both included; null means open. */
  findSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>>;
  backwardFindSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>>;
  /**
   * All keys' sessions with `earliestEnd <= end <= latestEnd`, by their end: then by start and key bytes
   * in a persistent store, by key bytes in an in-memory one. A persistent store returns what has expired,
   * too, as long as it has the segment: who emits on close asks after the record that moved stream time.
   * In Kafka Streams only stores of such aggregations have this, and in-memory ones.
   */
  findSessionsByEnd(earliestEnd: number, latestEnd: number): IterableIterator<SessionEntry<K, V>>;
}

/**
 * A store of one aggregate per key, session start and session end. A session expires once its end is at
 * or below observed stream time - retention; observed stream time is the highest session end that the
 * store was given. Its changelog's keys are the key's bytes, 8 bytes of end and 8 bytes of start; the
 * values are the aggregates' own bytes.
 */
export interface SessionStore<K, V> extends StateStore, ReadOnlySessionStore<K, V> {
  /** Length of a segment, which decides the order over several keys; 1 in an in-memory store. */
  readonly segmentMs: number;
  /**
   * A null aggregate deletes. A session that the store no longer keeps is not stored and counts as a
   * dropped record. `timestamp` is the changelog record's, and in a store that keeps headers `headers`
   * are the aggregate's.
   */
  put(
    sessionKey: Windowed<K>,
    aggregate: V | null,
    timestamp?: number,
    headers?: RecordHeaders | null,
  ): void;
  /** Deletes without a word about a session that is not there, or no longer. */
  remove(sessionKey: Windowed<K>, timestamp?: number, headers?: RecordHeaders | null): void;
}
