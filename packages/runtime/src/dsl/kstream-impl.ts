import {
  FilterOperator,
  type KeyGuard,
  type Predicate,
  type ValueGuard,
} from '../operators/filter.ts';
import { FlatMapOperator } from '../operators/flat-map.ts';
import { FlatMapValuesOperator } from '../operators/flat-map-values.ts';
import { MapOperator, type KeyValue, type KeyValueMapper } from '../operators/map.ts';
import { MapValuesOperator, type ValueMapper } from '../operators/map-values.ts';
import { MergeOperator } from '../operators/merge.ts';
import { PeekOperator, type ForeachAction } from '../operators/peek.ts';
import type { FixedKeyProcessorSupplier, ProcessorSupplier } from '../operators/processor-api.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { SelectKeyOperator } from '../operators/select-key.ts';
import type { GlobalValueJoiner } from '../operators/stream-global-table-join.ts';
import type { ValueJoiner } from '../operators/stream-table-join.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import type { Serde } from '../serdes/serde.ts';
import {
  OperatorNode,
  SinkNode,
  type OperatorOptions,
  type RepartitionNode,
} from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import type {
  GlobalJoinedOptions,
  GroupedOptions,
  JoinedOptions,
  MaterializedOptions,
  NamedOptions,
  ProcessOptions,
  ProcessValuesOptions,
  ProducedOptions,
  RepartitionedOptions,
  ResultKeyOptions,
  ResultValueOptions,
  SerdeOptions,
} from './options.ts';
import { BranchedKStreamImpl } from './branched-kstream.ts';
import { isGlobalTable } from './global-ktable.ts';
import {
  joinGlobalTable,
  type GlobalJoinArguments,
  type TableJoinArguments,
} from './join-global-table.ts';
import {
  copartition,
  derive,
  newRepartition,
  rememberStream,
  stateOfStream,
  stateOfTable,
  type StreamState,
} from './stream-context.ts';
import { processed, processedValues } from './processed.ts';
import { repartitioned } from './repartitioned.ts';
import { streamTableJoinNode } from './stream-table-join-node.ts';
import type {
  BranchedKStream,
  GlobalKTable,
  KGroupedStream,
  KStream,
  KTable,
  SplitOptions,
} from './streams.ts';
import { toTable } from './to-table.ts';

/** See `KStream`. Every method adds a node to the graph and says what comes out of it. */
export class KStreamImpl<K, V> implements KStream<K, V> {
  readonly #state: StreamState<K, V>;
  /** The repartition step that joins without a name of their own share. */
  #repartition: RepartitionNode | null = null;

  constructor(state: StreamState<K, V>) {
    this.#state = state;
    rememberStream(this, state);
  }

  filter<VR extends V>(predicate: ValueGuard<K, V, VR>, options?: NamedOptions): KStream<K, VR>;
  filter<KR extends K>(predicate: KeyGuard<K, V, KR>, options?: NamedOptions): KStream<KR, V>;
  filter(predicate: Predicate<K, V>, options?: NamedOptions): KStream<K, V>;
  filter(predicate: Predicate<K, V>, options: NamedOptions = {}): unknown {
    return this.#same(
      this.#node(options, prefixes.filter, (name) => new FilterOperator(name, predicate, false)),
    );
  }

  filterNot<VX extends V>(
    predicate: ValueGuard<K, V, VX>,
    options?: NamedOptions,
  ): KStream<K, Exclude<V, VX>>;
  filterNot<KX extends K>(
    predicate: KeyGuard<K, V, KX>,
    options?: NamedOptions,
  ): KStream<Exclude<K, KX>, V>;
  filterNot(predicate: Predicate<K, V>, options?: NamedOptions): KStream<K, V>;
  filterNot(predicate: Predicate<K, V>, options: NamedOptions = {}): unknown {
    return this.#same(
      this.#node(options, prefixes.filter, (name) => new FilterOperator(name, predicate, true)),
    );
  }

  map<KR, VR>(
    mapper: KeyValueMapper<K, V, KeyValue<KR, VR>>,
    options: NamedOptions & SerdeOptions<KR, VR> = {},
  ): KStream<KR, VR> {
    const node = this.#node(options, prefixes.map, (name) => new MapOperator(name, mapper), {
      changesKey: true,
    });
    return this.#derive<KR, VR>(node, options.key ?? null, options.value ?? null, true);
  }

  mapValues<VR>(
    mapper: ValueMapper<K, V, VR>,
    options: ResultValueOptions<VR> = {},
  ): KStream<K, VR> {
    const create = (name: string): ProcessorNode => new MapValuesOperator(name, mapper);
    const node = this.#node(options, prefixes.mapValues, create, { changesValue: true });
    return this.#derive<K, VR>(node, this.#state.keySerde, options.value ?? null);
  }

  flatMap<KR, VR>(
    mapper: KeyValueMapper<K, V, Iterable<KeyValue<KR, VR>>>,
    options: NamedOptions & SerdeOptions<KR, VR> = {},
  ): KStream<KR, VR> {
    const create = (name: string): ProcessorNode => new FlatMapOperator(name, mapper);
    const node = this.#node(options, prefixes.flatMap, create, { changesKey: true });
    return this.#derive<KR, VR>(node, options.key ?? null, options.value ?? null, true);
  }

  flatMapValues<VR>(
    mapper: ValueMapper<K, V, Iterable<VR>>,
    options: ResultValueOptions<VR> = {},
  ): KStream<K, VR> {
    const create = (name: string): ProcessorNode => new FlatMapValuesOperator(name, mapper);
    const node = this.#node(options, prefixes.flatMapValues, create, { changesValue: true });
    return this.#derive<K, VR>(node, this.#state.keySerde, options.value ?? null);
  }

  selectKey<KR>(
    mapper: KeyValueMapper<K, V, KR>,
    options: ResultKeyOptions<KR> = {},
  ): KStream<KR, V> {
    const create = (name: string): ProcessorNode => new SelectKeyOperator(name, mapper);
    const node = this.#node(options, prefixes.keySelect, create, { changesKey: true });
    return this.#derive<KR, V>(node, options.key ?? null, this.#state.valueSerde, true);
  }

  peek(action: ForeachAction<K, V>, options: NamedOptions = {}): KStream<K, V> {
    return this.#same(this.#node(options, prefixes.peek, (name) => new PeekOperator(name, action)));
  }

  foreach(action: ForeachAction<K, V>, options: NamedOptions = {}): void {
    const node = this.#node(options, prefixes.foreach, (name) => new PeekOperator(name, action));
    this.#state.builder.graph.add(node, this.#state.graphNode);
  }

  merge(other: KStream<K, V>, options: NamedOptions & SerdeOptions<K, V> = {}): KStream<K, V> {
    const { builder, graphNode, sources, needsRepartition } = this.#state;
    const node = this.#node(options, prefixes.merge, (name) => new MergeOperator(name), {
      isMerge: true,
    });
    builder.graph.add(node, graphNode, stateOfStream(other).graphNode);
    return builder.make.stream<K, V>({
      builder,
      name: node.name,
      graphNode: node,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      sources: new Set([...sources, ...stateOfStream(other).sources]),
      needsRepartition: needsRepartition || stateOfStream(other).needsRepartition,
    });
  }

  groupByKey(options: GroupedOptions<K, V> = {}): KGroupedStream<K, V> {
    const { builder, keySerde, valueSerde } = this.#state;
    return builder.make.groupedStream<K, V>(
      {
        ...this.#state,
        keySerde: options.key ?? keySerde,
        valueSerde: options.value ?? valueSerde,
      },
      options.name,
    );
  }

  groupBy<KR>(
    mapper: KeyValueMapper<K, V, KR>,
    options: GroupedOptions<KR, V> = {},
  ): KGroupedStream<KR, V> {
    const { builder, valueSerde } = this.#state;
    const create = (name: string): ProcessorNode => new SelectKeyOperator(name, mapper);
    const node = this.#node(options, prefixes.keySelect, create, { changesKey: true });
    const state = derive<KR, V>(this.#state, node, {
      keySerde: options.key ?? null,
      valueSerde: options.value ?? valueSerde,
      needsRepartition: true,
    });
    return builder.make.groupedStream<KR, V>(state, options.name);
  }

  join<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R, VR>,
    options?: JoinedOptions<K, V, VR>,
  ): KStream<K, VR>;
  join<GK, R, VR>(
    table: GlobalKTable<GK, R>,
    keyMapper: KeyValueMapper<K, V, GK | null>,
    joiner: GlobalValueJoiner<K, V, GK, R, VR>,
    options?: GlobalJoinedOptions<VR>,
  ): KStream<K, VR>;
  join<R, VR>(table: KTable<K, R> | GlobalKTable<unknown, R>, ...rest: never[]): KStream<K, VR> {
    return this.#joinWith([table, ...rest], false);
  }

  leftJoin<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR>,
    options?: JoinedOptions<K, V, VR>,
  ): KStream<K, VR>;
  leftJoin<GK, R, VR>(
    table: GlobalKTable<GK, R>,
    keyMapper: KeyValueMapper<K, V, GK | null>,
    joiner: GlobalValueJoiner<K, V, GK | null, R | null, VR>,
    options?: GlobalJoinedOptions<VR>,
  ): KStream<K, VR>;
  leftJoin<R, VR>(
    table: KTable<K, R> | GlobalKTable<unknown, R>,
    ...rest: never[]
  ): KStream<K, VR> {
    return this.#joinWith([table, ...rest], true);
  }

  toTable(options: MaterializedOptions<K, V> = {}): KTable<K, V> {
    return toTable(this.#state, options);
  }

  split<const P extends string = string>(
    options: SplitOptions<P> = {},
  ): BranchedKStream<K, V, P, object> {
    return new BranchedKStreamImpl(this.#state, options);
  }

  repartition(options: RepartitionedOptions<K, V> = {}): KStream<K, V> {
    return repartitioned(this.#state, options);
  }

  process<KR = K, VR = V>(
    supplier: ProcessorSupplier<K, V, KR, VR>,
    options: ProcessOptions<KR, VR> = {},
  ): KStream<KR, VR> {
    return processed(this.#state, supplier, options);
  }

  processValues<VR = V>(
    supplier: FixedKeyProcessorSupplier<K, V, VR>,
    options: ProcessValuesOptions<VR> = {},
  ): KStream<K, VR> {
    return processedValues(this.#state, supplier, options);
  }

  to(topic: string | TopicNameExtractor<K, V>, options: ProducedOptions<K, V> = {}): void {
    const { builder, graphNode, keySerde, valueSerde } = this.#state;
    const name = builder.naming.nodeName(options.name, prefixes.sink);
    const key = options.key ?? keySerde;
    const value = options.value ?? valueSerde;
    const partitioner = options.partitioner ?? null;
    builder.graph.add(new SinkNode(name, topic, key, value, partitioner), graphNode);
  }

  #joinWith<R, VR>(args: readonly [object, ...unknown[]], isLeft: boolean): KStream<K, VR> {
    if (isGlobalTable(args[0])) {
      const [table, keyMapper, joiner, options = {}] = args as GlobalJoinArguments<K, V, R, VR>;
      return joinGlobalTable(this.#state, table, keyMapper, joiner, options, isLeft);
    }
    const [table, joiner, options = {}] = args as unknown as TableJoinArguments<K, V, R, VR>;
    return this.#joinTable(table, joiner, options, isLeft);
  }

  #joinTable<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR>,
    options: JoinedOptions<K, V, VR>,
    isLeft: boolean,
  ): KStream<K, VR> {
    const left = this.#state.needsRepartition ? this.#repartitioned(options) : this.#state;
    const { builder } = left;
    const name = builder.naming.nodeName(options.name, isLeft ? prefixes.leftJoin : prefixes.join);
    const sources = copartition(builder, left, stateOfTable(table));
    const node = streamTableJoinNode(name, left, stateOfTable(table), joiner, options, isLeft);
    builder.graph.add(node, left.graphNode);
    return builder.make.stream<K, VR>({
      builder,
      name,
      graphNode: node,
      keySerde: options.key ?? left.keySerde,
      valueSerde: options.result ?? null,
      sources,
      needsRepartition: false,
    });
  }

  /** The stream behind a repartition step, which unnamed joins of this stream share. */
  #repartitioned(options: NamedOptions & SerdeOptions<K, V>): StreamState<K, V> {
    const { builder, name, graphNode } = this.#state;
    const keySerde = options.key ?? this.#state.keySerde;
    const valueSerde = options.value ?? this.#state.valueSerde;
    // Made in any case, because it uses up its indexes.
    const fresh = newRepartition(builder, options.name ?? name, keySerde, valueSerde);
    if (options.name === undefined) {
      builder.topology.generatedNames.repartitionTopic(fresh.names.topic);
    }
    if (this.#repartition === null || options.name !== undefined) {
      this.#repartition = fresh;
      builder.graph.add(fresh, graphNode);
    }
    return {
      builder,
      name: fresh.name,
      graphNode: this.#repartition,
      keySerde,
      valueSerde,
      sources: new Set([this.#repartition.name]),
      needsRepartition: false,
    };
  }

  #node(
    options: NamedOptions,
    prefix: string,
    create: (name: string) => ProcessorNode,
    flags: OperatorOptions = {},
  ): OperatorNode {
    return new OperatorNode(
      this.#state.builder.naming.nodeName(options.name, prefix),
      create,
      flags,
    );
  }

  #same(node: OperatorNode): KStream<K, V> {
    return this.#derive<K, V>(node, this.#state.keySerde, this.#state.valueSerde);
  }

  #derive<KR, VR>(
    node: OperatorNode,
    keySerde: Serde<KR> | null,
    valueSerde: Serde<VR> | null,
    needsRepartition: boolean = this.#state.needsRepartition,
  ): KStream<KR, VR> {
    const state = derive<KR, VR>(this.#state, node, { keySerde, valueSerde, needsRepartition });
    return this.#state.builder.make.stream(state);
  }
}
