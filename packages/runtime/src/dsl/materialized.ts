import { TopologyError } from '../errors.ts';
import type { Serde } from '../serdes/serde.ts';
import {
  keyValueBuilder,
  versionedBuilder,
  windowBuilder,
  type StoreParts,
} from '../state/store-builders.ts';
import { checkedType } from '../state/store-options.ts';
import { storeSuppliers } from '../state/store-suppliers.ts';
import type { StoreBuilder } from '../state/store.ts';
import { durationMs } from './duration.ts';
import type { MaterializedOptions, WindowMaterializedOptions } from './options.ts';

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

/**
 * The store behind a table; the serdes are those that stand where the options name none. Which kind it
 * is, the options' supplier says, else their type, else `dsl.store.suppliers.class`.
 */
export function materializedStore<K, V>(
  name: string,
  key: Serde<K> | null,
  value: Serde<V> | null,
  options: MaterializedOptions<K, V>,
): StoreBuilder {
  const { versioned } = options;
  if (versioned !== undefined && options.supplier !== undefined) {
    throw new TopologyError(
      `The store ${name} is given both "versioned" and "supplier": name one of them.`,
    );
  }
  const supplier = versioned === undefined ? options.supplier : storeSuppliers.versioned(versioned);
  const parts = tableParts(name, key, value, options, supplier);
  if (supplier?.kind === 'versioned') return versionedBuilder(parts, supplier);
  return keyValueBuilder(parts, supplier ?? storeSuppliers.keyValue({ type: options.type }));
}

/** The store behind a windowed aggregation of windows of this size and grace. */
export function materializedWindowStore<K, V>(
  name: string,
  key: Serde<K> | null,
  value: Serde<V> | null,
  options: WindowMaterializedOptions<K, V>,
  windows: { readonly sizeMs: number; readonly graceMs: number },
): StoreBuilder {
  const { supplier } = options;
  const parts = tableParts(name, key, value, options, supplier);
  if (supplier !== undefined) return windowBuilder(parts, supplier);
  return windowBuilder(parts, {
    kind: 'window',
    type: checkedType(options.type, `the store ${name}`),
    retentionMs: retentionMs(name, options, windows),
    windowSizeMs: windows.sizeMs,
    isTimestamped: true,
  });
}

function tableParts<K, V>(
  name: string,
  key: Serde<K> | null,
  value: Serde<V> | null,
  options: MaterializedOptions<K, V> | WindowMaterializedOptions<K, V>,
  supplier: object | undefined,
): StoreParts<K, V> {
  if (supplier !== undefined && options.type !== undefined) {
    throw new TopologyError(
      `The store ${name} is given a type, but its supplier is of a type already: leave "type" out, or give it to the supplier.`,
    );
  }
  return {
    name,
    key: options.key ?? key,
    value: options.value ?? value,
    logging: options.logging,
    caching: options.caching ?? true,
    // A store that was chosen by its supplier is what it is, whatever `dsl.store.format` says.
    format: supplier === undefined ? 'dsl' : 'none',
    isTable: true,
  };
}

function retentionMs(
  name: string,
  { retention }: WindowMaterializedOptions<unknown, unknown>,
  { sizeMs, graceMs }: { readonly sizeMs: number; readonly graceMs: number },
): number {
  if (retention === undefined) return sizeMs + graceMs;
  const ms = durationMs(retention, `retention of the store ${name}`);
  if (ms >= sizeMs + graceMs) return ms;
  throw new TopologyError(
    `retention of the store ${name} is ${String(ms)} ms, but must be at least the windows' size plus grace, ` +
      `${String(sizeMs)} + ${String(graceMs)} ms.`,
  );
}
