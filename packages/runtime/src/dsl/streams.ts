import type { Aggregator, Initializer, Reducer } from '../operators/aggregate.ts';
import type { KeyGuard, Predicate, ValueGuard } from '../operators/filter.ts';
import type { KeyValue, KeyValueMapper } from '../operators/map.ts';
import type { ValueMapper } from '../operators/map-values.ts';
import type { ForeachAction } from '../operators/peek.ts';
import type { ValueJoiner } from '../operators/stream-table-join.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import type {
  GroupedOptions,
  JoinedOptions,
  MaterializedOptions,
  NamedOptions,
  ProducedOptions,
  ResultKeyOptions,
  ResultValueOptions,
  SerdeOptions,
  WindowMaterializedOptions,
} from './options.ts';
import type { Suppressed } from './suppressed.ts';
import type { TimeWindows } from './time-windows.ts';

/**
 * A stream of records. Functions that look at whole records take `(key, value)`; those that make a
 * value of a value take `(value, key)`; joiners take `(left, right, key)`. Every function may return
 * a promise: then that record, and only that one, is waited for, in order.
 *
 * Serdes pass through operators that leave the key or the value as it is. An operator that makes
 * a new one takes its serde as an option; without it, the next operator that writes must name it.
 */
export interface KStream<K, V> {
  /** Keeps the records for which the predicate says true; a type guard narrows the stream's type. */
  filter<VR extends V>(predicate: ValueGuard<K, V, VR>, options?: NamedOptions): KStream<K, VR>;
  filter<KR extends K>(predicate: KeyGuard<K, V, KR>, options?: NamedOptions): KStream<KR, V>;
  filter(predicate: Predicate<K, V>, options?: NamedOptions): KStream<K, V>;

  /** Keeps the records for which the predicate does not say true; a type guard narrows the stream's type. */
  filterNot<VX extends V>(
    predicate: ValueGuard<K, V, VX>,
    options?: NamedOptions,
  ): KStream<K, Exclude<V, VX>>;
  filterNot<KX extends K>(
    predicate: KeyGuard<K, V, KX>,
    options?: NamedOptions,
  ): KStream<Exclude<K, KX>, V>;
  filterNot(predicate: Predicate<K, V>, options?: NamedOptions): KStream<K, V>;

  /** One record for each, with a new key and value. What groups or joins by key is repartitioned first. */
  map<KR, VR>(
    mapper: KeyValueMapper<K, V, KeyValue<KR, VR>>,
    options?: NamedOptions & SerdeOptions<KR, VR>,
  ): KStream<KR, VR>;

  /** One record for each, with a new value. */
  mapValues<VR>(mapper: ValueMapper<K, V, VR>, options?: ResultValueOptions<VR>): KStream<K, VR>;

  /** Any number of records for each, with new keys and values. */
  flatMap<KR, VR>(
    mapper: KeyValueMapper<K, V, Iterable<KeyValue<KR, VR>>>,
    options?: NamedOptions & SerdeOptions<KR, VR>,
  ): KStream<KR, VR>;

  /** Any number of records for each, with new values under the same key. */
  flatMapValues<VR>(
    mapper: ValueMapper<K, V, Iterable<VR>>,
    options?: ResultValueOptions<VR>,
  ): KStream<K, VR>;

  /** The same records under new keys. What groups or joins by key is repartitioned first. */
  selectKey<KR>(mapper: KeyValueMapper<K, V, KR>, options?: ResultKeyOptions<KR>): KStream<KR, V>;

  /** Calls a function for each record and passes the record on unchanged. */
  peek(action: ForeachAction<K, V>, options?: NamedOptions): KStream<K, V>;

  /** Calls a function for each record; nothing follows. */
  foreach(action: ForeachAction<K, V>, options?: NamedOptions): void;

  /** The records of both streams, in no particular order. Serdes are not inherited. */
  merge(other: KStream<K, V>, options?: NamedOptions & SerdeOptions<K, V>): KStream<K, V>;

  /** Groups by the key that the records have; repartitions if keys have changed since they were read. */
  groupByKey(options?: GroupedOptions<K, V>): KGroupedStream<K, V>;

  /** Groups by a new key; always repartitions. */
  groupBy<KR>(
    mapper: KeyValueMapper<K, V, KR>,
    options?: GroupedOptions<KR, V>,
  ): KGroupedStream<KR, V>;

  /** Joins each record with the table's row under the same key, if there is one. */
  join<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R, VR>,
    options?: JoinedOptions<K, V, VR>,
  ): KStream<K, VR>;

  /** Joins each record with the table's row under the same key, or with null. */
  leftJoin<R, VR>(
    table: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR>,
    options?: JoinedOptions<K, V, VR>,
  ): KStream<K, VR>;

  /** Writes the records to a topic, which must exist. */
  to(topic: string, options?: ProducedOptions<K, V>): void;
}

/** A stream grouped by key, about to be aggregated. */
export interface KGroupedStream<K, V> {
  /** Number of records per key. Records with a null key or value are not counted. */
  count(options?: MaterializedOptions<K, number>): KTable<K, number>;

  /** Combines the values of a key: the first one as it is, then `reducer(aggregate, value)`. */
  reduce(reducer: Reducer<V>, options?: MaterializedOptions<K, V>): KTable<K, V>;

  /**
   * Combines the values of a key: `aggregator(key, value, aggregate)`, beginning with `initializer()`.
   * An aggregate of null deletes the key's row.
   */
  aggregate<A>(
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    options?: MaterializedOptions<K, A>,
  ): KTable<K, A>;

  /** Aggregates per key and window. */
  windowedBy(windows: TimeWindows): TimeWindowedKStream<K, V>;
}

/** A grouped stream in time windows, about to be aggregated. */
export interface TimeWindowedKStream<K, V> {
  /** Number of records per key and window, records with a null value included. */
  count(options?: WindowMaterializedOptions<K, number>): KTable<Windowed<K>, number>;

  /** Combines the values of a key in a window: the first one as it is, then `reducer(aggregate, value)`. */
  reduce(reducer: Reducer<V>, options?: WindowMaterializedOptions<K, V>): KTable<Windowed<K>, V>;

  /**
   * Combines the values of a key in a window: `aggregator(key, value, aggregate)`, beginning with
   * `initializer()`. Unlike without windows, the aggregator is given null values, too.
   */
  aggregate<A>(
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
    options?: WindowMaterializedOptions<K, A>,
  ): KTable<Windowed<K>, A>;
}

/** A table: the latest value per key, and the changes that lead there. */
export interface KTable<K, V> {
  /** Name of the store that the user asked for; null if the table has none of its own. */
  readonly queryableStoreName: string | null;

  /**
   * Keeps changes back until a window closes (`untilWindowCloses`) or for some time (`untilTimeLimit`),
   * and passes on the last one of each key.
   */
  suppress(suppressed: Suppressed<K>): KTable<K, V>;

  /** The table's changes as a stream: new values, null where a row was deleted. */
  toStream(options?: NamedOptions): KStream<K, V>;

  /** The same under new keys, as if `selectKey` followed. */
  toStream<KR>(mapper: KeyValueMapper<K, V, KR>, options?: ResultKeyOptions<KR>): KStream<KR, V>;
}
