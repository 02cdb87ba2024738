import { TopologyError } from '../errors.ts';
import { SuppressedTable, SuppressOperator, type SuppressRule } from '../operators/suppress.ts';
import { changeBuffer } from '../state/buffer/buffer-builders.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes, validName } from '../topology/naming.ts';
import { givesVersioned } from '../topology/versioned.ts';
import { windowGraceMs } from '../topology/window-grace.ts';
import type { TableState } from './stream-context.ts';
import type { KTable } from './streams.ts';
import type { Suppressed } from './suppressed.ts';

/** What Kafka Streams took when none was given, until it was found to look like results that never come. */
const LONG_GRACE_MS = 24 * 3_600_000;

/** See `KTable.suppress`. */
export function suppressTable<K, V>(
  state: TableState<K, V>,
  suppressed: Suppressed<K>,
): KTable<K, V> {
  const { builder, graphNode, keySerde, valueSerde } = state;
  if (givesVersioned(graphNode)) {
    throw new TopologyError(
      `suppress() after ${graphNode.name} is only supported for non-versioned tables: ` +
        'give the table, or the one that it comes from, a store that is not versioned.',
    );
  }
  const { naming } = builder;
  // Unlike elsewhere, a given name uses up no index.
  const name =
    suppressed.name === undefined
      ? naming.newNodeName(prefixes.suppress)
      : validName(suppressed.name);
  const rule: SuppressRule<K> = {
    timeOf: suppressed.timeOf,
    waitMs: suppressed.waitMs ?? windowGraceMs(graphNode),
    maxRecords: suppressed.maxRecords,
    maxBytes: suppressed.maxBytes,
    whenFull: suppressed.whenFull,
    dropsTombstones: suppressed.until === 'windowCloses',
  };
  if (suppressed.until === 'windowCloses' && rule.waitMs >= LONG_GRACE_MS) {
    builder.topology.hints.push(
      `${name} passes on a window's result only when a record comes that is ${hours(rule.waitMs)} later than the ` +
        "window's end: so long is the grace of the windows. A shorter grace gives results earlier, and drops " +
        'records that are late by more than it.',
    );
  }
  const storeName =
    suppressed.name === undefined
      ? naming.newStoreName(prefixes.suppress)
      : `${suppressed.name}-store`;
  state.table.enableSendingOldValues(true);
  const buffer = changeBuffer({
    name: storeName,
    key: keySerde,
    value: valueSerde,
    logging: suppressed.logging,
  });
  const node = new OperatorNode(
    name,
    (nodeName) => new SuppressOperator<K, V>(nodeName, rule, storeName),
    { stores: [buffer] },
  );
  node.isOutputVersioned = false;
  builder.graph.add(node, graphNode);
  if (suppressed.name === undefined && buffer.isLogged) {
    builder.topology.generatedNames.changelogOf(storeName);
  }
  return builder.make.table<K, V>({
    ...state,
    name,
    graphNode: node,
    table: new SuppressedTable(state.table, storeName),
    queryableStoreName: null,
  });
}

function hours(ms: number): string {
  return `${String(Math.round(ms / 3_600_000))} h`;
}
