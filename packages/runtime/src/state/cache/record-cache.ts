/**
 * The bytes that the record caches of one stream thread may hold together: its part of
 * `statestore.cache.max.bytes`. Each cached store has its own entries (`StoreCache`); here they are
 * only counted. As in Kafka Streams, a store that writes while the sum is over the bound lets go its
 * own oldest entries, not those of others.
 */
export class RecordCache {
  readonly #bound: { readonly maxBytes: number };
  #bytes = 0;

  /** The bound may change. */
  constructor(bound: { readonly maxBytes: number }) {
    this.#bound = bound;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isOverfull(): boolean {
    return this.#bytes > this.#bound.maxBytes;
  }

  /** `delta` bytes more, or, if negative, fewer. */
  add(delta: number): void {
    this.#bytes += delta;
  }
}
