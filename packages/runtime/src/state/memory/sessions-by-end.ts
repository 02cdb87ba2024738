import { sortedMap, type SortedMap } from '../sorted-map.ts';
import type { KeySessions } from './key-sessions.ts';

/**
 * Which keys have sessions that end at a time. Made only once somebody asks by end, and kept in order
 * from then on, so that a store which is only asked for keys pays nothing.
 */
export class SessionsByEnd<K> {
  readonly #all: () => Iterable<KeySessions<K>>;
  #ends: SortedMap<number, Set<KeySessions<K>>> | null = null;

  constructor(all: () => Iterable<KeySessions<K>>) {
    this.#all = all;
  }

  /** The key has a session more that ends then. */
  added(end: number, sessions: KeySessions<K>): void {
    if (this.#ends !== null) list(this.#ends, end, sessions);
  }

  /** The key has one less. */
  removed(end: number, sessions: KeySessions<K>): void {
    const keys = this.#ends?.get(end);
    if (keys === undefined || sessions.hasEnd(end)) return;
    keys.delete(sessions);
    if (keys.size === 0) this.#ends?.delete(end);
  }

  /** Everything at or before `limit` has expired. */
  advanceTo(limit: number): void {
    const ends = this.#ends;
    if (ends === null) return;
    for (let end = ends.minKey(); end !== undefined && end <= limit; end = ends.minKey()) {
      ends.delete(end);
    }
  }

  /** Calls `visit` for each end in the range, both included, and each key with a session that ends then. */
  forEach(from: number, to: number, visit: (end: number, sessions: KeySessions<K>) => void): void {
    this.#ends ??= this.#made();
    this.#ends.forRange(from, to, true, (end, keys) => {
      for (const sessions of keys) visit(end, sessions);
    });
  }

  clear(): void {
    this.#ends = null;
  }

  #made(): SortedMap<number, Set<KeySessions<K>>> {
    const ends = sortedMap<number, Set<KeySessions<K>>>((a, b) => a - b);
    for (const sessions of this.#all()) {
      for (let i = 0; i < sessions.count; i++) list(ends, sessions.endAt(i), sessions);
    }
    return ends;
  }
}

function list<K>(
  ends: SortedMap<number, Set<KeySessions<K>>>,
  end: number,
  sessions: KeySessions<K>,
): void {
  const known = ends.get(end);
  if (known === undefined) ends.set(end, new Set([sessions]));
  else known.add(sessions);
}
