/**
 * The order in which Java's hash sets and maps of strings iterate. Kafka Streams' describe() text
 * shows it in places, and that text is part of what stays equal to Kafka's.
 */
const INITIAL_CAPACITY = 16;
const LOAD_FACTOR = 0.75;

/** As a HashMap or HashSet that grew while these were added one by one, from the default capacity. */
export function javaHashOrder(values: Iterable<string>): string[] {
  const unique = [...new Set(values)];
  return inBuckets(unique, capacityAfter(unique.length, INITIAL_CAPACITY));
}

/** As `new HashSet<>(collection)`, whose capacity is chosen by the collection's size. */
export function javaHashCopyOrder(values: Iterable<string>): string[] {
  const unique = [...new Set(values)];
  const wanted = Math.max(Math.trunc(unique.length / LOAD_FACTOR) + 1, INITIAL_CAPACITY);
  let capacity = 1;
  while (capacity < wanted) capacity *= 2;
  return inBuckets(unique, capacityAfter(unique.length, capacity));
}

function capacityAfter(size: number, initial: number): number {
  let capacity = initial;
  while (size > capacity * LOAD_FACTOR) capacity *= 2;
  return capacity;
}

function inBuckets(values: readonly string[], capacity: number): string[] {
  const buckets = new Map<number, string[]>();
  for (const value of values) {
    const bucket = spread(javaHashCode(value)) & (capacity - 1);
    const chain = buckets.get(bucket);
    if (chain === undefined) buckets.set(bucket, [value]);
    else chain.push(value);
  }
  return [...buckets].sort(([a], [b]) => a - b).flatMap(([, chain]) => chain);
}

function javaHashCode(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}

function spread(hash: number): number {
  return hash ^ (hash >>> 16);
}
