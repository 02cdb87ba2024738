import { StreamTableGraceJoinOperator } from '../operators/stream-table-grace-join.ts';
import { StreamTableJoinOperator, type ValueJoiner } from '../operators/stream-table-join.ts';
import { recordBuffer } from '../state/buffer/buffer-builders.ts';
import { GraceJoinNode, notVersioned } from '../topology/grace-join-node.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { durationMs } from './duration.ts';
import type { JoinedOptions } from './options.ts';
import type { StreamState, TableState } from './stream-context.ts';

const BUFFER_SUFFIX = '-Buffer';

/** The node of a stream-table join; with a grace period it brings a buffer along. */
export function streamTableJoinNode<K, L, R, VR>(
  name: string,
  left: StreamState<K, L>,
  right: TableState<K, R>,
  joiner: ValueJoiner<K, L, R | null, VR>,
  options: JoinedOptions<K, L, VR>,
  isLeft: boolean,
): OperatorNode {
  const { grace } = options;
  if (grace === undefined) {
    const view = right.table.view();
    return new OperatorNode(
      name,
      (nodeName) => new StreamTableJoinOperator(nodeName, view, joiner, isLeft),
      { readsStores: view.storeNames, keepsNullKeys: isLeft },
    );
  }
  const graceMs = durationMs(grace, `grace of the join ${name}`);
  if (right.graphNode.isOutputVersioned === false) throw notVersioned(name);
  const view = right.table.view();
  const storeName = name + BUFFER_SUFFIX;
  const key = options.key ?? left.keySerde;
  const value = options.value ?? left.valueSerde;
  const buffer = recordBuffer({ name: storeName, key, value }, graceMs);
  if (options.name === undefined) {
    left.builder.topology.generatedNames.store(storeName, buffer.isLogged);
  }
  return new GraceJoinNode(
    name,
    (nodeName) => new StreamTableGraceJoinOperator(nodeName, view, joiner, isLeft, storeName),
    {
      keepsNullKeys: isLeft,
      buffer,
      readsStores: view.storeNames,
      graceMs,
    },
  );
}
