import { EXPIRY_BUCKETS_PER_RETENTION } from '../limits.ts';
import type { KeyWindows } from './key-windows.ts';

/**
 * What expires when: buckets of window starts, each with the keys that have a window in it. A bucket
 * goes once all of it has expired, so each window is touched once for its expiry; readers leave out
 * what has expired meanwhile.
 */
export class WindowExpiry<K> {
  readonly #bucketMs: number;
  readonly #onEmpty: (windows: KeyWindows<K>) => void;
  readonly #buckets = new Map<number, KeyWindows<K>[]>();
  /** Bucket numbers, lowest first. */
  #order: number[] = [];

  constructor(retentionMs: number, onEmpty: (windows: KeyWindows<K>) => void) {
    this.#bucketMs = Math.max(1, Math.floor(retentionMs / EXPIRY_BUCKETS_PER_RETENTION));
    this.#onEmpty = onEmpty;
  }

  /** A window that was not there before. */
  add(windowStart: number, windows: KeyWindows<K>): void {
    const number = Math.floor(windowStart / this.#bucketMs);
    const bucket = this.#buckets.get(number);
    if (bucket !== undefined) {
      bucket.push(windows);
      return;
    }
    this.#buckets.set(number, [windows]);
    let at = this.#order.length;
    while (at > 0 && (this.#order[at - 1] as number) > number) at--;
    this.#order.splice(at, 0, number);
  }

  /** Every window that starts at or before `limit` has expired. */
  advanceTo(limit: number): void {
    let gone = 0;
    while (gone < this.#order.length) {
      const number = this.#order[gone] as number;
      if ((number + 1) * this.#bucketMs - 1 > limit) break;
      for (const windows of this.#buckets.get(number) ?? []) {
        // An empty one was emptied by deletes, and forgotten then.
        if (!windows.isEmpty && windows.expire(limit)) this.#onEmpty(windows);
      }
      this.#buckets.delete(number);
      gone++;
    }
    if (gone > 0) this.#order = this.#order.slice(gone);
  }

  clear(): void {
    this.#buckets.clear();
    this.#order = [];
  }
}
