import { SourceTable } from '../operators/table-source.ts';
import { prefixes } from '../topology/naming.ts';
import { StreamToTableNode } from '../topology/table-graph-nodes.ts';
import { materializedStore } from './materialized.ts';
import type { MaterializedOptions } from './options.ts';
import { newRepartition, type StreamState } from './stream-context.ts';
import type { KTable } from './streams.ts';

/** `toTable` of a stream, behind a repartition step if keys have changed. */
export function toTable<K, V>(
  state: StreamState<K, V>,
  options: MaterializedOptions<K, V>,
): KTable<K, V> {
  const { builder } = state;
  const name = builder.naming.nodeName(options.name, prefixes.toTable);
  const storeName = builder.naming.storeName(options.store, prefixes.toTable);
  const keySerde = options.key ?? state.keySerde;
  const valueSerde = options.value ?? state.valueSerde;
  let { graphNode, sources } = state;
  if (state.needsRepartition) {
    const repartition = newRepartition(builder, name, keySerde, valueSerde);
    builder.graph.add(repartition, graphNode);
    if (options.name === undefined) {
      builder.topology.generatedNames.repartitionTopic(repartition.names.topic);
    }
    graphNode = repartition;
    sources = new Set([repartition.name]);
  }
  const table = new SourceTable<K, V>(storeName, options.store !== undefined);
  const store = materializedStore(storeName, keySerde, valueSerde, options);
  const node = new StreamToTableNode(name, table, store);
  node.isOutputVersioned = store.isVersioned ?? false;
  builder.graph.add(node, graphNode);
  if (options.store === undefined) builder.topology.generatedNames.store(storeName, store.isLogged);
  return builder.make.table<K, V>({
    builder,
    name,
    graphNode: node,
    keySerde,
    valueSerde,
    sources,
    table,
    queryableStoreName: options.store ?? null,
  });
}
