/**
 * The versions of one key in parallel arrays, oldest first; each ends where the next begins.
 *
 * As in Kafka Streams, which keeps the latest value apart from older versions, a tombstone with the
 * timestamp of the latest value may leave nothing: it only takes the value away, and that there is no
 * value from there on is known only if an older version ends there, or a tombstone stood there before.
 */
export class VersionHistory {
  readonly timestamps: number[] = [];
  /** null: no value from there on. */
  readonly stored: unknown[] = [];
  /** Whether a tombstone in the place of the latest version stays. */
  isLatestBound = false;

  /** One that can be changed apart from this. */
  copy(): VersionHistory {
    const copy = new VersionHistory();
    for (const timestamp of this.timestamps) copy.timestamps.push(timestamp);
    for (const stored of this.stored) copy.stored.push(stored);
    copy.isLatestBound = this.isLatestBound;
    return copy;
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

  /** Where the version ends, null if it is the latest. One with the same timestamp is replaced. */
  put(timestamp: number, stored: unknown): number | null {
    const before = this.indexAt(timestamp);
    const isThere = before >= 0 && this.timestamps[before] === timestamp;
    const index = isThere ? before : before + 1;
    if (isThere && before === this.latest) {
      if (stored === null && !this.isLatestBound) this.#removeLatest();
      else this.stored[before] = stored;
      return null;
    }
    if (before === this.latest) {
      const endsHere = before >= 0 && this.stored[before] !== null;
      this.isLatestBound = stored === null || endsHere;
    } else if (before === this.latest - 1) {
      this.isLatestBound = true;
    }
    if (isThere) {
      this.stored[index] = stored;
    } else {
      this.timestamps.splice(index, 0, timestamp);
      this.stored.splice(index, 0, stored);
    }
    return this.validTo(index);
  }

  /** Whether `expire` would forget something. */
  canExpire(limit: number): boolean {
    const { latest } = this;
    if (latest > 0) return (this.timestamps[1] as number) <= limit;
    return latest === 0 && this.stored[0] === null && (this.timestamps[0] as number) <= limit;
  }

  /** Forgets what ends at or before `limit`; true if nothing is left. */
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

  /** What stands before an unbound version is a tombstone, if anything: that one stays. */
  #removeLatest(): void {
    this.timestamps.pop();
    this.stored.pop();
    this.isLatestBound = true;
  }
}
