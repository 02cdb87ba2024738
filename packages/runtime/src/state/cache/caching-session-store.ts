import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import type { CachedStore, FlushListener } from '../cached-store.ts';
import { CACHE_SESSION_KEY_BYTES } from '../limits.ts';
import { HitRatio, type MeasuredStore, type StoreMeasures } from '../measures.ts';
import { KeyCodec, type MapKey } from '../memory/key-codec.ts';
import type { HeaderKeeping } from '../memory/value-codec.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import {
  compareSessions,
  compareSessionsByEnd,
  startOrder,
  type OrderedSession,
} from '../session-order.ts';
import type { SessionEntry, SessionStore } from '../session-store.ts';
import type { StoreContext } from '../store.ts';
import { CacheEntry, type CachedChange } from './cache-entry.ts';
import { CachedSessions } from './cached-sessions.ts';
import { CachedValues } from './cached-values.ts';
import { mergeCached } from './merge-cached.ts';
import { StoreCache, type CacheOwner } from './store-cache.ts';

type Entry<K> = CacheEntry<Windowed<K>>;
type Compare = (segmentMs: number, left: OrderedSession, right: OrderedSession) => number;

/**
 * A session store with a record cache before it, as the window store's: it knows no expiry. A session
 * that grows is deleted under its former end and written under its new one; what was never in the store
 * goes nowhere when it is deleted, so of a session that grew many times only the last one is seen.
 */
export class CachingSessionStore<K, V>
  implements SessionStore<K, V>, CachedStore<Windowed<K>, V>, CacheOwner<Windowed<K>>
{
  readonly name: string;
  readonly #inner: SessionStore<K, V>;
  readonly #keys: KeyCodec<K>;
  readonly #values: CachedValues<V>;
  readonly #sessions = new Map<MapKey, CachedSessions<K>>();
  #cache: StoreCache<Windowed<K>> | null = null;
  #listener: FlushListener<Windowed<K>, V> | null = null;
  #sendsOldValues = false;
  readonly hitRatio = new HitRatio();

  constructor(
    inner: SessionStore<K, V>,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    headers: HeaderKeeping,
  ) {
    this.name = inner.name;
    this.#inner = inner;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new CachedValues(valueSerde, inner.name, { isTimestamped: false, headers });
  }

  get measures(): StoreMeasures | undefined {
    return (this.#inner as MeasuredStore).measures;
  }

  get cachedBytes(): number {
    return this.#cache?.bytes ?? 0;
  }

  get isPersistent(): boolean {
    return this.#inner.isPersistent;
  }

  get isOpen(): boolean {
    return this.#inner.isOpen;
  }

  get segmentMs(): number {
    return this.#inner.segmentMs;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const caching = context.caching ?? null;
    if (caching === null) {
      throw new InvariantError(`The store ${this.name} is cached, but its task has no cache.`);
    }
    this.#cache = new StoreCache<Windowed<K>>(caching, this);
    this.#inner.open(context, changelog);
  }

  setFlushListener(listener: FlushListener<Windowed<K>, V>, sendsOldValues: boolean): void {
    this.#listener = listener;
    this.#sendsOldValues = sendsOldValues;
  }

  put(
    { key, start, end }: Windowed<K>,
    aggregate: V | null,
    timestamp = -1,
    headers: RecordHeaders | null = null,
  ): void {
    const stored = aggregate === null ? null : this.#values.toStored(aggregate, headers);
    const valueBytes = this.#values.bytesOf(stored);
    const sessions = this.#ofKey(key);
    let entry = sessions.get(start, end);
    const isNew = entry === undefined;
    if (entry === undefined) {
      const keyBytes = this.#keys.write(key) + CACHE_SESSION_KEY_BYTES;
      entry = new CacheEntry(new Windowed(sessions.key, start, end), sessions.mapKey, keyBytes);
      entry.stored = stored;
      sessions.add(entry);
    } else if ((entry.stored === null) === (stored === null)) {
      entry.stored = stored;
    } else {
      sessions.remove(entry);
      entry.stored = stored;
      sessions.add(entry);
    }
    entry.timestamp = timestamp;
    entry.headers = headers;
    const cache = this.#open();
    cache.written(entry, isNew, valueBytes);
    // Without nodes to call, letting go is never asynchronous, and nobody else asks for it.
    if (this.#listener === null) void cache.evict();
  }

  remove(sessionKey: Windowed<K>, timestamp?: number, headers?: RecordHeaders | null): void {
    this.put(sessionKey, null, timestamp, headers);
  }

  evict(): Promise<void> | undefined {
    return this.#open().evict();
  }

  flush(): Promise<void> | undefined {
    this.hitRatio.endInterval();
    return this.#open().flush();
  }

  letGo({
    entry,
    stored,
    timestamp,
    headers,
  }: CachedChange<Windowed<K>>): Promise<void> | undefined {
    const { key: sessionKey } = entry;
    const value = stored === null ? null : this.#values.fromStored(stored);
    const listener = this.#listener;
    if (listener === null) {
      this.#inner.put(sessionKey, value, timestamp, headers);
      return undefined;
    }
    const { key, start, end } = sessionKey;
    const old =
      value === null || this.#sendsOldValues ? this.#inner.fetchSession(key, start, end) : null;
    if (value === null && old === null) return undefined;
    this.#inner.put(sessionKey, value, timestamp, headers);
    return listener(sessionKey, value, this.#sendsOldValues ? old : null, timestamp, headers);
  }

  forget(entry: Entry<K>): void {
    entry.isRemoved = true;
    const sessions = this.#sessions.get(entry.mapKey);
    sessions?.remove(entry);
    if (sessions?.isEmpty === true) this.#sessions.delete(entry.mapKey);
  }

  fetchSession(key: K, start: number, end: number): V | null {
    const entry = this.#sessions.get(this.#keys.mapKey(key))?.get(start, end);
    if (entry === undefined) {
      this.hitRatio.misses++;
      return this.#inner.fetchSession(key, start, end);
    }
    this.hitRatio.hits++;
    this.#open().touch(entry);
    return entry.stored === null ? null : this.#values.fromStored(entry.stored);
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
    const stored = this.#inner.findSessions(key, earliestEnd, latestStart);
    const sessions = this.#sessions.get(this.#keys.mapKey(key));
    if (sessions === undefined) return stored;
    return this.#mergedOfKey(sessions, sessions.find(earliestEnd, latestStart), stored, 1);
  }

  backwardFindSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    const stored = this.#inner.backwardFindSessions(key, earliestEnd, latestStart);
    const sessions = this.#sessions.get(this.#keys.mapKey(key));
    if (sessions === undefined) return stored;
    const cached = sessions.find(earliestEnd, latestStart).reverse();
    return this.#mergedOfKey(sessions, cached, stored, -1);
  }

  findSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    const cached = this.#sorted(first, last, compareSessions, (sessions) =>
      sessions.find(earliestEnd, latestStart),
    );
    const stored = this.#inner.findSessionsRange(first, last, earliestEnd, latestStart);
    return this.#merged(cached, stored, compareSessions, 1);
  }

  backwardFindSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    const cached = this.#sorted(first, last, compareSessions, (sessions) =>
      sessions.find(earliestEnd, latestStart),
    ).reverse();
    const stored = this.#inner.backwardFindSessionsRange(first, last, earliestEnd, latestStart);
    return this.#merged(cached, stored, compareSessions, -1);
  }

  findSessionsByEnd(earliestEnd: number, latestEnd: number): IterableIterator<SessionEntry<K, V>> {
    const cached = this.#sorted(null, null, compareSessionsByEnd, (sessions) =>
      sessions.endingBetween(earliestEnd, latestEnd),
    );
    const stored = this.#inner.findSessionsByEnd(earliestEnd, latestEnd);
    return this.#merged(cached, stored, compareSessionsByEnd, 1);
  }

  restore(cursor: RecordCursor): void {
    this.#inner.restore(cursor);
  }

  committedOffset(): bigint | null {
    return this.#inner.committedOffset();
  }

  commit(changelogOffset: bigint | null): void {
    this.#inner.commit(changelogOffset);
  }

  close(): void {
    this.#cache?.clear();
    this.#sessions.clear();
    this.#inner.close();
  }

  #open(): StoreCache<Windowed<K>> {
    return this.#cache as StoreCache<Windowed<K>>;
  }

  /** The key's, made if there are none. */
  #ofKey(key: K): CachedSessions<K> {
    const mapKey = this.#keys.mapKey(key);
    let sessions = this.#sessions.get(mapKey);
    if (sessions === undefined) {
      sessions = new CachedSessions(this.#keys.own(key), mapKey, startOrder(this.segmentMs));
      this.#sessions.set(mapKey, sessions);
    }
    return sessions;
  }

  #sorted(
    first: K | null,
    last: K | null,
    compare: Compare,
    found: (sessions: CachedSessions<K>) => Entry<K>[],
  ): Entry<K>[] {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : this.#keys.latin1(last);
    const entries: Entry<K>[] = [];
    for (const sessions of this.#sessions.values()) {
      const sortKey = this.#keys.latin1(sessions.key);
      if (lowest !== null && sortKey < lowest) continue;
      if (highest !== null && sortKey > highest) continue;
      for (const entry of found(sessions)) {
        entry.sortKey = sortKey;
        entries.push(entry);
      }
    }
    return entries.sort((a, b) => compare(this.segmentMs, orderOf(a), orderOf(b)));
  }

  #merged(
    cached: readonly Entry<K>[],
    stored: IterableIterator<SessionEntry<K, V>>,
    compare: Compare,
    direction: 1 | -1,
  ): IterableIterator<SessionEntry<K, V>> {
    if (this.#sessions.size === 0) return stored;
    const visible = this.#current(stored, ({ key }) => this.#sessions.get(this.#keys.mapKey(key)));
    return mergeCached(cached, visible, {
      compare: (entry, { key: { key, start, end } }) => {
        const row = { sortKey: this.#keys.latin1(key), start, end };
        return direction * compare(this.segmentMs, orderOf(entry), row);
      },
      view: (entry) => this.#shown(entry),
    });
  }

  #mergedOfKey(
    sessions: CachedSessions<K>,
    cached: readonly Entry<K>[],
    stored: IterableIterator<SessionEntry<K, V>>,
    direction: 1 | -1,
  ): IterableIterator<SessionEntry<K, V>> {
    const order = startOrder(this.segmentMs);
    return mergeCached(
      cached,
      this.#current(stored, () => sessions),
      {
        compare: ({ key: ours }, { key: theirs }) =>
          direction * (ours.end - theirs.end || order * (ours.start - theirs.start)),
        view: (entry) => this.#shown(entry),
      },
    );
  }

  /** Rows of the store, without those that are deleted in the cache; what it has instead comes as it is there. */
  *#current(
    stored: Iterable<SessionEntry<K, V>>,
    sessionsOf: (key: Windowed<K>) => CachedSessions<K> | undefined,
  ): IterableIterator<SessionEntry<K, V>> {
    for (const row of stored) {
      const { start, end } = row.key;
      const entry = sessionsOf(row.key)?.get(start, end);
      if (entry === undefined) yield row;
      else if (entry.stored !== null) yield this.#viewOf(entry);
    }
  }

  #shown(entry: Entry<K>): SessionEntry<K, V> | null {
    // One that had to make room meanwhile is in the store now.
    if (entry.isRemoved) return this.#again(entry.key);
    return entry.stored === null ? null : this.#viewOf(entry);
  }

  #viewOf({ key, stored }: Entry<K>): SessionEntry<K, V> {
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value } : { key, value, headers };
  }

  #again({ key, start, end }: Windowed<K>): SessionEntry<K, V> | null {
    for (const row of this.findSessions(key, end, start)) {
      if (row.key.start === start && row.key.end === end) return row;
    }
    return null;
  }
}

function orderOf({ sortKey, key }: CacheEntry<Windowed<unknown>>): OrderedSession {
  return { sortKey: sortKey as string, start: key.start, end: key.end };
}
