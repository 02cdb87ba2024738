import { EXPIRY_BUCKETS_PER_RETENTION } from '../limits.ts';

/** What one key has in a store with retention. */
export interface Expirable {
  readonly isEmpty: boolean;
  /** Forgets what ends at or before `limit`; true if nothing is left. */
  expire(limit: number): boolean;
}

/**
 * What expires when: buckets of times, each with the keys that have something to forget in it. A bucket
 * goes once all of it has expired, so each window is touched once for its expiry; readers leave out
 * what has expired meanwhile.
 */
export class Expiry<E extends Expirable> {
  readonly #bucketMs: number;
  readonly #onEmpty: (key: E) => void;
  readonly #onLeft: ((key: E) => void) | null;
  readonly #buckets = new Map<number, E[]>();
  /** Where the last one went, and most often the next one goes. */
  #lastNumber = Number.NaN;
  #lastBucket: E[] = [];
  /** Bucket numbers, lowest first. */
  #order: number[] = [];

  /** @param onLeft is told of a key that has something left: for stores that list a key once for all it has */
  constructor(
    retentionMs: number,
    onEmpty: (key: E) => void,
    onLeft: ((key: E) => void) | null = null,
  ) {
    this.#bucketMs = Math.max(1, Math.floor(retentionMs / EXPIRY_BUCKETS_PER_RETENTION));
    this.#onEmpty = onEmpty;
    this.#onLeft = onLeft;
  }

  /** This key has something to forget once `time` has expired. */
  add(time: number, key: E): void {
    const number = Math.floor(time / this.#bucketMs);
    if (number !== this.#lastNumber) {
      this.#lastNumber = number;
      this.#lastBucket = this.#bucket(number);
    }
    this.#lastBucket.push(key);
  }

  #bucket(number: number): E[] {
    const known = this.#buckets.get(number);
    if (known !== undefined) return known;
    const bucket: E[] = [];
    this.#buckets.set(number, bucket);
    let at = this.#order.length;
    while (at > 0 && (this.#order[at - 1] as number) > number) at--;
    this.#order.splice(at, 0, number);
    return bucket;
  }

  /** Everything at or before `limit` has expired. */
  advanceTo(limit: number): void {
    let gone = 0;
    while (gone < this.#order.length) {
      const number = this.#order[gone] as number;
      if ((number + 1) * this.#bucketMs - 1 > limit) break;
      for (const key of this.#buckets.get(number) ?? []) {
        // An empty one was emptied by deletes, and forgotten then.
        if (key.isEmpty) continue;
        if (key.expire(limit)) this.#onEmpty(key);
        else this.#onLeft?.(key);
      }
      this.#buckets.delete(number);
      if (number === this.#lastNumber) this.#lastNumber = Number.NaN;
      gone++;
    }
    if (gone > 0) this.#order = this.#order.slice(gone);
  }

  clear(): void {
    this.#buckets.clear();
    this.#lastNumber = Number.NaN;
    this.#order = [];
  }
}
