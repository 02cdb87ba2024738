const INITIAL_CAPACITY = 16;
const LOAD_FACTOR = 0.75;
const SIGN_SHIFT = 24;

/**
 * Keys (bytes as latin1 text) that changed since the last commit. They come out in the order of the
 * hash set in which Kafka Streams gathers them, so that a changelog has its records in the same order.
 */
export class DirtyKeys {
  readonly #keys = new Set<string>();
  /** A Java hash set that was cleared keeps the room that it has grown to. */
  #capacity = INITIAL_CAPACITY;

  get size(): number {
    return this.#keys.size;
  }

  add(key: string): void {
    this.#keys.add(key);
    while (this.#keys.size > this.#capacity * LOAD_FACTOR) this.#capacity *= 2;
  }

  /** Calls `each` for every key, then forgets them. If it throws, all stay. */
  drain(each: (key: string) => void): void {
    if (this.#keys.size === 0) return;
    const ordered = this.#keys.size === 1 ? this.#keys : this.#inBuckets();
    for (const key of ordered) each(key);
    this.#keys.clear();
  }

  clear(): void {
    this.#keys.clear();
    this.#capacity = INITIAL_CAPACITY;
  }

  /** Sorted by bucket; those of one bucket stay in the order in which they came. */
  #inBuckets(): string[] {
    const keys = [...this.#keys];
    const buckets = keys.map((key) => spread(hashOfBytes(key)) & (this.#capacity - 1));
    const order = keys.map((_, index) => index);
    order.sort((a, b) => (buckets[a] as number) - (buckets[b] as number) || a - b);
    return order.map((index) => keys[index] as string);
  }
}

/** Java's `Arrays.hashCode(byte[])`. */
function hashOfBytes(bytes: string): number {
  let hash = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = (bytes.charCodeAt(i) << SIGN_SHIFT) >> SIGN_SHIFT;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  return hash;
}

function spread(hash: number): number {
  return hash ^ (hash >>> 16);
}
