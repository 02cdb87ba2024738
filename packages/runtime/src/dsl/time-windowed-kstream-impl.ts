import {
  nothing,
  plusOne,
  reducing,
  zero,
  type Aggregator,
  type Initializer,
  type Reducer,
} from '../operators/aggregate.ts';
import { WindowAggregateOperator, WindowAggregateTable } from '../operators/window-aggregate.ts';
import { longSerde } from '../serdes/numbers.ts';
import type { Serde } from '../serdes/serde.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import { timeWindowed } from '../serdes/windowed.ts';
import { prefixes } from '../topology/naming.ts';
import type { GroupedAggregation } from './grouped-aggregation.ts';
import { materializedWindowStore } from './materialized.ts';
import type { WindowMaterializedOptions } from './options.ts';
import type { StreamState } from './stream-context.ts';
import type { KTable, TimeWindowedKStream } from './streams.ts';
import type { TimeWindows } from './time-windows.ts';

/** See `TimeWindowedKStream`. */
export class TimeWindowedKStreamImpl<K, V> implements TimeWindowedKStream<K, V> {
  readonly #state: StreamState<K, V>;
  readonly #windows: TimeWindows;
  readonly #aggregation: GroupedAggregation<K, V>;

  /** What the grouped stream has is shared: a repartition topic that is named is one for all its aggregations. */
  constructor(
    state: StreamState<K, V>,
    windows: TimeWindows,
    aggregation: GroupedAggregation<K, V>,
  ) {
    this.#state = state;
    this.#windows = windows;
    this.#aggregation = aggregation;
  }

  count(options: WindowMaterializedOptions<K, number> = {}): KTable<Windowed<K>, number> {
    return this.#aggregate<number>(prefixes.aggregate, zero, plusOne, longSerde, options);
  }

  reduce(
    reducer: Reducer<V>,
    options: WindowMaterializedOptions<K, V> = {},
  ): KTable<Windowed<K>, V> {
    return this.#aggregate<V | null>(
      prefixes.reduce,
      nothing,
      reducing<K, V>(reducer),
      this.#state.valueSerde,
      options,
    ) as KTable<Windowed<K>, V>;
  }

  aggregate<A>(
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    options: WindowMaterializedOptions<K, A> = {},
  ): KTable<Windowed<K>, A> {
    return this.#aggregate(prefixes.aggregate, initializer, aggregator, null, options);
  }

  #aggregate<A>(
    prefix: string,
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    inheritedSerde: Serde<unknown> | null,
    options: WindowMaterializedOptions<K, A>,
  ): KTable<Windowed<K>, A> {
    const { naming } = this.#state.builder;
    const windows = this.#windows;
    const storeName = naming.storeName(options.store, prefix);
    const name = naming.nodeName(options.name, prefix);
    const keySerde = options.key ?? this.#state.keySerde;
    const valueSerde = options.value ?? (inheritedSerde as Serde<A> | null);
    const table = new WindowAggregateTable<K, A>(storeName);
    return this.#aggregation.build<Windowed<K>, A>({
      name,
      create: (nodeName) =>
        new WindowAggregateOperator(nodeName, windows, table, initializer, aggregator),
      store: materializedWindowStore(storeName, keySerde, valueSerde, options, windows),
      table,
      keySerde: keySerde === null ? null : timeWindowed(keySerde, windows.sizeMs),
      valueSerde,
      queryableStoreName: options.store ?? null,
      graceMs: windows.graceMs,
    });
  }
}
