import { SESSION_LISTS_LOOKS, SESSION_LISTS_MAX_ENTRIES } from '../limits.ts';
import { BigMap } from '../memory/big-map.ts';
import { KeySessions } from '../memory/key-sessions.ts';

/** One key's sessions; what is stored of each is the key of its row. */
export class SessionList extends KeySessions<string> {
  /** Asked for since the last look: not to be forgotten yet. */
  isUsed = true;
}

/**
 * Which sessions a key has, of the keys that were asked for lately. A session that grows leaves a row
 * behind that is deleted, but not yet from disk; to find the key's sessions among them would take
 * longer with each record.
 */
export class SessionLists {
  readonly #lists = new BigMap<string, SessionList>();
  /** Keys and sessions. */
  #entryCount = 0;
  #last: SessionList | null = null;
  #hand: IterableIterator<SessionList> | null = null;

  get(key: string): SessionList | undefined {
    if (this.#last?.key === key) return this.#last;
    const list = this.#lists.get(key);
    if (list === undefined) return undefined;
    list.isUsed = true;
    this.#last = list;
    return list;
  }

  /** An empty one, of a key that has none yet. */
  add(key: string): SessionList {
    const list = new SessionList(key, key, 1);
    this.#lists.add(key, list);
    this.#last = list;
    this.#entryCount++;
    return list;
  }

  put(list: SessionList, start: number, end: number, rowKey: string): void {
    if (!list.put(start, end, rowKey)) return;
    this.#entryCount++;
    this.#forgetSome();
  }

  remove(list: SessionList, start: number, end: number): void {
    if (list.remove(start, end)) this.#entryCount--;
  }

  /** Forgets the key's sessions that end at or before `limit`. */
  expire(list: SessionList, limit: number): void {
    const { count } = list;
    list.expire(limit);
    this.#entryCount -= count - list.count;
  }

  clear(): void {
    this.#lists.clear();
    this.#entryCount = 0;
    this.#last = null;
    this.#hand = null;
  }

  /** Goes round all keys like the hand of a clock; the one in hand stays, however long it is. */
  #forgetSome(): void {
    for (let looks = 0; looks < SESSION_LISTS_LOOKS; looks++) {
      if (this.#entryCount <= SESSION_LISTS_MAX_ENTRIES) return;
      this.#hand ??= this.#lists.values();
      const next: IteratorResult<SessionList, unknown> = this.#hand.next();
      if (next.done === true) {
        this.#hand = null;
        continue;
      }
      const list = next.value;
      if (list === this.#last) continue;
      if (list.isUsed) {
        list.isUsed = false;
        continue;
      }
      this.#lists.delete(list.key);
      this.#entryCount -= 1 + list.count;
    }
  }
}
