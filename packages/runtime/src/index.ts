export * from './public-dsl.ts';

export { KafkaStreams } from './kafka-streams.ts';
export type {
  CloseOptions,
  KafkaStreamsOptions,
  RemoveStreamThreadOptions,
  StreamTaskMetadata,
  StreamThreadMetadata,
} from './kafka-streams-options.ts';
export type { TaskState } from './tasks/task-states.ts';
export type { ThreadState } from './tasks/thread-states.ts';
export type { StateChange, StreamsState } from './states.ts';
export type { StreamsHealth, ThreadHealth } from './health.ts';
export { closeOnSignals, type Closable, type CloseOnSignalsOptions } from './close-on-signals.ts';
export { connect, type ConnectOptions } from './topics/connect.ts';
export { GroupProgress, type PartitionProgress } from './topics/group-progress.ts';
export { lastRecords } from './topics/last-records.ts';
export {
  readTopic,
  type ReadFrom,
  type ReadRecord,
  type ReadTo,
  type TopicReaderOptions,
} from './topics/topic-reader.ts';
export { TopicWriter, type TopicWriterOptions, type WrittenRecord } from './topics/topic-writer.ts';
export type { KafkaClient } from './client/kafkajs/kafkajs-client.ts';
export type { ClusterAdmin } from './client/cluster/cluster-admin.ts';
export type { AdminPort, NewTopic, StreamsClient, TopicDescription } from './client/ports.ts';
export type { RestoreProgress } from './restore/progress.ts';
export type { Metric, MetricTags } from './metrics/registry.ts';
export type { RecordingLevel } from './metrics/definition.ts';
export type { StreamsConfigInput } from './config/config-input.ts';
export { createLogger, silentLogger } from './logging/logger.ts';
export { deadLetter } from './dead-letter.ts';
export type {
  DeadLetterRecord,
  DeserializationExceptionHandler,
  ErrorHandlerContext,
  FetchedRecord,
  HandlerAnswer,
  HandlerResponse,
  HandlerResult,
  ProcessedRecord,
  ProcessingExceptionHandler,
  ProducedRecord,
  ProductionAnswer,
  ProductionExceptionHandler,
  UncaughtExceptionAnswer,
  UncaughtExceptionHandler,
} from './error-handlers.ts';
export {
  ApplicationShutdownError,
  AssignmentVersionError,
  BufferFullError,
  CacheFlushError,
  ConfigError,
  DeserializationError,
  ExceptionHandlerError,
  InvalidTimestampError,
  InvariantError,
  MisconfiguredTopicError,
  MissingSourceTopicError,
  NoOffsetError,
  ProcessingError,
  ProductionError,
  RebalanceInProgressError,
  ShutdownError,
  StateDirLockedError,
  StorageFullError,
  StorageIoError,
  StreamsError,
  TaskCorruptedError,
  TaskMigratedError,
  TimeoutError,
  TopologyError,
} from './errors.ts';
export type { ErrorContext, ErrorScope, ProductionStage } from './errors.ts';
export { RecordHeaders, type RecordCursor } from '@millrace/protocol';
export type { StoreContext } from './state/store.ts';
