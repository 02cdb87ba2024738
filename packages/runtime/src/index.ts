export * from './public-dsl.ts';

export { KafkaStreams } from './kafka-streams.ts';
export type { CloseOptions, KafkaStreamsOptions } from './kafka-streams-options.ts';
export type { StateChange, StreamsState } from './states.ts';
export type { RestoreProgress } from './restore/progress.ts';
export type { Metric, MetricTags } from './metrics/registry.ts';
export type { StreamsConfigInput } from './config/config-input.ts';
export { createLogger, silentLogger } from './logging/logger.ts';
export type {
  DeserializationExceptionHandler,
  ErrorHandlerContext,
  HandlerAnswer,
  ProductionExceptionHandler,
  UncaughtExceptionAnswer,
  UncaughtExceptionHandler,
} from './error-handlers.ts';
export {
  AssignmentVersionError,
  ConfigError,
  DeserializationError,
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
export type { ErrorContext, ErrorScope } from './errors.ts';
export { RecordHeaders } from '@millrace/protocol';
