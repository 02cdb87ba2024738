import { FilterOperator, type Predicate } from '../operators/filter.ts';
import { FlatMapOperator } from '../operators/flat-map.ts';
import { FlatMapValuesOperator } from '../operators/flat-map-values.ts';
import { MapOperator, type KeyValue, type KeyValueMapper } from '../operators/map.ts';
import { MapValuesOperator, type ValueMapper } from '../operators/map-values.ts';
import { MergeOperator } from '../operators/merge.ts';
import { PeekOperator, type ForeachAction } from '../operators/peek.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { SelectKeyOperator } from '../operators/select-key.ts';
import { StreamTableJoinOperator, type ValueJoiner } from '../operators/stream-table-join.ts';
import type { Serde } from '../serdes/serde.ts';
import {
  OperatorNode,
  SinkNode,
  type OperatorOptions,
  type RepartitionNode,
} from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import type { KGroupedStream } from './kgrouped-stream.ts';
import type { KTable } from './ktable.ts';
import type {
  GroupedOptions,
  JoinedOptions,
  NamedOptions,
  ProducedOptions,
  ResultKeyOptions,
  ResultValueOptions,
  SerdeOptions,
} from './options.ts';
import { copartition, derive, newRepartition, type StreamState } from './stream-context.ts';

/**
 * A stream of records. Functions that look at whole records take `(key, value)`; those that make a
 * value of a value take `(value, key)`; joiners take `(left, right, key)`. Every function may return
 * a promise: then that record, and only that one, is waited for, in order.
 *
 * Serdes pass through operators that leave the key or the value as it is. An operator that makes
 * a new one takes its serde as an option; without it, the next operator that writes must name it.
 */
export class KStream<K, V> {
  /** @internal */
  readonly state: StreamState<K, V>;
  /** The repartition step that joins without a name of their own share. */
  #repartition: RepartitionNode | null = null;

  /** @internal */
  constructor(state: StreamState<K, V>) {
    this.state = state;
  }

  /** Keeps the records for which the predicate says true. */
  filter(predicate: Predicate<K, V>, options: NamedOptions = {}): KStream<K, V> {
    return this.#same(
      this.#node(options, prefixes.filter, (name) => new FilterOperator(name, predicate, false)),
    );
  }

  /** Keeps the records for which the predicate does not say true. */
  filterNot(predicate: Predicate<K, V>, options: NamedOptions = {}): KStream<K, V> {
    return this.#same(
      this.#node(options, prefixes.filter, (name) => new FilterOperator(name, predicate, true)),
    );
  }

  /** One record for each, with a new key and value. What groups or joins by key is repartitioned first. */
  map<KR, VR>(
    mapper: KeyValueMapper<K, V, KeyValue<KR, VR>>,
    options: NamedOptions & SerdeOptions<KR, VR> = {},
  ): KStream<KR, VR> {
    const node = this.#node(options, prefixes.map, (name) => new MapOperator(name, mapper), {
      changesKey: true,
    });
    return this.#derive<KR, VR>(node, options.key ?? null, options.value ?? null, true);
  }

  /** One record for each, with a new value. */
  mapValues<VR>(
    mapper: ValueMapper<K, V, VR>,
    options: ResultValueOptions<VR> = {},
  ): KStream<K, VR> {
    const create = (name: string): ProcessorNode => new MapValuesOperator(name, mapper);
    const node = this.#node(options, prefixes.mapValues, create, { changesValue: true });
    return this.#derive<K, VR>(node, this.state.keySerde, options.value ?? null);
  }

  /** Any number of records for each, with new keys and values. */
  flatMap<KR, VR>(
    mapper: KeyValueMapper<K, V, Iterable<KeyValue<KR, VR>>>,
    options: NamedOptions & SerdeOptions<KR, VR> = {},
  ): KStream<KR, VR> {
    const create = (name: string): ProcessorNode => new FlatMapOperator(name, mapper);
    const node = this.#node(options, prefixes.flatMap, create, { changesKey: true });
    return this.#derive<KR, VR>(node, options.key ?? null, options.value ?? null, true);
  }

  /** Any number of records for each, with new values under the same key. */
  flatMapValues<VR>(
    mapper: ValueMapper<K, V, Iterable<VR>>,
    options: ResultValueOptions<VR> = {},
  ): KStream<K, VR> {
    const create = (name: string): ProcessorNode => new FlatMapValuesOperator(name, mapper);
    const node = this.#node(options, prefixes.flatMapValues, create, { changesValue: true });
    return this.#derive<K, VR>(node, this.state.keySerde, options.value ?? null);
  }

  /** The same records under new keys. What groups or joins by key is repartitioned first. */
  selectKey<KR>(
    mapper: KeyValueMapper<K, V, KR>,
    options: ResultKeyOptions<KR> = {},
  ): KStream<KR, V> {
    const create = (name: string): ProcessorNode => new SelectKeyOperator(name, mapper);
    const node = this.#node(options, prefixes.keySelect, create, { changesKey: true });
    return this.#derive<KR, V>(node, options.key ?? null, this.state.valueSerde, true);
  }

  /** Calls a function for each record and passes the record on unchanged. */
  peek(action: ForeachAction<K, V>, options: NamedOptions = {}): KStream<K, V> {
    return this.#same(this.#node(options, prefixes.peek, (name) => new PeekOperator(name, action)));
  }

  /** Calls a function for each record; nothing follows. */
  foreach(action: ForeachAction<K, V>, options: NamedOptions = {}): void {
    const node = this.#node(options, prefixes.foreach, (name) => new PeekOperator(name, action));
    this.state.builder.graph.add(node, this.state.graphNode);
  }

  /** The records of both streams, in no particular order. Serdes are not inherited. */
  merge(other: KStream<K, V>, options: NamedOptions & SerdeOptions<K, V> = {}): KStream<K, V> {
    const { builder, graphNode, sources, needsRepartition } = this.state;
    const node = this.#node(options, prefixes.merge, (name) => new MergeOperator(name));
    builder.graph.add(node, graphNode, other.state.graphNode);
    return builder.make.stream<K, V>({
      builder,
      name: node.name,
      graphNode: node,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      sources: new Set([...sources, ...other.state.sources]),
      needsRepartition: needsRepartition || other.state.needsRepartition,
    });
  }

  /** Groups by the key that the records have; repartitions if keys have changed since they were read. */
  groupByKey(options: GroupedOptions<K, V> = {}): KGroupedStream<K, V> {
    const { builder, keySerde, valueSerde } = this.state;
    return builder.make.groupedStream<K, V>(
      {
        ...this.state,
        keySerde: options.key ?? keySerde,
        valueSerde: options.value ?? valueSerde,
      },
      options.name,
    );
  }

  /** Groups by a new key; always repartitions. */
  groupBy<KR>(
    mapper: KeyValueMapper<K, V, KR>,
    options: GroupedOptions<KR, V> = {},
  ): KGroupedStream<KR, V> {
    const { builder, valueSerde } = this.state;
    const create = (name: string): ProcessorNode => new SelectKeyOperator(name, mapper);
    const node = this.#node(options, prefixes.keySelect, create, { changesKey: true });
    const state = derive<KR, V>(this.state, node, {
      keySerde: options.key ?? null,
      valueSerde: options.value ?? valueSerde,
      needsRepartition: true,
    });
    return builder.make.groupedStream<KR, V>(state, options.name);
  }

  /** Joins each record with the table's row under the same key, if there is one. */
  join<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R, VR>,
    options: JoinedOptions<K, V> & { readonly result?: Serde<VR> | undefined } = {},
  ): KStream<K, VR> {
    const inner = joiner as ValueJoiner<K, V, R | null, VR>;
    return this.#joinTable(table, inner, options, false);
  }

  /** Joins each record with the table's row under the same key, or with null. */
  leftJoin<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR>,
    options: JoinedOptions<K, V> & { readonly result?: Serde<VR> | undefined } = {},
  ): KStream<K, VR> {
    return this.#joinTable(table, joiner, options, true);
  }

  /** Writes the records to a topic, which must exist. */
  to(topic: string, options: ProducedOptions<K, V> = {}): void {
    const { builder, graphNode, keySerde, valueSerde } = this.state;
    const name = builder.naming.nodeName(options.name, prefixes.sink);
    const key = options.key ?? keySerde;
    const value = options.value ?? valueSerde;
    const partitioner = options.partitioner ?? null;
    builder.graph.add(new SinkNode(name, topic, key, value, partitioner), graphNode);
  }

  #joinTable<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR>,
    options: JoinedOptions<K, V> & { readonly result?: Serde<VR> | undefined },
    isLeft: boolean,
  ): KStream<K, VR> {
    const left = this.state.needsRepartition ? this.#repartitioned(options) : this.state;
    const { builder } = left;
    const name = builder.naming.nodeName(options.name, isLeft ? prefixes.leftJoin : prefixes.join);
    const sources = copartition(builder, left, table.state);
    const view = table.state.table.view();
    const node = new OperatorNode(
      name,
      (nodeName) => new StreamTableJoinOperator(nodeName, view, joiner, isLeft),
      { readsStores: view.storeNames, keepsNullKeys: isLeft },
    );
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
  #repartitioned(options: JoinedOptions<K, V>): StreamState<K, V> {
    const { builder, name, graphNode } = this.state;
    const keySerde = options.key ?? this.state.keySerde;
    const valueSerde = options.value ?? this.state.valueSerde;
    // Made in any case, because it uses up its indexes.
    const fresh = newRepartition(builder, options.name ?? name, keySerde, valueSerde);
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
      sources: new Set([fresh.name]),
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
      this.state.builder.naming.nodeName(options.name, prefix),
      create,
      flags,
    );
  }

  #same(node: OperatorNode): KStream<K, V> {
    return this.#derive<K, V>(node, this.state.keySerde, this.state.valueSerde);
  }

  #derive<KR, VR>(
    node: OperatorNode,
    keySerde: Serde<KR> | null,
    valueSerde: Serde<VR> | null,
    needsRepartition: boolean = this.state.needsRepartition,
  ): KStream<KR, VR> {
    const state = derive<KR, VR>(this.state, node, { keySerde, valueSerde, needsRepartition });
    return this.state.builder.make.stream(state);
  }
}
