import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { isInvalidRange } from '../invalid-range.ts';
import { CLEAN_ROWS_MAX_BYTES } from '../limits.ts';
import { StoreMeasures } from '../measures.ts';
import { KeyCodec } from '../memory/key-codec.ts';
import { ValueCodec, type HeaderKeeping } from '../memory/value-codec.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import { SESSION_SUFFIX_BYTES, writeSessionKey } from '../session-key.ts';
import { compareSessionsByEnd, forgottenEnd, type OrderedSession } from '../session-order.ts';
import type { SessionEntry, SessionStore } from '../session-store.ts';
import type { PersistentStore, StoreContext } from '../store.ts';
import { environmentOf } from './environment-of.ts';
import type { StateEnvironment } from './environment.ts';
import { textKeyedCodec } from './keyed-codec.ts';
import type { RowCodec } from './layered-table.ts';
import { RowFormat } from './row-format.ts';
import type { Row } from './row.ts';
import { SessionEndIndex } from './session-end-index.ts';
import { SessionLists, type SessionList } from './session-lists.ts';
import {
  highestSessionRow,
  isInSessionRange,
  lowestSessionRow,
  sessionEndOf,
  sessionKeyOf,
  sessionStartOf,
  type SessionRange,
} from './session-row-key.ts';
import { readStreamTime, writeStreamTime } from './stream-time.ts';
import { WindowSegments } from './window-segments.ts';

const NONE: readonly never[] = [];

export interface PersistentSessionStoreOptions {
  readonly retentionMs: number;
  readonly segmentMs: number;
  readonly headers?: HeaderKeeping;
  /** Whether an index by end is kept. Default false: who asks by end goes through whole segments. */
  readonly isTimeOrdered?: boolean;
}

/** A row that was found by its end; which key, start and end it is. */
interface Found extends OrderedSession {
  readonly rowKey: string;
}

/**
 * A session store on disk, in segments by the sessions' ends, as the window store's by their starts.
 * After a restart it goes on from the changelog offset and the stream time that its contents stand at.
 */
export class PersistentSessionStore<K, V> implements SessionStore<K, V>, PersistentStore {
  readonly name: string;
  readonly isPersistent = true;
  readonly segmentMs: number;
  readonly measures = new StoreMeasures('lmdb-session-state');
  isOpen = false;

  readonly #retentionMs: number;
  readonly #isTimeOrdered: boolean;
  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #codec: RowCodec<string>;
  #environment: StateEnvironment | null = null;
  #segments: WindowSegments | null = null;
  #index: SessionEndIndex | null = null;
  readonly #lists = new SessionLists();
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;
  #observedStreamTime = -1;
  #committedOffset: bigint | null = null;
  #committedStreamTime = -1;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: PersistentSessionStoreOptions,
  ) {
    this.name = name;
    this.segmentMs = options.segmentMs;
    this.#retentionMs = options.retentionMs;
    this.#isTimeOrdered = options.isTimeOrdered ?? false;
    this.#keys = new KeyCodec(keySerde, SESSION_SUFFIX_BYTES);
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.#codec = textKeyedCodec(new RowFormat(this.#values));
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const environment = environmentOf(context, this);
    const { segmentMs } = this;
    this.#environment = environment;
    this.#segments = new WindowSegments({
      environment,
      storeName: this.name,
      segmentMs,
      codec: this.#codec,
      cleanBytesMax: CLEAN_ROWS_MAX_BYTES / (Math.ceil(this.#retentionMs / segmentMs) + 1),
    });
    this.#index = this.#isTimeOrdered
      ? new SessionEndIndex(environment, this.name, segmentMs)
      : null;
    this.#committedOffset = environment.offset(this.name);
    this.#observedStreamTime = readStreamTime(environment, this.name);
    this.#committedStreamTime = this.#observedStreamTime;
    this.#expireSegments();
    if (this.#index?.isComplete === false) this.#fill(this.#index);
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
    const rowKey = this.#logged(key, start, end, stored, timestamp, headers);
    if (!this.#set(rowKey, end, stored)) {
      this.#context?.recordDropped(this.name, 'the session store no longer keeps its session');
    }
  }

  remove({ key, start, end }: Windowed<K>, timestamp = -1, headers?: RecordHeaders | null): void {
    this.#set(this.#logged(key, start, end, null, timestamp, headers), end, null);
  }

  fetchSession(key: K, start: number, end: number): V | null {
    const segment = this.#isExpired(end) ? undefined : this.#open.at(end);
    const row = segment?.rows.find(this.#rowKey(key, start, end)) ?? null;
    return row === null ? null : this.#values.fromStored(row.stored);
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
    const found = this.#ofKey(key, earliestEnd, latestStart);
    return found.length === 0 ? NONE.values() : this.#rows(found, false);
  }

  backwardFindSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    const found = this.#ofKey(key, earliestEnd, latestStart);
    return found.length === 0 ? NONE.values() : this.#rows([...found].reverse(), false);
  }

  findSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.#walk(this.#rangeOf(first, last, earliestEnd, latestStart), false);
  }

  backwardFindSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.#walk(this.#rangeOf(first, last, earliestEnd, latestStart), true);
  }

  findSessionsByEnd(earliestEnd: number, latestEnd: number): IterableIterator<SessionEntry<K, V>> {
    const earliest = Math.max(0, earliestEnd, this.#forgottenEnd + 1);
    const latest = Math.min(latestEnd, Number.MAX_SAFE_INTEGER);
    if (latest < earliest) return NONE.values();
    return this.#rows(
      this.#index?.between(earliest, latest) ?? this.#endingBetween(earliest, latest),
      true,
    );
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart, keyEnd } = cursor;
    if (keyStart < 0 || keyEnd - keyStart < SESSION_SUFFIX_BYTES) return;
    const rowKey = buffer.toString('latin1', keyStart, keyEnd);
    this.#set(rowKey, sessionEndOf(rowKey), this.#values.restored(cursor));
  }

  committedOffset(): bigint | null {
    return this.#committedOffset;
  }

  commit(changelogOffset: bigint | null): void {
    this.#committedStreamTime = this.#observedStreamTime;
    this.#expireSegments();
    this.#open.commit();
    this.#index?.commit();
    if (changelogOffset !== null) this.#committedOffset = changelogOffset;
  }

  get unspilledBytes(): number {
    return this.#open.unspilledBytes + (this.#index?.unspilledBytes ?? 0);
  }

  async spill(): Promise<void> {
    const environment = this.#environment as StateEnvironment;
    const segments = this.#open;
    const index = this.#index;
    const offset = this.#committedOffset;
    const streamTime = this.#committedStreamTime;
    if (index === null) await SessionEndIndex.drop(environment, this.name);
    await segments.spill();
    await index?.spill();
    await writeStreamTime(environment, this.name, streamTime);
    if (offset !== null) await environment.setOffset(this.name, offset);
    await segments.dropExpired();
  }

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#segments?.clear();
    this.#segments = null;
    this.#index?.clear();
    this.#index = null;
    this.#lists.clear();
    this.#environment = null;
    this.#observedStreamTime = -1;
  }

  get #open(): WindowSegments {
    if (this.#segments === null) throw new InvariantError(`The store ${this.name} is not open`);
    return this.#segments;
  }

  /** The latest end that has expired. */
  get #expiryLimit(): number {
    return this.#observedStreamTime - this.#retentionMs;
  }

  #isExpired(end: number): boolean {
    return end <= this.#expiryLimit;
  }

  /** The latest end of the segments that have expired as a whole. */
  get #forgottenEnd(): number {
    return forgottenEnd(this.segmentMs, this.#expiryLimit);
  }

  /** Only by a committed time: after a failure records may be processed again from before it. */
  #expireSegments(): void {
    const segments = this.#open;
    const firstLive = segments.numberOf(this.#committedStreamTime - this.#retentionMs);
    segments.expireBefore(firstLive);
    this.#index?.expireBefore(firstLive);
  }

  /** Everything that the store has, once, when it had no index before. */
  #fill(index: SessionEndIndex): void {
    for (const number of this.#open.between(0, Number.MAX_SAFE_INTEGER)) {
      for (const { key } of this.#open.get(number)?.rows.range(null, null, false) ?? []) {
        index.put(key);
      }
    }
    index.commit();
  }

  /**
   * Writes to the changelog first: if it refuses the record, the store is as it was. What has expired
   * goes there all the same, as to Kafka's.
   */
  #logged(
    key: K,
    start: number,
    end: number,
    stored: unknown,
    timestamp: number,
    headers: RecordHeaders | null | undefined,
  ): string {
    const keyEnd = writeSessionKey(this.#keys, key, start, end);
    const { buffer } = this.#keys;
    const rowKey = buffer.toString('latin1', 0, keyEnd);
    const carried = this.#values.changelogHeaders(stored, headers);
    this.#changelog?.append(
      timestamp,
      buffer,
      0,
      keyEnd,
      stored,
      this.#values.storedSerde,
      carried,
    );
    return rowKey;
  }

  /** False if the store no longer keeps the session: its whole segment has expired. */
  #set(rowKey: string, end: number, stored: unknown): boolean {
    if (end > this.#observedStreamTime) this.#observedStreamTime = end;
    if (end <= this.#forgottenEnd) return false;
    const segments = this.#open;
    const list = this.#lists.get(sessionKeyOf(rowKey));
    if (stored === null) {
      segments.at(end)?.rows.put(rowKey, null, -1);
      this.#index?.remove(rowKey);
      if (list !== undefined) this.#lists.remove(list, sessionStartOf(rowKey), end);
      return true;
    }
    segments.atOrMade(end).rows.put(rowKey, stored, -1);
    this.#index?.put(rowKey);
    if (list !== undefined) this.#lists.put(list, sessionStartOf(rowKey), end, rowKey);
    return true;
  }

  #rowKey(key: K, start: number, end: number): string {
    const keyEnd = writeSessionKey(this.#keys, key, start, end);
    return this.#keys.buffer.toString('latin1', 0, keyEnd);
  }

  #rangeOf(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): SessionRange | null {
    const lowest = first === null ? null : this.#keys.latin1(first);
    const highest = last === null ? null : first === last ? lowest : this.#keys.latin1(last);
    if (isInvalidRange(lowest, highest, this.name, this.#context?.logger)) return null;
    return {
      first: lowest,
      last: highest,
      earliestEnd: Math.max(0, earliestEnd, this.#expiryLimit + 1),
      latestStart,
    };
  }

  /** Row keys of one key's live sessions. */
  #ofKey(key: K, earliestEnd: number, latestStart: number): readonly string[] {
    const text = this.#keys.latin1(key);
    const list = this.#lists.get(text) ?? this.#listed(text);
    this.#lists.expire(list, this.#expiryLimit);
    let i = list.indexOfEnd(earliestEnd);
    if (i === list.count) return NONE;
    const found: string[] = [];
    for (; i < list.count; i++) {
      if (list.startAt(i) <= latestStart) found.push(list.storedAt(i) as string);
      else if (list.startsAscend) break;
    }
    return found;
  }

  /** The key's sessions, found on disk and among what waits for it. */
  #listed(text: string): SessionList {
    const list = this.#lists.add(text);
    const range = { first: text, last: text, earliestEnd: 0, latestStart: Number.MAX_SAFE_INTEGER };
    const lowest = lowestSessionRow(range);
    const highest = highestSessionRow(range);
    for (const number of this.#open.between(this.#expiryLimit + 1, Number.MAX_SAFE_INTEGER)) {
      for (const { key } of this.#open.get(number)?.rows.range(lowest, highest, false) ?? []) {
        // A longer key may begin with this one.
        if (key.length !== text.length + SESSION_SUFFIX_BYTES) continue;
        this.#lists.put(list, sessionStartOf(key), sessionEndOf(key), key);
      }
    }
    return list;
  }

  /** The sessions of these rows, as far as they are still there when their turn comes. */
  *#rows(rowKeys: Iterable<string>, withExpired: boolean): IterableIterator<SessionEntry<K, V>> {
    this.measures.openIterators++;
    try {
      for (const rowKey of rowKeys) {
        const end = sessionEndOf(rowKey);
        const limit = withExpired ? this.#forgottenEnd : this.#expiryLimit;
        const row = end <= limit ? null : this.#open.at(end)?.rows.find(rowKey);
        if (row !== null && row !== undefined) yield this.#view(row);
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  /** From segment to segment; one that is dropped in between has nothing more. */
  *#walk(range: SessionRange | null, isReverse: boolean): IterableIterator<SessionEntry<K, V>> {
    if (range === null) return;
    const numbers = this.#open.between(range.earliestEnd, Number.MAX_SAFE_INTEGER);
    if (isReverse) numbers.reverse();
    const lowest = lowestSessionRow(range);
    const highest = highestSessionRow(range);
    this.measures.openIterators++;
    try {
      for (const number of numbers) {
        const segment = this.#open.get(number);
        if (segment === undefined) continue;
        for (const row of segment.rows.range(lowest, highest, isReverse)) {
          const isLive = !this.#isExpired(sessionEndOf(row.key));
          if (isLive && isInSessionRange(row.key, range)) yield this.#view(row);
        }
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  /** Without an index: all rows of the segments are looked at. */
  #endingBetween(earliest: number, latest: number): string[] {
    const found: Found[] = [];
    for (const number of this.#open.between(earliest, latest)) {
      for (const { key: rowKey } of this.#open.get(number)?.rows.range(null, null, false) ?? []) {
        const end = sessionEndOf(rowKey);
        if (end < earliest || end > latest) continue;
        const start = sessionStartOf(rowKey);
        found.push({ rowKey, sortKey: sessionKeyOf(rowKey), start, end });
      }
    }
    found.sort((a, b) => compareSessionsByEnd(this.segmentMs, a, b));
    return found.map(({ rowKey }) => rowKey);
  }

  #view({ key: rowKey, stored }: Row<string>): SessionEntry<K, V> {
    const bytes = Buffer.from(rowKey, 'latin1');
    const inner = this.#keys.read(bytes, 0, bytes.length - SESSION_SUFFIX_BYTES);
    const key = new Windowed(inner, sessionStartOf(rowKey), sessionEndOf(rowKey));
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value } : { key, value, headers };
  }
}
