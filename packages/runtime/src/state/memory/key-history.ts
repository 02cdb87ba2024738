import type { MapKey } from './key-codec.ts';
import type { Expirable } from './expiry.ts';

/** The versions of one key in parallel arrays, oldest first; each ends where the next begins. */
export class KeyHistory<K> implements Expirable {
  readonly key: K;
  readonly mapKey: MapKey;
  readonly timestamps: number[] = [];
  /** null: no value from there on. */
  readonly stored: unknown[] = [];

  constructor(key: K, mapKey: MapKey) {
    this.key = key;
    this.mapKey = mapKey;
  }

  get isEmpty(): boolean {
    return this.timestamps.length === 0;
  }

  get latest(): number {
    return this.timestamps.length - 1;
  }

  /** Index of the version that is current at `time`; -1 if there is none. */
  indexAt(time: number): number {
    const { timestamps } = this;
    let high = timestamps.length;
    if (high === 0 || (timestamps[high - 1] as number) <= time) return high - 1;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((timestamps[middle] as number) <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Where the version ends; null if it is the latest. */
  validTo(index: number): number | null {
    return this.timestamps[index + 1] ?? null;
  }

  /** Returns the version's index. One with the same timestamp is replaced. */
  put(timestamp: number, stored: unknown): number {
    const before = this.indexAt(timestamp);
    if (before >= 0 && this.timestamps[before] === timestamp) {
      this.stored[before] = stored;
      return before;
    }
    this.timestamps.splice(before + 1, 0, timestamp);
    this.stored.splice(before + 1, 0, stored);
    return before + 1;
  }

  expire(limit: number): boolean {
    let gone = 0;
    while (gone < this.latest && (this.timestamps[gone + 1] as number) <= limit) gone++;
    // The latest value is kept however old it is; that there is none need not be known for ever.
    if (
      gone === this.latest &&
      this.stored[gone] === null &&
      (this.timestamps[gone] as number) <= limit
    )
      gone++;
    if (gone > 0) {
      this.timestamps.splice(0, gone);
      this.stored.splice(0, gone);
    }
    return this.isEmpty;
  }
}
