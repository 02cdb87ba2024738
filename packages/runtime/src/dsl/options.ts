import type { StreamPartitioner } from '../operators/record-collector.ts';
import type { Serde } from '../serdes/serde.ts';
import type { Logging } from '../state/store-options.ts';
import type { StoreType } from '../state/store.ts';
import type {
  KeyValueStoreSupplier,
  VersionedStoreSupplier,
  VersionedSupplierOptions,
  WindowStoreSupplier,
} from '../state/store-suppliers.ts';
import type { StoreBuilder } from '../state/store.ts';
import type { OffsetReset, TimestampExtractor } from '../topology/built-topology.ts';
import type { Duration } from './duration.ts';

/** Kafka Streams' `Named`: the operator's node has this name instead of a generated one. */
export interface NamedOptions {
  readonly name?: string | undefined;
}

export interface SerdeOptions<K, V> {
  readonly key?: Serde<K> | undefined;
  readonly value?: Serde<V> | undefined;
}

/** Kafka Streams' `Consumed`: how a topic is read. */
export interface ConsumedOptions<K, V> extends NamedOptions, SerdeOptions<K, V> {
  readonly timestampExtractor?: TimestampExtractor | undefined;
  /** Where to begin without a committed offset; default is the application's. */
  readonly offsetReset?: OffsetReset | undefined;
}

/** Kafka Streams' `Produced`: how a topic is written. */
export interface ProducedOptions<K, V> extends NamedOptions, SerdeOptions<K, V> {
  readonly partitioner?: StreamPartitioner<K, V> | undefined;
}

/** Kafka Streams' `Repartitioned`. `name` becomes part of the topic's name. */
export interface RepartitionedOptions<K, V> extends NamedOptions, SerdeOptions<K, V> {
  /** Partition count of the topic; by default that of what is repartitioned, or joined with. */
  readonly partitions?: number | undefined;
  readonly partitioner?: StreamPartitioner<K, V> | undefined;
}

export interface ProcessValuesOptions<V> extends NamedOptions {
  /** Serde of the values that the processor forwards. */
  readonly value?: Serde<V> | undefined;
  /** Stores that the processor may use: names of stores that are added elsewhere, or builders. */
  readonly stores?: readonly (string | StoreBuilder)[] | undefined;
}

export interface ProcessOptions<K, V> extends ProcessValuesOptions<V> {
  /** Serde of the keys that the processor forwards. */
  readonly key?: Serde<K> | undefined;
}

/** Kafka Streams' `Grouped`. `name` becomes part of the repartition topic's name, should one be needed. */
export type GroupedOptions<K, V> = NamedOptions & SerdeOptions<K, V>;

/** Kafka Streams' `Joined`, for stream-table joins: `key` and `value` are the stream's serdes. */
export interface JoinedOptions<K, V, VR> extends NamedOptions, SerdeOptions<K, V> {
  /** Serde of the values that the joiner makes. */
  readonly result?: Serde<VR> | undefined;
  /**
   * Holds records of the stream back for this long in stream time, so that rows of a versioned table
   * that come late are found (KIP-923). The table's history must be kept for as long. None by default.
   */
  readonly grace?: Duration | undefined;
}

/** For joins with a global table, which need no serdes of the stream. */
export interface GlobalJoinedOptions<VR> extends NamedOptions {
  /** Serde of the values that the joiner makes. */
  readonly result?: Serde<VR> | undefined;
}

/** Serde of the values that the operator makes; without it the next operator must name one. */
export interface ResultValueOptions<V> extends NamedOptions {
  readonly value?: Serde<V> | undefined;
}

export interface ResultKeyOptions<K> extends NamedOptions {
  readonly key?: Serde<K> | undefined;
}

/** What the stores behind all kinds of tables can be told. */
interface TableStoreOptions<K, V> extends NamedOptions, SerdeOptions<K, V> {
  /** The store's name, which also names its changelog topic. */
  readonly store?: string | undefined;
  /** `false`: no changelog. An object: topic configs for the changelog. */
  readonly logging?: Logging | undefined;
  /** `false`: no record cache, so every change is passed on at once. Default true. */
  readonly caching?: boolean | undefined;
  /** Default: what `dsl.store.suppliers.class` says. Not together with `supplier`. */
  readonly type?: StoreType | undefined;
}

/** Kafka Streams' `Materialized`: the store behind a table. */
export interface MaterializedOptions<K, V> extends TableStoreOptions<K, V> {
  /** A store with history (KIP-889, KIP-914), which has no cache; short for `storeSuppliers.versioned()`. */
  readonly versioned?: VersionedSupplierOptions | undefined;
  /** A store of another kind: one of `storeSuppliers`. */
  readonly supplier?: KeyValueStoreSupplier | VersionedStoreSupplier | undefined;
}

/** Of a table's `transformValues`. */
export interface TransformValuesOptions<K, V> extends MaterializedOptions<K, V> {
  /** Stores that the transformer uses: by name, or new ones, which are added then. */
  readonly stores?: readonly (string | StoreBuilder)[] | undefined;
}

/**
 * Of a join of tables. The result is stored if anything is said of its store; that one has a generated
 * name unless `store` gives it one.
 */
export interface TableJoinOptions<K, V> extends MaterializedOptions<K, V> {
  /** Serde of the values that the joiner makes; unlike `value` it brings no store. */
  readonly result?: Serde<V> | undefined;
}

export interface WindowMaterializedOptions<K, V> extends TableStoreOptions<K, V> {
  /**
   * How long the store keeps a window; at least the windows' size and grace, which is the default. A
   * supplier's own counts instead.
   */
  readonly retention?: Duration | undefined;
  /** A store of another kind: `storeSuppliers.window()`. */
  readonly supplier?: WindowStoreSupplier | undefined;
}
