import type { DerivedTable } from '../operators/derived-table.ts';
import type { Predicate, ValueGuard } from '../operators/filter.ts';
import type { KeyValue, KeyValueMapper } from '../operators/map.ts';
import type { ValueMapper } from '../operators/map-values.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { ValueJoiner } from '../operators/stream-table-join.ts';
import { FilteredTable, TableFilterOperator } from '../operators/table-filter.ts';
import { TableGroupOperator, type TableGrouping } from '../operators/table-group.ts';
import type { TableJoiner, TableJoinKind } from '../operators/table-join.ts';
import { MappedTable, TableMapValuesOperator } from '../operators/table-map-values.ts';
import {
  TableTransformValuesOperator,
  TransformedTable,
  type ValueTransformerSupplier,
} from '../operators/table-transform-values.ts';
import { ToStreamOperator } from '../operators/to-stream.ts';
import type { Serde } from '../serdes/serde.ts';
import { OperatorNode, type OperatorOptions } from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import { joinTables } from './join-tables.ts';
import { isMaterialized, materializedStore } from './materialized.ts';
import type {
  GroupedOptions,
  MaterializedOptions,
  NamedOptions,
  ResultKeyOptions,
  TableJoinOptions,
  TransformValuesOptions,
} from './options.ts';
import { suppressTable } from './suppress-table.ts';
import type { Suppressed } from './suppressed.ts';
import { rememberTable, stateOfTable, type TableState } from './stream-context.ts';
import type { KGroupedTable, KStream, KTable } from './streams.ts';

/** See `KTable`. */
export class KTableImpl<K, V> implements KTable<K, V> {
  readonly #state: TableState<K, V>;

  constructor(state: TableState<K, V>) {
    this.#state = state;
    rememberTable(this, state);
  }

  get queryableStoreName(): string | null {
    return this.#state.queryableStoreName;
  }

  filter<VR extends V>(
    predicate: ValueGuard<K, V, VR>,
    options?: MaterializedOptions<K, VR>,
  ): KTable<K, VR>;
  filter(predicate: Predicate<K, V>, options?: MaterializedOptions<K, V>): KTable<K, V>;
  filter(predicate: Predicate<K, V>, options: MaterializedOptions<K, V> = {}): unknown {
    return this.#filter(predicate, false, options);
  }

  filterNot<VX extends V>(
    predicate: ValueGuard<K, V, VX>,
    options?: MaterializedOptions<K, Exclude<V, VX>>,
  ): KTable<K, Exclude<V, VX>>;
  filterNot(predicate: Predicate<K, V>, options?: MaterializedOptions<K, V>): KTable<K, V>;
  filterNot(predicate: Predicate<K, V>, options: MaterializedOptions<K, V> = {}): unknown {
    return this.#filter(predicate, true, options);
  }

  mapValues<VR>(
    mapper: ValueMapper<K, V, VR | null>,
    options: MaterializedOptions<K, VR> = {},
  ): KTable<K, VR> {
    this.#useUpStoreName(prefixes.tableMapValues, options);
    const name = this.#name(prefixes.tableMapValues, options);
    const table = new MappedTable<K, V, VR>(
      this.#state.table,
      mapper as ValueMapper<K, V, VR>,
      options.store ?? null,
    );
    const create = (nodeName: string): ProcessorNode => new TableMapValuesOperator(nodeName, table);
    return this.#derive(name, table, create, options.value ?? null, options);
  }

  transformValues<VR>(
    supplier: ValueTransformerSupplier<K, V, VR>,
    options: TransformValuesOptions<K, VR> = {},
  ): KTable<K, VR> {
    const name = this.#name(prefixes.tableTransformValues, options);
    const stores = options.stores ?? [];
    const { table: parent } = this.#state;
    const own = options.store ?? null;
    const table = new TransformedTable(name, parent, supplier, own, stores.length > 0);
    const create = (nodeName: string): ProcessorNode =>
      new TableTransformValuesOperator(nodeName, table, supplier());
    return this.#derive(name, table, create, options.value ?? null, options, {
      stores: stores.filter((store) => typeof store === 'object'),
      readsStores: stores.filter((store) => typeof store === 'string'),
    });
  }

  groupBy<KR, VR>(
    mapper: KeyValueMapper<K, V, KeyValue<KR | null, VR | null>>,
    options: GroupedOptions<KR, VR> = {},
  ): KGroupedTable<KR, VR> {
    const { builder, graphNode, table } = this.#state;
    const name = this.#name(prefixes.tableSelect, options);
    const grouping: TableGrouping<K, V, KR, VR> = { mapper, isParentVersioned: false };
    const node = new OperatorNode(name, (nodeName) => new TableGroupOperator(nodeName, grouping), {
      onVersionedParent: () => {
        grouping.isParentVersioned = true;
      },
    });
    builder.graph.add(node, graphNode);
    table.enableSendingOldValues(true);
    return builder.make.groupedTable<KR, VR>({
      builder,
      graphNode: node,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      repartitionName: options.name,
    });
  }

  join<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V, R, VR | null>,
    options: TableJoinOptions<K, VR> = {},
  ): KTable<K, VR> {
    return this.#join('inner', other, joiner as TableJoiner<K, V, R, VR>, options);
  }

  leftJoin<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR | null>,
    options: TableJoinOptions<K, VR> = {},
  ): KTable<K, VR> {
    return this.#join('left', other, joiner as TableJoiner<K, V, R, VR>, options);
  }

  outerJoin<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V | null, R | null, VR | null>,
    options: TableJoinOptions<K, VR> = {},
  ): KTable<K, VR> {
    return this.#join('outer', other, joiner, options);
  }

  toStream<KR>(mapper: KeyValueMapper<K, V, KR>, options?: ResultKeyOptions<KR>): KStream<KR, V>;
  toStream(options?: NamedOptions): KStream<K, V>;
  toStream<KR>(
    first?: NamedOptions | KeyValueMapper<K, V, KR>,
    second: ResultKeyOptions<KR> = {},
  ): KStream<K, V> | KStream<KR, V> {
    if (typeof first === 'function') {
      return this.#toStream(second).selectKey(
        first as KeyValueMapper<K, V, KR>,
        second.key === undefined ? {} : { key: second.key },
      );
    }
    return this.#toStream(first ?? {});
  }

  suppress(suppressed: Suppressed<K>): KTable<K, V> {
    return suppressTable(this.#state, suppressed);
  }

  #filter(
    predicate: Predicate<K, V>,
    isNegated: boolean,
    options: MaterializedOptions<K, V>,
  ): KTable<K, V> {
    this.#useUpStoreName(prefixes.tableFilter, options);
    const name = this.#name(prefixes.tableFilter, options);
    const table = new FilteredTable(this.#state.table, predicate, isNegated, options.store ?? null);
    const create = (nodeName: string): ProcessorNode => new TableFilterOperator(nodeName, table);
    const valueSerde = options.value ?? this.#state.valueSerde;
    return this.#derive(name, table, create, valueSerde, options, {
      onVersionedParent: () => {
        table.isParentVersioned = true;
      },
    });
  }

  #join<R, VR>(
    kind: TableJoinKind,
    other: KTable<K, R>,
    joiner: TableJoiner<K, V, R, VR>,
    options: TableJoinOptions<K, VR>,
  ): KTable<K, VR> {
    return joinTables(kind, this.#state, stateOfTable(other), joiner, options);
  }

  #derive<VR>(
    name: string,
    table: DerivedTable<K, V, VR>,
    create: (name: string) => ProcessorNode,
    valueSerde: Serde<VR> | null,
    options: MaterializedOptions<K, VR>,
    operatorOptions: OperatorOptions = {},
  ): KTable<K, VR> {
    const { builder, graphNode, sources } = this.#state;
    const keySerde = options.key ?? this.#state.keySerde;
    const store =
      options.store === undefined
        ? null
        : materializedStore(options.store, keySerde, valueSerde, options);
    const node = new OperatorNode(name, create, {
      ...operatorOptions,
      stores: [...(store === null ? [] : [store]), ...(operatorOptions.stores ?? [])],
    });
    if (isMaterialized(options)) node.isOutputVersioned = store?.isVersioned ?? false;
    builder.graph.add(node, graphNode);
    return builder.make.table<K, VR>({
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

  #name(prefix: string, options: NamedOptions): string {
    return this.#state.builder.naming.nodeName(options.name, prefix);
  }

  #useUpStoreName(prefix: string, options: { readonly store?: string | undefined }): void {
    if (options.store === undefined && isMaterialized(options)) {
      this.#state.builder.naming.newStoreName(prefix);
    }
  }

  #toStream(options: NamedOptions): KStream<K, V> {
    const { builder, graphNode, keySerde, valueSerde, sources } = this.#state;
    const name = builder.naming.nodeName(options.name, prefixes.toStream);
    const node = new OperatorNode(name, (nodeName) => new ToStreamOperator(nodeName));
    builder.graph.add(node, graphNode);
    return builder.make.stream<K, V>({
      builder,
      name,
      graphNode: node,
      keySerde,
      valueSerde,
      sources,
      needsRepartition: false,
    });
  }
}
