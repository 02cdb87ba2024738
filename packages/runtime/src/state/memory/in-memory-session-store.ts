import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../../serdes/serde.ts';
import { readTimestamp } from '../../serdes/windowed.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { isInvalidRange } from '../invalid-range.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import { SESSION_SUFFIX_BYTES, writeSessionKey } from '../session-key.ts';
import {
  compareSessions,
  compareSessionsByEnd,
  forgottenEnd,
  IN_MEMORY_SEGMENT_MS,
  startOrder,
  type OrderedSession,
} from '../session-order.ts';
import type { SessionEntry, SessionStore } from '../session-store.ts';
import type { StoreContext } from '../store.ts';
import { BigMap } from './big-map.ts';
import { Expiry } from './expiry.ts';
import { IdleKeys } from './idle-keys.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';
import { KeySessions } from './key-sessions.ts';
import { SessionsByEnd } from './sessions-by-end.ts';
import { ValueCodec, type HeaderKeeping } from './value-codec.ts';

const BYTES_OF_TIMES = 8;
const NONE: readonly never[] = [];

export interface InMemorySessionStoreOptions {
  readonly retentionMs: number;
  /** Above 1: the store behaves as a persistent one. 1: by end, and expired to the millisecond. */
  readonly segmentMs?: number;
  readonly headers?: HeaderKeeping;
}

/** A session that a scan found. */
interface Found<K> extends OrderedSession {
  readonly sessions: KeySessions<K>;
}

/**
 * A session store in memory: per key a short array of sessions sorted by end, and a list of what expires
 * when. Lost with the process, so it is always restored from its changelog.
 */
export class InMemorySessionStore<K, V> implements SessionStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly segmentMs: number;
  readonly measures = new StoreMeasures('in-memory-session-state');
  isOpen = false;

  readonly #retentionMs: number;
  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #sessions = new BigMap<MapKey, KeySessions<K>>();
  readonly #byEnd = new SessionsByEnd<K>(() => this.#sessions.values());
  readonly #expiry: Expiry<KeySessions<K>>;
  readonly #idle: IdleKeys<KeySessions<K>>;
  #observedStreamTime = -1;
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;
  // An aggregation finds a key's sessions and then puts one: the second look-up of the key is spared.
  readonly #remembersKey: boolean;
  #lastKey: K | undefined;
  #lastSessions: KeySessions<K> | undefined;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: InMemorySessionStoreOptions,
  ) {
    const { retentionMs } = options;
    this.name = name;
    this.segmentMs = options.segmentMs ?? IN_MEMORY_SEGMENT_MS;
    this.#retentionMs = retentionMs;
    this.#keys = new KeyCodec(keySerde, SESSION_SUFFIX_BYTES);
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.#remembersKey = keySerde.isImmutable === true;
    this.#idle = new IdleKeys((sessions) => {
      this.#forget(sessions);
    });
    this.#expiry = new Expiry(
      retentionMs,
      (sessions) => {
        this.#idle.emptied(sessions);
      },
      (sessions) => {
        this.#list(sessions);
      },
    );
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  put(
    { key, start, end }: Windowed<K>,
    aggregate: V | null,
    timestamp = -1,
    headers?: RecordHeaders | null,
  ): void {
    const stored = aggregate === null ? null : this.#values.toStored(aggregate, headers);
    this.#log(key, start, end, stored, timestamp, headers);
    if (!this.#set(key, start, end, stored)) {
      this.#context?.recordDropped(this.name, 'the session store no longer keeps its session');
    }
  }

  remove({ key, start, end }: Windowed<K>, timestamp = -1, headers?: RecordHeaders | null): void {
    this.#log(key, start, end, null, timestamp, headers);
    // In Kafka Streams only a persistent store takes the end of what it removes for stream time.
    if (this.segmentMs !== IN_MEMORY_SEGMENT_MS) this.#observe(end);
    this.#remove(this.#find(key), start, end);
  }

  fetchSession(key: K, start: number, end: number): V | null {
    if (this.#isExpired(end)) return null;
    const sessions = this.#find(key);
    const index = sessions === undefined ? -1 : sessions.indexOf(start, end);
    if (sessions === undefined || index < 0) return null;
    return this.#values.fromStored(sessions.storedAt(index));
  }

  fetch(key: K): IterableIterator<SessionEntry<K, V>> {
    return this.findSessions(key, 0, Number.MAX_SAFE_INTEGER);
  }

  backwardFetch(key: K): IterableIterator<SessionEntry<K, V>> {
    return this.backwardFindSessions(key, 0, Number.MAX_SAFE_INTEGER);
  }

  fetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>> {
    return this.findSessionsRange(first, last, 0, Number.MAX_SAFE_INTEGER);
  }

  backwardFetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>> {
    return this.backwardFindSessionsRange(first, last, 0, Number.MAX_SAFE_INTEGER);
  }

  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.#ofKey(key, earliestEnd, latestStart).values();
  }

  backwardFindSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return [...this.#ofKey(key, earliestEnd, latestStart)].reverse().values();
  }

  findSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.#walk(this.#scan(first, last, earliestEnd, latestStart));
  }

  backwardFindSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.#walk(this.#scan(first, last, earliestEnd, latestStart).reverse());
  }

  findSessionsByEnd(earliestEnd: number, latestEnd: number): IterableIterator<SessionEntry<K, V>> {
    const found: Found<K>[] = [];
    this.#byEnd.forEach(
      Math.max(earliestEnd, this.#forgottenEnd + 1),
      latestEnd,
      (end, sessions) => {
        const sortKey = this.#sortKey(sessions);
        for (let i = sessions.indexOfEnd(end); i < sessions.count; i++) {
          if (sessions.endAt(i) !== end) break;
          found.push({ sessions, sortKey, start: sessions.startAt(i), end });
        }
      },
    );
    const { segmentMs } = this;
    return this.#walk(found.sort((a, b) => compareSessionsByEnd(segmentMs, a, b)));
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    const keyEnd = cursor.keyEnd - SESSION_SUFFIX_BYTES;
    if (keyStart < 0 || keyEnd < keyStart) return;
    const key = this.#keys.read(buffer, keyStart, keyEnd);
    const end = readTimestamp(buffer, keyEnd);
    const start = readTimestamp(buffer, keyEnd + BYTES_OF_TIMES);
    this.#set(key, start, end, this.#values.restored(cursor));
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#lastSessions = undefined;
    this.#sessions.clear();
    this.#byEnd.clear();
    this.#expiry.clear();
    this.#idle.clear();
    this.#observedStreamTime = -1;
  }

  /** The latest end that has expired. */
  get #expiryLimit(): number {
    return this.#observedStreamTime - this.#retentionMs;
  }

  #isExpired(end: number): boolean {
    return end <= this.#expiryLimit;
  }

  /** The latest end that is not kept; of a store like a persistent one, of the last segment that has expired. */
  get #forgottenEnd(): number {
    return forgottenEnd(this.segmentMs, this.#expiryLimit);
  }

  /**
   * Before the store is written: if the changelog refuses the record, the store is as it was. What has
   * expired goes to the changelog all the same, as Kafka's does.
   */
  #log(
    key: K,
    start: number,
    end: number,
    stored: unknown,
    timestamp: number,
    headers: RecordHeaders | null | undefined,
  ): void {
    if (this.#changelog === null) return;
    const keyEnd = writeSessionKey(this.#keys, key, start, end);
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

  #observe(end: number): void {
    if (end <= this.#observedStreamTime) return;
    this.#observedStreamTime = end;
    const forgotten = this.#forgottenEnd;
    this.#expiry.advanceTo(forgotten);
    this.#byEnd.advanceTo(forgotten);
  }

  /** False if the store no longer keeps the session. */
  #set(key: K, start: number, end: number, stored: unknown): boolean {
    this.#observe(end);
    const forgotten = this.#forgottenEnd;
    if (end <= forgotten) return false;
    let sessions = this.#find(key);
    if (stored === null) {
      this.#remove(sessions, start, end);
      return true;
    }
    if (sessions === undefined) {
      const mapKey = this.#keys.mapKey(key);
      sessions = new KeySessions(this.#keys.own(key), mapKey, startOrder(this.segmentMs));
      this.#sessions.add(mapKey, sessions);
    }
    if (sessions.put(start, end, stored)) {
      if (sessions.count === 1) this.#idle.filled();
      // A session that grows is a new one with each record: the key is listed once.
      const { listedEnd } = sessions;
      if (listedEnd < 0 || listedEnd <= forgotten) this.#list(sessions);
      this.#byEnd.added(end, sessions);
    }
    return true;
  }

  #remove(sessions: KeySessions<K> | undefined, start: number, end: number): void {
    if (sessions?.remove(start, end) !== true) return;
    this.#byEnd.removed(end, sessions);
    if (sessions.isEmpty) this.#idle.emptied(sessions);
  }

  #find(key: K): KeySessions<K> | undefined {
    if (this.#lastSessions !== undefined && key === this.#lastKey) return this.#lastSessions;
    const sessions = this.#sessions.get(this.#keys.mapKey(key));
    if (sessions !== undefined && this.#remembersKey) {
      this.#lastKey = key;
      this.#lastSessions = sessions;
    }
    return sessions;
  }

  #list(sessions: KeySessions<K>): void {
    sessions.listedEnd = sessions.endAt(0);
    this.#expiry.add(sessions.listedEnd, sessions);
  }

  #forget(sessions: KeySessions<K>): void {
    this.#sessions.delete(sessions.mapKey);
    if (sessions === this.#lastSessions) this.#lastSessions = undefined;
  }

  #ofKey(key: K, earliestEnd: number, latestStart: number): readonly SessionEntry<K, V>[] {
    const sessions = this.#find(key);
    if (sessions === undefined) return NONE;
    let i = sessions.indexOfEnd(Math.max(earliestEnd, this.#expiryLimit + 1));
    if (i === sessions.count) return NONE;
    const found: SessionEntry<K, V>[] = [];
    for (; i < sessions.count; i++) {
      if (sessions.startAt(i) <= latestStart) found.push(this.#view(sessions, i));
      else if (sessions.startsAscend) break;
    }
    return found;
  }

  /** Live sessions of a range of keys and times, in the store's order. */
  #scan(first: K | null, last: K | null, earliestEnd: number, latestStart: number): Found<K>[] {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : this.#keys.latin1(last);
    const found: Found<K>[] = [];
    if (isInvalidRange(lowest, highest, this.name, this.#context?.logger)) return found;
    const fromEnd = Math.max(earliestEnd, this.#expiryLimit + 1);
    for (const sessions of this.#sessions.values()) {
      const sortKey = this.#sortKey(sessions);
      if (lowest !== null && sortKey < lowest) continue;
      if (highest !== null && sortKey > highest) continue;
      for (let i = sessions.indexOfEnd(fromEnd); i < sessions.count; i++) {
        const start = sessions.startAt(i);
        if (start <= latestStart) found.push({ sessions, sortKey, start, end: sessions.endAt(i) });
      }
    }
    const { segmentMs } = this;
    return found.sort((a, b) => compareSessions(segmentMs, a, b));
  }

  *#walk(found: readonly Found<K>[]): IterableIterator<SessionEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (const { sessions, start, end } of found) {
        const index = sessions.indexOf(start, end);
        if (index >= 0) yield this.#view(sessions, index);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #view(sessions: KeySessions<K>, index: number): SessionEntry<K, V> {
    const key = new Windowed(sessions.key, sessions.startAt(index), sessions.endAt(index));
    const stored = sessions.storedAt(index);
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value } : { key, value, headers };
  }

  #sortKey(sessions: KeySessions<K>): string {
    sessions.sortKey ??= this.#keys.latin1(sessions.key);
    return sessions.sortKey;
  }
}
