import type { Aggregator, Initializer, Reducer } from '../operators/aggregate.ts';
import type { KeyGuard, Predicate, ValueGuard } from '../operators/filter.ts';
import type { KeyValue, KeyValueMapper } from '../operators/map.ts';
import type { ValueMapper } from '../operators/map-values.ts';
import type { ForeachAction } from '../operators/peek.ts';
import type { FixedKeyProcessorSupplier, ProcessorSupplier } from '../operators/processor-api.ts';
import type { GlobalValueJoiner } from '../operators/stream-global-table-join.ts';
import type { ValueJoiner } from '../operators/stream-table-join.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import type { ValueTransformerSupplier } from '../operators/table-transform-values.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
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
  TableJoinOptions,
  TransformValuesOptions,
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

  /**
   * Joins each record with the row of a global table whose key the mapper names, if there is one. The
   * joiner is told both keys: `(left, right, key, mappedKey)`.
   */
  join<GK, R, VR>(
    table: GlobalKTable<GK, R>,
    keyMapper: KeyValueMapper<K, V, GK | null>,
    joiner: GlobalValueJoiner<K, V, GK, R, VR>,
    options?: GlobalJoinedOptions<VR>,
  ): KStream<K, VR>;

  /** Joins each record with the row of a global table whose key the mapper names, or with null. */
  leftJoin<GK, R, VR>(
    table: GlobalKTable<GK, R>,
    keyMapper: KeyValueMapper<K, V, GK | null>,
    joiner: GlobalValueJoiner<K, V, GK | null, R | null, VR>,
    options?: GlobalJoinedOptions<VR>,
  ): KStream<K, VR>;

  /**
   * The records as a table: the latest value per key, a null value deleting. Stored if it is given a
   * store's name, or if another operator reads it. Repartitions if keys have changed.
   */
  toTable(options?: MaterializedOptions<K, V>): KTable<K, V>;

  /**
   * Sends each record to the first branch whose predicate says true. The branches' names begin with
   * this one, or a generated one.
   */
  split<const P extends string = string>(
    options?: SplitOptions<P>,
  ): BranchedKStream<K, V, P, object>;

  /** Writes the records to an internal topic and reads them from there, spread by their keys again. */
  repartition(options?: RepartitionedOptions<K, V>): KStream<K, V>;

  /**
   * Puts each record to a processor, and goes on with what it forwards. What groups or joins by key is
   * repartitioned first.
   */
  process<KR = K, VR = V>(
    supplier: ProcessorSupplier<K, V, KR, VR>,
    options?: ProcessOptions<KR, VR>,
  ): KStream<KR, VR>;

  /** The same for a processor that keeps the keys: nothing is repartitioned for it. */
  processValues<VR = V>(
    supplier: FixedKeyProcessorSupplier<K, V, VR>,
    options?: ProcessValuesOptions<VR>,
  ): KStream<K, VR>;

  /** Writes the records to a topic, or to the one that the function names for each. They must exist. */
  to(topic: string | TopicNameExtractor<K, V>, options?: ProducedOptions<K, V>): void;
}

export interface SplitOptions<P extends string> {
  /** The node's name, with which the branches' names begin. */
  readonly name?: P | undefined;
}

export interface BranchOptions<K, V, N extends string, R> {
  /** Follows the name of `split()`; default is the branch's number from 1, and 0 for the default branch. */
  readonly name?: N | undefined;
  /**
   * Called with the branch. The stream that it returns stands for the branch in the result; a branch
   * for which it returns nothing is left out of the result.
   */
  readonly use?: ((branch: KStream<K, V>) => R) | undefined;
}

/** What one branch adds to the result of a split. */
export type Branch<P extends string, N extends string, R> = R extends object
  ? { readonly [Name in `${P}${N}`]: R }
  : object;

/** A stream being split: branches, then `defaultBranch` or `noDefaultBranch` for the result. */
export interface BranchedKStream<K, V, P extends string, B> {
  /** Takes the records for which the predicate says true, and no branch before did. */
  branch<VR extends V, const N extends string = string, R = KStream<K, VR>>(
    predicate: ValueGuard<K, V, VR>,
    options?: BranchOptions<K, VR, N, R>,
  ): BranchedKStream<K, V, P, B & Branch<P, N, R>>;
  branch<const N extends string = string, R = KStream<K, V>>(
    predicate: Predicate<K, V>,
    options?: BranchOptions<K, V, N, R>,
  ): BranchedKStream<K, V, P, B & Branch<P, N, R>>;

  /** Takes what no branch took. Returns the branches by name. */
  defaultBranch<const N extends string = '0', R = KStream<K, V>>(
    options?: BranchOptions<K, V, N, R>,
  ): B & Branch<P, N, R>;

  /** What no branch took is left out. Returns the branches by name. */
  noDefaultBranch(): B;
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

/** A table grouped by a new key, about to be aggregated: as rows come, change and go, so do the aggregates. */
export interface KGroupedTable<K, V> {
  /** Number of rows per group. A group that has lost all its rows keeps the count 0. */
  count(options?: MaterializedOptions<K, number>): KTable<K, number>;

  /**
   * Combines the values of a group: the first one as it is, then `adder(aggregate, value)`.
   * `subtractor(aggregate, value)` takes a value out that a row no longer has; null deletes the group.
   */
  reduce(
    adder: Reducer<V>,
    subtractor: Reducer<V>,
    options?: MaterializedOptions<K, V>,
  ): KTable<K, V>;

  /**
   * Combines the values of a group: `adder(key, value, aggregate)`, beginning with `initializer()`, and
   * `subtractor(key, value, aggregate)` for a value that a row no longer has. Null deletes the group.
   */
  aggregate<A>(
    initializer: Initializer<A>,
    adder: Aggregator<K, V, A>,
    subtractor: Aggregator<K, V, A>,
    options?: MaterializedOptions<K, A>,
  ): KTable<K, A>;
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

  /**
   * Keeps the rows for which the predicate says true; for others the result has no row. A type guard
   * narrows the table's type.
   */
  filter<VR extends V>(
    predicate: ValueGuard<K, V, VR>,
    options?: MaterializedOptions<K, VR>,
  ): KTable<K, VR>;
  filter(predicate: Predicate<K, V>, options?: MaterializedOptions<K, V>): KTable<K, V>;

  /** Keeps the rows for which the predicate does not say true. */
  filterNot<VX extends V>(
    predicate: ValueGuard<K, V, VX>,
    options?: MaterializedOptions<K, Exclude<V, VX>>,
  ): KTable<K, Exclude<V, VX>>;
  filterNot(predicate: Predicate<K, V>, options?: MaterializedOptions<K, V>): KTable<K, V>;

  /** Each row with a new value; null gives no row. The function is never given null. */
  mapValues<VR>(
    mapper: ValueMapper<K, V, VR | null>,
    options?: MaterializedOptions<K, VR>,
  ): KTable<K, VR>;

  /** Each row with a value made by a transformer, which may use state stores. It is given null for deleted rows. */
  transformValues<VR>(
    supplier: ValueTransformerSupplier<K, V, VR>,
    options?: TransformValuesOptions<K, VR>,
  ): KTable<K, VR>;

  /**
   * Groups the rows by a new key, with a new value each; always repartitions. A row whose new key or value
   * is null belongs to no group.
   */
  groupBy<KR, VR>(
    mapper: KeyValueMapper<K, V, KeyValue<KR | null, VR | null>>,
    options?: GroupedOptions<KR, VR>,
  ): KGroupedTable<KR, VR>;

  /** Joins the rows that have the same key in both tables; changes whenever one of them does. */
  join<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V, R, VR | null>,
    options?: TableJoinOptions<K, VR>,
  ): KTable<K, VR>;

  /** Joins each row with the other table's row under the same key, or with null. */
  leftJoin<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V, R | null, VR | null>,
    options?: TableJoinOptions<K, VR>,
  ): KTable<K, VR>;

  /** Joins the rows of both tables; where one has none under a key, the joiner is given null for it. */
  outerJoin<R, VR>(
    other: KTable<K, R>,
    joiner: ValueJoiner<K, V | null, R | null, VR | null>,
    options?: TableJoinOptions<K, VR>,
  ): KTable<K, VR>;

  /**
   * The table's changes as a stream: new values, null where a row was deleted. With a mapper under new
   * keys, as if `selectKey` followed.
   */
  toStream<KR>(mapper: KeyValueMapper<K, V, KR>, options?: ResultKeyOptions<KR>): KStream<KR, V>;
  // Not the other way round: a function has a name, so it would do for options.
  toStream(options?: NamedOptions): KStream<K, V>;
}

declare const rowTypes: unique symbol;

/**
 * A table that every instance of the application holds as a whole (KIP-99): complete before the first
 * record is processed, then kept up to date. Streams join it by any key, whatever their partitions.
 */
export interface GlobalKTable<K, V> {
  readonly isGlobal: true;
  /** Name of the store that the user asked for; null if none was named. */
  readonly queryableStoreName: string | null;
  /** Only for types. */
  readonly [rowTypes]?: readonly [K, V];
}
