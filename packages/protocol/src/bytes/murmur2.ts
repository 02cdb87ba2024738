const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/**
 * Kafka's murmur2 of `buffer[start, end)`, a signed 32-bit number: what the default partitioner of
 * every Kafka client hashes keys with.
 */
export function murmur2(buffer: Uint8Array, start: number, end: number): number {
  const length = end - start;
  let hash = SEED ^ length;
  let i = start;
  for (const lastWord = end - 3; i < lastWord; i += 4) {
    let word =
      (buffer[i] as number) |
      ((buffer[i + 1] as number) << 8) |
      ((buffer[i + 2] as number) << 16) |
      ((buffer[i + 3] as number) << 24);
    word = Math.imul(word, M);
    word ^= word >>> R;
    hash = Math.imul(hash, M) ^ Math.imul(word, M);
  }
  const rest = end - i;
  if (rest > 0) {
    if (rest > 2) hash ^= (buffer[i + 2] as number) << 16;
    if (rest > 1) hash ^= (buffer[i + 1] as number) << 8;
    hash = Math.imul(hash ^ (buffer[i] as number), M);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, M);
  return hash ^ (hash >>> 15);
}

/** Kafka's way to make a hash non-negative: the sign bit is dropped, not the sign. */
export function toPositive(hash: number): number {
  return hash & 0x7fffffff;
}
