import { createRequire } from 'node:module';
import type sortedBTree from 'sorted-btree';

export type SortedMap<K, V> = InstanceType<typeof sortedBTree.default<K, V>>;

// A CommonJS module whose default export Node and test runners find in different places.
const { default: BTree } = createRequire(import.meta.url)('sorted-btree') as typeof sortedBTree;

/** An empty map that is kept in the order of its keys. */
export function sortedMap<K, V>(compare: (a: K, b: K) => number): SortedMap<K, V> {
  return new BTree<K, V>(undefined, compare);
}
