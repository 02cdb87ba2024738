import { JoinedTable, type TableJoiner, type TableJoinKind } from '../operators/table-join.ts';
import { prefixes } from '../topology/naming.ts';
import { TableJoinNode } from '../topology/table-graph-nodes.ts';
import { isMaterialized, materializedStore } from './materialized.ts';
import type { TableJoinOptions } from './options.ts';
import { copartition, type TableState } from './stream-context.ts';
import type { KTable } from './streams.ts';

/** `join`, `leftJoin` and `outerJoin` of two tables by their keys. */
export function joinTables<K, L, R, VR>(
  kind: TableJoinKind,
  left: TableState<K, L>,
  right: TableState<K, R>,
  joiner: TableJoiner<K, L, R, VR>,
  options: TableJoinOptions<K, VR>,
): KTable<K, VR> {
  const { builder } = left;
  const { naming } = builder;
  const storeName = isMaterialized(options)
    ? naming.storeName(options.store, prefixes.tableMerge)
    : null;
  const merge = naming.nodeName(options.name, prefixes.tableMerge);
  const sources = copartition(builder, left, right);
  const table = new JoinedTable(kind, left.table, right.table, joiner, storeName);
  const names = {
    left: naming.suffixedNodeName(options.name, '-join-this', prefixes.tableJoinThis),
    right: naming.suffixedNodeName(options.name, '-join-other', prefixes.tableJoinOther),
    merge,
  };
  const keySerde = options.key ?? left.keySerde;
  const valueSerde = options.value ?? options.result ?? null;
  const store =
    storeName === null ? null : materializedStore(storeName, keySerde, valueSerde, options);
  const node = new TableJoinNode(
    names,
    left.graphNode,
    right.graphNode,
    table as unknown as JoinedTable<unknown, unknown, unknown, unknown>,
    store,
  );
  node.isOutputVersioned = store?.isVersioned ?? false;
  builder.graph.add(node, left.graphNode, right.graphNode);
  if (store !== null && options.store === undefined) {
    builder.topology.generatedNames.store(store.name, store.isLogged);
  }
  return builder.make.table<K, VR>({
    builder,
    name: merge,
    graphNode: node,
    keySerde,
    valueSerde,
    sources,
    table,
    queryableStoreName: storeName,
  });
}
