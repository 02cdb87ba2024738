import type { Windowed } from '../../serdes/windowed-key.ts';
import type { MapKey } from '../memory/key-codec.ts';
import type { CacheEntry } from './cache-entry.ts';

type SessionEntry<K> = CacheEntry<Windowed<K>>;

/**
 * The cached sessions of one key: those that are there, sorted by end, then by start, and apart from
 * them those that are deleted. A session that grows leaves a deleted one behind with each record.
 */
export class CachedSessions<K> {
  readonly key: K;
  readonly mapKey: MapKey;
  /** -1: of two with the same end, the later start comes first. */
  readonly #startOrder: 1 | -1;
  readonly #live: SessionEntry<K>[] = [];
  /** By end. */
  readonly #deleted = new Map<number, SessionEntry<K>[]>();

  constructor(key: K, mapKey: MapKey, startOrder: 1 | -1) {
    this.key = key;
    this.mapKey = mapKey;
    this.#startOrder = startOrder;
  }

  get isEmpty(): boolean {
    return this.#live.length === 0 && this.#deleted.size === 0;
  }

  get(start: number, end: number): SessionEntry<K> | undefined {
    const entry = this.#live[this.#lowerBound(start, end)];
    if (entry?.key.start === start && entry.key.end === end) return entry;
    return this.#deleted.get(end)?.find(({ key }) => key.start === start);
  }

  /** Among those that are there or those that are deleted, by what is stored. */
  add(entry: SessionEntry<K>): void {
    const { start, end } = entry.key;
    if (entry.stored !== null) {
      this.#live.splice(this.#lowerBound(start, end), 0, entry);
      return;
    }
    const known = this.#deleted.get(end);
    if (known === undefined) this.#deleted.set(end, [entry]);
    else known.push(entry);
  }

  /** To be called before what is stored changes between null and something. */
  remove(entry: SessionEntry<K>): void {
    const { start, end } = entry.key;
    if (entry.stored !== null) {
      this.#live.splice(this.#lowerBound(start, end), 1);
      return;
    }
    const left = this.#deleted.get(end)?.filter((other) => other !== entry) ?? [];
    if (left.length === 0) this.#deleted.delete(end);
    else this.#deleted.set(end, left);
  }

  find(earliestEnd: number, latestStart: number): SessionEntry<K>[] {
    const found: SessionEntry<K>[] = [];
    for (let i = this.#lowerBoundOfEnd(earliestEnd); i < this.#live.length; i++) {
      const entry = this.#live[i] as SessionEntry<K>;
      if (entry.key.start <= latestStart) found.push(entry);
    }
    return found;
  }

  endingBetween(earliestEnd: number, latestEnd: number): SessionEntry<K>[] {
    const found: SessionEntry<K>[] = [];
    for (let i = this.#lowerBoundOfEnd(earliestEnd); i < this.#live.length; i++) {
      const entry = this.#live[i] as SessionEntry<K>;
      if (entry.key.end > latestEnd) break;
      found.push(entry);
    }
    return found;
  }

  /** Index of the first entry that does not come before this session. */
  #lowerBound(start: number, end: number): number {
    const live = this.#live;
    let index = this.#lowerBoundOfEnd(end);
    for (; index < live.length; index++) {
      const { key } = live[index] as SessionEntry<K>;
      if (key.end !== end || this.#startOrder * (key.start - start) >= 0) break;
    }
    return index;
  }

  /** Index of the first entry that does not end before `end`. */
  #lowerBoundOfEnd(end: number): number {
    const live = this.#live;
    let low = 0;
    let high = live.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((live[middle] as SessionEntry<K>).key.end < end) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
