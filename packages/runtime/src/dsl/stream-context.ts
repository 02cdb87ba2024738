import { TopologyError } from '../errors.ts';
import type { TableSource } from '../operators/table.ts';
import type { Serde } from '../serdes/serde.ts';
import type { Graph, GraphNode } from '../topology/graph.ts';
import { RepartitionNode } from '../topology/graph-nodes.ts';
import type { InternalTopology } from '../topology/internal-topology.ts';
import { repartitionNames, type Naming } from '../topology/naming.ts';
import type { KGroupedStream, KGroupedTable, KStream, KTable } from './streams.ts';

/** What all streams and tables of one builder share. */
export interface BuilderContext {
  readonly naming: Naming;
  readonly graph: Graph;
  readonly topology: InternalTopology;
  readonly make: DslFactory;
}

/** Makes the DSL's objects for one another, so that their files need not import each other. */
export interface DslFactory {
  stream<K, V>(state: StreamState<K, V>): KStream<K, V>;
  table<K, V>(state: TableState<K, V>): KTable<K, V>;
  groupedStream<K, V>(state: StreamState<K, V>, name: string | undefined): KGroupedStream<K, V>;
  groupedTable<K, V>(state: GroupedTableState<K, V>): KGroupedTable<K, V>;
}

/** What a stream, a grouped stream or a table knows of itself. */
export interface StreamState<K, V> {
  readonly builder: BuilderContext;
  /** Of the node that it comes from. */
  readonly name: string;
  readonly graphNode: GraphNode;
  readonly keySerde: Serde<K> | null;
  readonly valueSerde: Serde<V> | null;
  /** Names of the source nodes that its records come from without a topic in between. */
  readonly sources: ReadonlySet<string>;
  /** Keys may have changed since the records were read: equal keys may be in several partitions. */
  readonly needsRepartition: boolean;
}

export interface TableState<K, V> {
  readonly builder: BuilderContext;
  readonly name: string;
  readonly graphNode: GraphNode;
  readonly keySerde: Serde<K> | null;
  readonly valueSerde: Serde<V> | null;
  readonly sources: ReadonlySet<string>;
  readonly table: TableSource<K, V>;
  /** Of the store that the user named; null if there is none to be asked for. */
  readonly queryableStoreName: string | null;
}

/** What a grouped table knows of itself: it is on its way through a repartition topic. */
export interface GroupedTableState<K, V> {
  readonly builder: BuilderContext;
  readonly graphNode: GraphNode;
  readonly keySerde: Serde<K> | null;
  readonly valueSerde: Serde<V> | null;
  /** Given by the user; else the topic is named after the aggregation's store. */
  readonly repartitionName: string | undefined;
}

// What the DSL's objects know of themselves is nobody else's business, so it is no property of theirs.
const streamStates = new WeakMap<object, unknown>();
const tableStates = new WeakMap<object, unknown>();

export function rememberStream<K, V>(stream: KStream<K, V>, state: StreamState<K, V>): void {
  streamStates.set(stream, state);
}

export function rememberTable<K, V>(table: KTable<K, V>, state: TableState<K, V>): void {
  tableStates.set(table, state);
}

export function stateOfStream<K, V>(stream: KStream<K, V>): StreamState<K, V> {
  return known(streamStates.get(stream), 'stream') as StreamState<K, V>;
}

export function stateOfTable<K, V>(table: KTable<K, V>): TableState<K, V> {
  return known(tableStates.get(table), 'table') as TableState<K, V>;
}

function known(state: unknown, what: string): unknown {
  if (state !== undefined) return state;
  throw new TopologyError(
    `A join or merge was given something that is no ${what} of a StreamsBuilder.`,
  );
}

/** The new graph node below those of `parents`, and what comes out of it. */
export function derive<K, V>(
  from: StreamState<unknown, unknown>,
  graphNode: GraphNode,
  changes: {
    readonly keySerde: Serde<K> | null;
    readonly valueSerde: Serde<V> | null;
    readonly needsRepartition?: boolean;
  },
): StreamState<K, V> {
  from.builder.graph.add(graphNode, from.graphNode);
  return {
    builder: from.builder,
    name: graphNode.name,
    graphNode,
    keySerde: changes.keySerde,
    valueSerde: changes.valueSerde,
    sources: from.sources,
    needsRepartition: changes.needsRepartition ?? from.needsRepartition,
  };
}

/** A repartition step for these serdes; not yet part of the graph. */
export function newRepartition(
  builder: BuilderContext,
  topicPrefix: string,
  keySerde: Serde<unknown> | null,
  valueSerde: Serde<unknown> | null,
): RepartitionNode {
  const names = repartitionNames(builder.naming, topicPrefix);
  return new RepartitionNode(names, keySerde, valueSerde, null, true);
}

/** Records that the sources of these streams must have equally many partitions. */
export function copartition(
  builder: BuilderContext,
  ...streams: readonly { readonly sources: ReadonlySet<string> }[]
): ReadonlySet<string> {
  const sources = new Set(streams.flatMap((stream) => [...stream.sources]).sort());
  builder.topology.copartitionSources(sources);
  return sources;
}
