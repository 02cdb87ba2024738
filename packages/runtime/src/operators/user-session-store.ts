import type { RecordHeaders } from '@millrace/protocol';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { SessionEntry, SessionStore } from '../state/session-store.ts';
import { ProcessorUsageError } from './processor-usage-error.ts';
import { UserStore } from './user-store.ts';

/** A session store as a processor sees it. */
export class UserSessionStore<K, V>
  extends UserStore<SessionStore<K, V>>
  implements SessionStore<K, V>
{
  get segmentMs(): number {
    return this.inner.segmentMs;
  }

  /** @throws ProcessorUsageError when the session cannot be: a negative start, or an end before it */
  put(
    sessionKey: Windowed<K>,
    aggregate: V | null,
    timestamp: number = this.record.recordTimestamp,
    headers: RecordHeaders | null = this.record.recordHeaders,
  ): void {
    this.#check(sessionKey);
    this.inner.put(sessionKey, aggregate, timestamp, headers);
  }

  /** @throws ProcessorUsageError when the session cannot be: a negative start, or an end before it */
  remove(
    sessionKey: Windowed<K>,
    timestamp: number = this.record.recordTimestamp,
    headers: RecordHeaders | null = this.record.recordHeaders,
  ): void {
    this.#check(sessionKey);
    this.inner.remove(sessionKey, timestamp, headers);
  }

  fetchSession(key: K, start: number, end: number): V | null {
    return this.inner.fetchSession(key, start, end);
  }

  fetch(key: K): IterableIterator<SessionEntry<K, V>> {
    return this.inner.fetch(key);
  }

  backwardFetch(key: K): IterableIterator<SessionEntry<K, V>> {
    return this.inner.backwardFetch(key);
  }

  fetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>> {
    return this.inner.fetchRange(first, last);
  }

  backwardFetchRange(first: K | null, last: K | null): IterableIterator<SessionEntry<K, V>> {
    return this.inner.backwardFetchRange(first, last);
  }

  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.inner.findSessions(key, earliestEnd, latestStart);
  }

  backwardFindSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.inner.backwardFindSessions(key, earliestEnd, latestStart);
  }

  findSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.inner.findSessionsRange(first, last, earliestEnd, latestStart);
  }

  backwardFindSessionsRange(
    first: K | null,
    last: K | null,
    earliestEnd: number,
    latestStart: number,
  ): IterableIterator<SessionEntry<K, V>> {
    return this.inner.backwardFindSessionsRange(first, last, earliestEnd, latestStart);
  }

  findSessionsByEnd(earliestEnd: number, latestEnd: number): IterableIterator<SessionEntry<K, V>> {
    return this.inner.findSessionsByEnd(earliestEnd, latestEnd);
  }

  /** What is written with other times could not be read from the changelog again. */
  #check({ start, end }: Windowed<K>): void {
    if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) {
      return;
    }
    throw new ProcessorUsageError(
      `The store ${this.name} was given a session from ${String(start)} to ${String(end)}. ` +
        'Its start must be 0 or later, its end not before its start, both whole milliseconds.',
      { context: { store: this.name } },
    );
  }
}
