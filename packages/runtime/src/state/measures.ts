import type { StateStore } from './store.ts';

/** What is counted of a store, as plain fields that a metric reads when it is asked. */
export class StoreMeasures {
  /** Kafka Streams' name for this kind of store, in the tags of its metrics; those on disk are `lmdb-...`. */
  readonly scope: string;
  /** Iterators that have returned something and are not at their end. */
  openIterators = 0;

  constructor(scope: string) {
    this.scope = scope;
  }
}

/** A number that changes with every record: its average over all changes, and its maximum. */
export class Level {
  #sum = 0;
  #count = 0;
  max = 0;

  add(value: number): void {
    this.#sum += value;
    this.#count++;
    if (value > this.max) this.max = value;
  }

  /** NaN before the first. */
  get average(): number {
    return this.#sum / this.#count;
  }
}

/** How many reads of a record cache found something: of all of them, and of the intervals between flushes. */
export class HitRatio {
  /** Since the last flush. */
  hits = 0;
  misses = 0;
  #hitsBefore = 0;
  #readsBefore = 0;
  #min = Number.NaN;
  #max = Number.NaN;

  /** An interval without reads does not count. */
  endInterval(): void {
    const reads = this.hits + this.misses;
    if (reads === 0) return;
    this.#min = this.min;
    this.#max = this.max;
    this.#hitsBefore += this.hits;
    this.#readsBefore += reads;
    this.hits = 0;
    this.misses = 0;
  }

  /** NaN before the first read, as the others. */
  get average(): number {
    return (this.#hitsBefore + this.hits) / (this.#readsBefore + this.hits + this.misses);
  }

  get min(): number {
    return lesser(this.#min, this.#current);
  }

  get max(): number {
    return -lesser(-this.#max, -this.#current);
  }

  get #current(): number {
    return this.hits / (this.hits + this.misses);
  }
}

function lesser(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return b < a ? b : a;
}

/** A store that lets be read what is counted of it; each part only where there is such a thing. */
export interface MeasuredStore extends StateStore {
  readonly measures?: StoreMeasures;
  /** Of the record cache before it. */
  readonly hitRatio?: HitRatio;
  readonly cachedBytes?: number;
  /** Records and bytes of a buffer of `suppress`, at each record. */
  readonly bufferedRecords?: Level;
  readonly bufferedBytes?: Level;
  /** Keys that it has, or about so many. */
  approximateEntryCount?(): number;
}
