import type { ProcessorNode } from '../operators/processor-node.ts';
import type { TableSource } from '../operators/table.ts';
import type { Serde } from '../serdes/serde.ts';
import type { StoreBuilder } from '../state/store.ts';
import { OperatorNode, type RepartitionNode } from '../topology/graph-nodes.ts';
import type { KTable } from './streams.ts';
import { newRepartition, type StreamState } from './stream-context.ts';

export interface AggregationParts<K, A> {
  readonly name: string;
  readonly create: (name: string) => ProcessorNode;
  readonly store: StoreBuilder;
  readonly table: TableSource<K, A>;
  readonly keySerde: Serde<K> | null;
  readonly valueSerde: Serde<A> | null;
  readonly queryableStoreName: string | null;
  /** Of windows, ms. */
  readonly graceMs?: number;
}

/**
 * Puts aggregations below a grouped stream, with a repartition step in between if keys have changed.
 * Aggregations of one group share that step only if the user gave it a name.
 */
export class GroupedAggregation<KG, VG> {
  readonly #group: StreamState<KG, VG>;
  readonly #repartitionName: string | undefined;
  #repartition: RepartitionNode | null = null;

  constructor(group: StreamState<KG, VG>, repartitionName: string | undefined) {
    this.#group = group;
    this.#repartitionName = repartitionName;
  }

  build<K, A>(parts: AggregationParts<K, A>): KTable<K, A> {
    const { builder, sources, needsRepartition } = this.#group;
    const isStoreNamed = parts.queryableStoreName !== null;
    const repartition = needsRepartition
      ? this.#repartitionFor(parts.store.name, isStoreNamed)
      : null;
    if (!isStoreNamed) {
      builder.topology.generatedNames.store(parts.store.name, parts.store.isLogged);
    }
    const node = new OperatorNode(parts.name, parts.create, {
      stores: [parts.store],
      graceMs: parts.graceMs,
    });
    node.isOutputVersioned = parts.store.isVersioned ?? false;
    builder.graph.add(node, repartition?.node ?? this.#group.graphNode);
    return builder.make.table<K, A>({
      builder,
      name: parts.name,
      graphNode: node,
      keySerde: parts.keySerde,
      valueSerde: parts.valueSerde,
      sources: repartition === null ? sources : new Set([repartition.sourceName]),
      table: parts.table,
      queryableStoreName: parts.queryableStoreName,
    });
  }

  #repartitionFor(
    storeName: string,
    isStoreNamed: boolean,
  ): {
    readonly node: RepartitionNode;
    readonly sourceName: string;
  } {
    const { builder, graphNode, keySerde, valueSerde } = this.#group;
    const prefix = this.#repartitionName ?? storeName;
    // Made in any case, because it uses up its indexes.
    const fresh = newRepartition(builder, prefix, keySerde, valueSerde);
    if (this.#repartition === null || this.#repartitionName === undefined) {
      this.#repartition = fresh;
    }
    if (this.#repartitionName === undefined && !isStoreNamed) {
      builder.topology.generatedNames.repartitionTopic(fresh.names.topic);
    }
    builder.graph.add(this.#repartition, graphNode);
    return { node: this.#repartition, sourceName: this.#repartition.name };
  }
}
