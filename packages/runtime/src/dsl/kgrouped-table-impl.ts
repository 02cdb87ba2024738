import {
  AggregateTable,
  nothing,
  plusOne,
  reducing,
  zero,
  type Aggregator,
  type Initializer,
  type Reducer,
} from '../operators/aggregate.ts';
import {
  minusOne,
  TableAggregateOperator,
  type TableAggregation,
} from '../operators/table-aggregate.ts';
import { longSerde } from '../serdes/numbers.ts';
import type { Serde } from '../serdes/serde.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes, REPARTITION_SUFFIX } from '../topology/naming.ts';
import { TableRepartitionNode } from '../topology/table-graph-nodes.ts';
import { materializedStore } from './materialized.ts';
import type { MaterializedOptions } from './options.ts';
import type { GroupedTableState } from './stream-context.ts';
import type { KGroupedTable, KTable } from './streams.ts';

/** See `KGroupedTable`. */
export class KGroupedTableImpl<K, V> implements KGroupedTable<K, V> {
  readonly #state: GroupedTableState<K, V>;
  /** Aggregations share it only if the user gave it a name. */
  #repartition: TableRepartitionNode | null = null;

  constructor(state: GroupedTableState<K, V>) {
    this.#state = state;
  }

  count(options: MaterializedOptions<K, number> = {}): KTable<K, number> {
    const aggregation = { initializer: zero, adder: plusOne, subtractor: minusOne };
    return this.#aggregate<number>(prefixes.tableAggregate, aggregation, longSerde, options);
  }

  reduce(
    adder: Reducer<V>,
    subtractor: Reducer<V>,
    options: MaterializedOptions<K, V> = {},
  ): KTable<K, V> {
    const aggregation: TableAggregation<K, V, V | null> = {
      initializer: nothing,
      adder: reducing(adder),
      subtractor: reducing(subtractor),
    };
    const { valueSerde } = this.#state;
    const table = this.#aggregate(prefixes.tableReduce, aggregation, valueSerde, options);
    return table as KTable<K, V>;
  }

  aggregate<A>(
    initializer: Initializer<A>,
    adder: Aggregator<K, V, A>,
    subtractor: Aggregator<K, V, A>,
    options: MaterializedOptions<K, A> = {},
  ): KTable<K, A> {
    const aggregation = { initializer, adder, subtractor };
    return this.#aggregate(prefixes.tableAggregate, aggregation, null, options);
  }

  #aggregate<A>(
    prefix: string,
    aggregation: TableAggregation<K, V, A>,
    inheritedSerde: Serde<A> | null,
    options: MaterializedOptions<K, A>,
  ): KTable<K, A> {
    const { builder } = this.#state;
    const { naming } = builder;
    const storeName = naming.storeName(options.store, prefixes.tableAggregate);
    const sink = naming.suffixedNodeName(options.name, '-sink', prefixes.sink);
    const source = naming.suffixedNodeName(options.name, '-source', prefixes.source);
    const name = naming.nodeName(options.name, prefix);
    const repartition = this.#repartitionFor(storeName, sink, source);
    const keySerde = options.key ?? this.#state.keySerde;
    const valueSerde = options.value ?? inheritedSerde;
    const store = materializedStore(storeName, keySerde, valueSerde, options);
    const table = new AggregateTable<K, A>(storeName);
    const node = new OperatorNode(
      name,
      (nodeName) => new TableAggregateOperator(nodeName, table, aggregation),
      { stores: [store] },
    );
    node.isOutputVersioned = store.isVersioned ?? false;
    builder.graph.add(node, repartition);
    if (options.store === undefined) {
      builder.topology.generatedNames.store(storeName, store.isLogged);
    }
    return builder.make.table<K, A>({
      builder,
      name,
      graphNode: node,
      keySerde,
      valueSerde,
      sources: new Set([repartition.name]),
      table,
      queryableStoreName: options.store ?? null,
    });
  }

  #repartitionFor(storeName: string, sink: string, source: string): TableRepartitionNode {
    const { builder, graphNode, keySerde, valueSerde, repartitionName } = this.#state;
    if (this.#repartition === null || repartitionName === undefined) {
      const topic = (repartitionName ?? storeName) + REPARTITION_SUFFIX;
      this.#repartition = new TableRepartitionNode({ topic, sink, source }, keySerde, valueSerde);
    }
    builder.graph.add(this.#repartition, graphNode);
    return this.#repartition;
  }
}
