/** Splits a timestamp into two small integers, which V8 keeps in the object. */
const TIMESTAMP_LOW_RANGE = 2 ** 30;

/** How far a row's value has got. */
export const CLEAN = 0;
/** Committed, but not on disk yet. */
export const COMMITTED = 1;
/** Written since the last commit (KIP-892). */
export const UNCOMMITTED = 2;
export type Layer = typeof CLEAN | typeof COMMITTED | typeof UNCOMMITTED;

/** What a row was when it was last committed, kept until that is on disk. */
export interface CommittedValue {
  readonly stored: unknown;
  readonly timestamp: number;
}

/** A row in memory. A stored value of null says that there is no such row. */
export class Row<K> {
  readonly key: K;
  readonly mapKey: string | number;
  /** The key's bytes as a latin1 string. */
  readonly sortKey: string;
  stored: unknown = null;
  layer: Layer = CLEAN;
  committed: CommittedValue | null = null;
  /** Waits to be written to disk, in whatever layer it is now. */
  isSpilling = false;
  /** Asked for since the last look: not to be forgotten yet. */
  isUsed = true;
  /** No longer part of its table: whoever still holds it must ask again. */
  isForgotten = false;
  /** What it takes in memory, about. */
  bytes = 0;
  /** Its place in the list of clean rows. */
  isListed = false;
  before: Row<K> | null = null;
  after: Row<K> | null = null;
  #timestampHigh = 0;
  #timestampLow = 0;

  constructor(key: K, mapKey: string | number, sortKey: string) {
    this.key = key;
    this.mapKey = mapKey;
    this.sortKey = sortKey;
  }

  get timestamp(): number {
    return this.#timestampHigh * TIMESTAMP_LOW_RANGE + this.#timestampLow;
  }

  set timestamp(timestamp: number) {
    this.#timestampHigh = Math.floor(timestamp / TIMESTAMP_LOW_RANGE);
    this.#timestampLow = timestamp - this.#timestampHigh * TIMESTAMP_LOW_RANGE;
  }
}
