import type { KeyValueMapper } from '../operators/map.ts';
import {
  StreamGlobalTableJoinOperator,
  type GlobalValueJoiner,
} from '../operators/stream-global-table-join.ts';
import type { ValueJoiner } from '../operators/stream-table-join.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import { viewOfGlobalTable } from './global-ktable.ts';
import type { GlobalJoinedOptions, JoinedOptions } from './options.ts';
import { derive, type StreamState } from './stream-context.ts';
import type { GlobalKTable, KStream, KTable } from './streams.ts';

/** What `join` and `leftJoin` of a stream are called with: a table, or a global table. */
export type TableJoinArguments<K, V, R, VR> = readonly [
  table: KTable<K, R>,
  joiner: ValueJoiner<K, V, R | null, VR>,
  options?: JoinedOptions<K, V, VR>,
];

export type GlobalJoinArguments<K, V, R, VR> = readonly [
  table: GlobalKTable<unknown, R>,
  keyMapper: KeyValueMapper<K, V, unknown>,
  joiner: GlobalValueJoiner<K, V, unknown, R | null, VR>,
  options?: GlobalJoinedOptions<VR>,
];

/** Neither co-partitioning nor a repartition step is needed: every task sees the whole table. */
export function joinGlobalTable<K, V, GK, R, VR>(
  stream: StreamState<K, V>,
  table: GlobalKTable<GK, R>,
  keyMapper: KeyValueMapper<K, V, GK | null>,
  joiner: GlobalValueJoiner<K, V, GK, R | null, VR>,
  options: GlobalJoinedOptions<VR>,
  isLeft: boolean,
): KStream<K, VR> {
  const { builder, keySerde } = stream;
  const view = viewOfGlobalTable(table);
  // Kafka Streams gives inner joins the prefix of left ones, too.
  const node = new OperatorNode(
    builder.naming.nodeName(options.name, prefixes.leftJoin),
    (name) => new StreamGlobalTableJoinOperator(name, view, keyMapper, joiner, isLeft),
    { keepsNullKeys: isLeft },
  );
  const state = derive<K, VR>(stream, node, { keySerde, valueSerde: options.result ?? null });
  return builder.make.stream(state);
}
