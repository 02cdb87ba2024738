// The parts of the public API that describe a topology; `index.ts` exports them with the rest.
export type { Duration } from './dsl/duration.ts';
export type { GlobalStoreOptions, GlobalTableOptions } from './dsl/global-ktable.ts';
export type { GlobalKTable } from './dsl/streams.ts';
export { byDuration } from './dsl/offset-reset.ts';
export type {
  ConsumedOptions,
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
} from './dsl/options.ts';
export {
  StreamsBuilder,
  type BuildConfig,
  type StreamsBuilderOptions,
  type TableOptions,
} from './dsl/streams-builder.ts';
export type {
  Branch,
  BranchedKStream,
  BranchOptions,
  KGroupedStream,
  KGroupedTable,
  KStream,
  KTable,
  SplitOptions,
  TimeWindowedKStream,
} from './dsl/streams.ts';
export {
  untilTimeLimit,
  untilWindowCloses,
  type SuppressBufferOptions,
  type Suppressed,
  type UntilTimeLimitOptions,
  type UntilWindowClosesOptions,
} from './dsl/suppressed.ts';
export { timeWindows, TimeWindows, type TimeWindowsOptions } from './dsl/time-windows.ts';

export type { Aggregator, Initializer, Reducer } from './operators/aggregate.ts';
export type { KeyGuard, Predicate, ValueGuard } from './operators/filter.ts';
export type { KeyValue, KeyValueMapper } from './operators/map.ts';
export type { ValueMapper } from './operators/map-values.ts';
export type { Awaitable } from './operators/outcome.ts';
export type { ForeachAction } from './operators/peek.ts';
export type {
  FixedKeyProcessor,
  FixedKeyProcessorContext,
  FixedKeyProcessorSupplier,
  ProcessingContext,
  Processor,
  ProcessorContext,
  ProcessorSupplier,
  RecordMetadata,
  Supplier,
} from './operators/processor-api.ts';
export { ProcessorUsageError } from './operators/processor-usage-error.ts';
export type {
  Cancellable,
  PunctuationType,
  Punctuator,
  ScheduleOptions,
} from './operators/punctuation.ts';
export { StreamRecord, type FixedKeyRecord, type RecordParts } from './operators/stream-record.ts';
export type { RecordContext, TopicNameExtractor } from './operators/topic-name-extractor.ts';
export { ProcessorNode, type Outcome } from './operators/processor-node.ts';
export type { GlobalValueJoiner } from './operators/stream-global-table-join.ts';
export type { ValueJoiner } from './operators/stream-table-join.ts';
export type {
  TransformerContext,
  ValueTransformer,
  ValueTransformerSupplier,
} from './operators/table-transform-values.ts';

export type { ListOptions } from './serdes/list.ts';
export type { RecordSerde, Serde, Snapshot } from './serdes/serde.ts';
export { serdes, type CustomSerdeOptions } from './serdes/serdes.ts';
export type { StringEncoding } from './serdes/string-encodings.ts';
export type { SchemaOptions } from './serdes/validation.ts';
export { SerializationError, WrongTypeError } from './serdes/serialization-error.ts';
export { Windowed } from './serdes/windowed-key.ts';

export type {
  KeyValueEntry,
  KeyValuePut,
  KeyValueStore,
  ReadOnlyKeyValueStore,
} from './state/key-value-store.ts';
export type { ReadOnlySessionStore, SessionEntry, SessionStore } from './state/session-store.ts';
export {
  stores,
  type KeyValueStoreOptions,
  type LruStoreOptions,
  type SessionStoreOptions,
  type VersionedStoreOptions,
  type WindowStoreOptions,
} from './state/stores.ts';
export type { CachedStoreOptions, Logging, StoreOptions } from './state/store-options.ts';
export {
  storeSuppliers,
  type KeyValueStoreSupplier,
  type KeyValueSupplierOptions,
  type LruSupplierOptions,
  type SessionStoreSupplier,
  type SessionSupplierOptions,
  type VersionedStoreSupplier,
  type VersionedSupplierOptions,
  type WindowStoreSupplier,
  type WindowSupplierOptions,
} from './state/store-suppliers.ts';
export {
  PUT_LATEST,
  PUT_NOT_PUT,
  type ReadOnlyVersionedStore,
  type VersionedKeyValueStore,
  type VersionedRecord,
} from './state/versioned-store.ts';
export type { StateStore, StoreBuilder, StoreSettings, StoreType } from './state/store.ts';
export type { ReadOnlyWindowStore, WindowEntry, WindowStore } from './state/window-store.ts';

export type { BindOptions } from './topology/bind.ts';
export type {
  BuiltTopology,
  ByDuration,
  Changelog,
  ExtractedRecord,
  GlobalTopology,
  InternalTopic,
  OffsetReset,
  SourceNode,
  Subtopology,
  TaskTopology,
  TimestampExtractor,
} from './topology/built-topology.ts';
export { TopologyDescription } from './topology/describe.ts';
export type { NodeDescription, SubtopologyDescription } from './topology/node-description.ts';
export {
  failOnInvalidTimestamp,
  logAndSkipOnInvalidTimestamp,
  usePartitionTimeOnInvalidTimestamp,
  wallclockTimestamp,
} from './topology/timestamp-extractors.ts';
export {
  bindTopology,
  Topology,
  type DefaultSerdes,
  type TopologySinkOptions,
  type TopologySourceOptions,
} from './topology/topology.ts';

export type { RecordOrigin, TaskContext, TaskId } from './operators/task-context.ts';
export type {
  RecordCollector,
  StreamPartitioner,
  TopicSender,
} from './operators/record-collector.ts';
export type { PartitionAppender } from './state/partition-appender.ts';
