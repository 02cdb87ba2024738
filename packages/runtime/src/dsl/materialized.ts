import type { Serde } from '../serdes/serde.ts';
import { keyValueStore } from '../state/store-builders.ts';
import type { StoreBuilder } from '../state/store.ts';
import type { MaterializedOptions } from './options.ts';

/** What stands among an operator's options, but says nothing about its store. */
const NOT_OF_THE_STORE = new Set(['name', 'stores', 'result']);

/**
 * Whether an operator that needs no store was told anything about one. It then uses up the index of
 * a store's name, as with Kafka Streams' overloads that take a `Materialized`.
 */
export function isMaterialized(options: object): boolean {
  return Object.entries(options).some(
    ([name, value]) => value !== undefined && !NOT_OF_THE_STORE.has(name),
  );
}

/** The key-value store behind a table; the serdes are those that stand where the options name none. */
export function materializedStore<K, V>(
  name: string,
  key: Serde<K> | null,
  value: Serde<V> | null,
  options: MaterializedOptions<K, V>,
): StoreBuilder {
  return keyValueStore({
    name,
    key: options.key ?? key,
    value: options.value ?? value,
    logging: options.logging,
  });
}
