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
import { keyValueStore } from '../state/store-builders.ts';
import { prefixes } from '../topology/naming.ts';
import { GroupedAggregation } from './grouped-aggregation.ts';
import type { KTable } from './ktable.ts';
import type { MaterializedOptions } from './options.ts';
import type { StreamState } from './stream-context.ts';
import type { TimeWindows } from './time-windows.ts';
import { TimeWindowedKStream } from './time-windowed-kstream.ts';

/** A stream grouped by key, about to be aggregated. */
export class KGroupedStream<K, V> {
  /** @internal */
  readonly state: StreamState<K, V>;
  readonly #repartitionName: string | undefined;
  readonly #aggregation: GroupedAggregation<K, V>;

  /** @internal */
  constructor(state: StreamState<K, V>, repartitionName: string | undefined) {
    this.state = state;
    this.#repartitionName = repartitionName;
    this.#aggregation = new GroupedAggregation(state, repartitionName);
  }

  /** Number of records per key. Records with a null key or value are not counted. */
  count(options: MaterializedOptions<K, number> = {}): KTable<K, number> {
    return this.#aggregate<number>(prefixes.aggregate, zero, plusOne, longSerde, options);
  }

  /** Combines the values of a key: the first one as it is, then `reducer(aggregate, value)`. */
  reduce(reducer: Reducer<V>, options: MaterializedOptions<K, V> = {}): KTable<K, V> {
    const { valueSerde } = this.state;
    return this.#aggregate<V | null>(
      prefixes.reduce,
      nothing,
      reducing<K, V>(reducer),
      valueSerde,
      options,
    ) as KTable<K, V>;
  }

  /**
   * Combines the values of a key: `aggregator(key, value, aggregate)`, beginning with `initializer()`.
   * An aggregate of null deletes the key's row.
   */
  aggregate<A>(
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    options: MaterializedOptions<K, A> = {},
  ): KTable<K, A> {
    return this.#aggregate(prefixes.aggregate, initializer, aggregator, null, options);
  }

  /** Aggregates per key and window. */
  windowedBy(windows: TimeWindows): TimeWindowedKStream<K, V> {
    return new TimeWindowedKStream(this.state, windows, this.#repartitionName);
  }

  #aggregate<A>(
    prefix: string,
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    inheritedSerde: Serde<unknown> | null,
    options: MaterializedOptions<K, A>,
  ): KTable<K, A> {
    const { naming } = this.state.builder;
    const storeName = naming.storeName(options.store, prefix);
    const name = naming.nodeName(options.name, prefix);
    const keySerde = options.key ?? this.state.keySerde;
    const valueSerde = options.value ?? (inheritedSerde as Serde<A> | null);
    const table = new AggregateTable<K, A>(storeName);
    return this.#aggregation.build<K, A>({
      name,
      create: (nodeName) => new AggregateOperator(nodeName, table, initializer, aggregator),
      store: keyValueStore({
        name: storeName,
        key: keySerde,
        value: valueSerde,
        logging: options.logging,
      }),
      table,
      keySerde,
      valueSerde,
      queryableStoreName: options.store ?? null,
    });
  }
}
