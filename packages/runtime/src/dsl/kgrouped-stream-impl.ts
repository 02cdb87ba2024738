import {
  AggregateOperator,
  AggregateTable,
  nothing,
  plusOne,
  reducing,
  zero,
  type Aggregator,
  type Initializer,
  type Reducer,
} from '../operators/aggregate.ts';
import { longSerde } from '../serdes/numbers.ts';
import type { Serde } from '../serdes/serde.ts';
import { prefixes } from '../topology/naming.ts';
import { GroupedAggregation } from './grouped-aggregation.ts';
import { materializedStore } from './materialized.ts';
import type { MaterializedOptions } from './options.ts';
import type { StreamState } from './stream-context.ts';
import type { KGroupedStream, KTable, TimeWindowedKStream } from './streams.ts';
import type { TimeWindows } from './time-windows.ts';
import { TimeWindowedKStreamImpl } from './time-windowed-kstream-impl.ts';

/** See `KGroupedStream`. */
export class KGroupedStreamImpl<K, V> implements KGroupedStream<K, V> {
  readonly #state: StreamState<K, V>;
  readonly #aggregation: GroupedAggregation<K, V>;

  constructor(state: StreamState<K, V>, repartitionName: string | undefined) {
    this.#state = state;
    this.#aggregation = new GroupedAggregation(state, repartitionName);
  }

  count(options: MaterializedOptions<K, number> = {}): KTable<K, number> {
    return this.#aggregate<number>(prefixes.aggregate, zero, plusOne, longSerde, options);
  }

  reduce(reducer: Reducer<V>, options: MaterializedOptions<K, V> = {}): KTable<K, V> {
    const { valueSerde } = this.#state;
    return this.#aggregate<V | null>(
      prefixes.reduce,
      nothing,
      reducing<K, V>(reducer),
      valueSerde,
      options,
    ) as KTable<K, V>;
  }

  aggregate<A>(
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    options: MaterializedOptions<K, A> = {},
  ): KTable<K, A> {
    return this.#aggregate(prefixes.aggregate, initializer, aggregator, null, options);
  }

  windowedBy(windows: TimeWindows): TimeWindowedKStream<K, V> {
    return new TimeWindowedKStreamImpl(this.#state, windows, this.#aggregation);
  }

  #aggregate<A>(
    prefix: string,
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    inheritedSerde: Serde<unknown> | null,
    options: MaterializedOptions<K, A>,
  ): KTable<K, A> {
    const { naming } = this.#state.builder;
    const storeName = naming.storeName(options.store, prefix);
    const name = naming.nodeName(options.name, prefix);
    const keySerde = options.key ?? this.#state.keySerde;
    const valueSerde = options.value ?? (inheritedSerde as Serde<A> | null);
    const table = new AggregateTable<K, A>(storeName);
    return this.#aggregation.build<K, A>({
      name,
      create: (nodeName) => new AggregateOperator(nodeName, table, initializer, aggregator),
      store: materializedStore(storeName, keySerde, valueSerde, options),
      table,
      keySerde,
      valueSerde,
      queryableStoreName: options.store ?? null,
    });
  }
}
