import { TopologyError } from '../errors.ts';
import { globalTableView } from '../operators/global-table.ts';
import type { ProcessorSupplier } from '../operators/processor-api.ts';
import { SourceTable, TableSourceOperator } from '../operators/table-source.ts';
import type { TableView } from '../operators/table.ts';
import type { StoreBuilder } from '../state/store.ts';
import type { KeyValueStoreSupplier } from '../state/store-suppliers.ts';
import { GlobalStoreNode } from '../topology/global-store-node.ts';
import { prefixes } from '../topology/naming.ts';
import { refuseOtherStores, suppliedNode } from '../topology/supplied-node.ts';
import { materializedStore } from './materialized.ts';
import type { ConsumedOptions, MaterializedOptions } from './options.ts';
import { sourceOptions } from './source-options.ts';
import type { GlobalKTable } from './streams.ts';
import type { BuilderContext } from './stream-context.ts';

/** How a global topic is read. It is always read from its beginning. */
export type GlobalStoreOptions<K, V> = Omit<ConsumedOptions<K, V>, 'offsetReset'>;

/** Options of `globalTable()`: how its topic is read, and the store that holds it. */
export interface GlobalTableOptions<K, V>
  extends GlobalStoreOptions<K, V>, Pick<MaterializedOptions<K, V>, 'store' | 'type'> {
  /** A store of another kind: one of `storeSuppliers`, without history. */
  readonly supplier?: KeyValueStoreSupplier | undefined;
}

const views = new WeakMap<object, TableView<never, unknown>>();

/** See `GlobalKTable`. */
class GlobalKTableImpl<K, V> implements GlobalKTable<K, V> {
  readonly isGlobal = true;
  readonly queryableStoreName: string | null;

  constructor(view: TableView<K, V>, queryableStoreName: string | null) {
    this.queryableStoreName = queryableStoreName;
    views.set(this, view);
  }
}

export function viewOfGlobalTable<K, V>(table: GlobalKTable<K, V>): TableView<K, V> {
  const view = views.get(table);
  if (view !== undefined) return view as TableView<K, V>;
  throw new TopologyError(
    'A join was given something that is no global table of a StreamsBuilder.',
  );
}

export function isGlobalTable(table: object): table is GlobalKTable<unknown, unknown> {
  return views.has(table);
}

/** See `StreamsBuilder.globalTable`. */
export function addGlobalTable<K, V>(
  builder: BuilderContext,
  topic: string,
  options: GlobalTableOptions<K, V>,
): GlobalKTable<K, V> {
  const storeName = builder.naming.storeName(options.store, `${topic}-`);
  const { sourceName, name } = names(builder, options.name);
  const table = new SourceTable<K, V>(storeName, true);
  // The topic is the changelog, and a cache would only put off what tasks are to see.
  const storeOptions = { ...options, logging: false, caching: false };
  const store = materializedStore<K, V>(storeName, null, null, storeOptions);
  if (store.isVersioned === true) {
    throw new TopologyError(
      `The global table ${name} of ${topic} cannot have a versioned store: give it another supplier.`,
    );
  }
  const node = new GlobalStoreNode(
    name,
    sourceName,
    sourceOptions(topic, options),
    (nodeName) => new TableSourceOperator(nodeName, table),
    store,
  );
  builder.graph.add(node, builder.graph.root);
  // It has no changelog.
  if (options.store === undefined) builder.topology.generatedNames.store(storeName, false);
  return new GlobalKTableImpl<K, V>(globalTableView<K, V>(storeName), options.store ?? null);
}

/** See `StreamsBuilder.addGlobalStore`. */
export function addGlobalStore<K, V>(
  builder: BuilderContext,
  store: StoreBuilder,
  topic: string,
  options: GlobalStoreOptions<K, V>,
  supplier: ProcessorSupplier<K, V, never, never>,
): void {
  const { sourceName, name } = names(builder, options.name);
  const { create, stores } = suppliedNode(supplier, `the processor ${name}`, false);
  refuseOtherStores(name, stores);
  const node = new GlobalStoreNode(name, sourceName, sourceOptions(topic, options), create, store);
  builder.graph.add(node, builder.graph.root);
}

function names(
  { naming }: BuilderContext,
  given: string | undefined,
): { readonly sourceName: string; readonly name: string } {
  const sourceName = naming.suffixedNodeName(given, '-source', prefixes.source);
  return { sourceName, name: naming.nodeName(given, prefixes.tableSource) };
}
