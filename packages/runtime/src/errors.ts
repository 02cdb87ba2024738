import { inspect } from 'node:util';

/**
 * What must be given up when an error arrives: the record in hand, the task, the stream thread, the
 * whole client, or the process.
 */
export type ErrorScope = 'record' | 'task' | 'thread' | 'client' | 'process';

/** Where it happened: topic, partition, offset, key, file, position ... as far as they are known. */
export type ErrorContext = Readonly<Record<string, string | number | bigint | boolean | null>>;

export interface ErrorOptions {
  readonly cause?: unknown;
  readonly context?: ErrorContext;
}

/** What was thrown in words; anything can be thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : inspect(thrown);
}

/** What an error says, as a part of another's message. */
export function reasonOf(error: unknown): string {
  const text = messageOf(error);
  return text.endsWith('.') ? text.slice(0, -1) : text;
}

const noContext: ErrorContext = Object.freeze({});

/**
 * Base of every error that the runtime throws on purpose. The class says what is done about it (one
 * table in tasks/ maps class to action), `code` is stable and documented, `retriable` means that the
 * same call may succeed later without anything else being done.
 */
export abstract class StreamsError extends Error {
  readonly code: string;
  readonly scope: ErrorScope;
  readonly retriable: boolean;
  readonly context: ErrorContext;

  constructor(
    code: string,
    scope: ErrorScope,
    retriable: boolean,
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.scope = scope;
    this.retriable = retriable;
    this.context = options.context ?? noContext;
  }
}

/** Wrong configuration; thrown before any I/O and lists every problem at once. */
export class ConfigError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('CONFIG_INVALID', 'process', false, message, options);
  }
}

/** A topology that cannot be built or run; thrown before any I/O and lists every problem at once. */
export class TopologyError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TOPOLOGY_INVALID', 'process', false, message, options);
  }
}

/** A record's key or value could not be read. The deserialization handler decides. */
export class DeserializationError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('DESERIALIZATION_FAILED', 'record', false, message, options);
  }
}

/** A record's time is negative, and its extractor refuses that. */
export class InvalidTimestampError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TIMESTAMP_INVALID', 'thread', false, message, options);
  }
}

/** A user function or a node failed on a record. The processing handler decides. */
export class ProcessingError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('PROCESSING_FAILED', 'record', false, message, options);
  }
}

/** Where a record's way out ended: in the key's serde, in the value's, or at the broker. */
export type ProductionStage = 'key' | 'value' | 'delivery';

/** A record could not be serialized or was refused by the broker. The production handler decides. */
export class ProductionError extends StreamsError {
  readonly stage: ProductionStage;

  constructor(message: string, options: ErrorOptions & { readonly stage?: ProductionStage } = {}) {
    super('PRODUCTION_FAILED', 'record', false, message, options);
    this.stage = options.stage ?? 'delivery';
  }
}

/** `suppress` holds more records or bytes than it may, and was told to stop then. */
export class BufferFullError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('BUFFER_FULL', 'record', false, message, options);
  }
}

/** A configured exception handler threw, or gave no valid answer. */
export class ExceptionHandlerError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('EXCEPTION_HANDLER_FAILED', 'thread', false, message, options);
  }
}

/** What a store's record cache let go before a commit could not be processed by the nodes below. */
export class CacheFlushError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('CACHE_FLUSH_FAILED', 'thread', false, message, options);
  }
}

/** The task belongs to another member by now (fenced, unknown member, illegal generation): close dirty, rejoin. */
export class TaskMigratedError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TASK_MIGRATED', 'task', false, message, options);
  }
}

/** What the task has in memory cannot be trusted: it is begun anew from what was committed. */
export class TaskCorruptedError extends StreamsError {
  /** What is on disk cannot be trusted either: it is wiped, and restored from the changelogs. */
  readonly wipesState: boolean;

  constructor(message: string, options: ErrorOptions & { readonly wipesState?: boolean } = {}) {
    super('TASK_CORRUPTED', 'task', false, message, options);
    this.wipesState = options.wipesState ?? false;
  }
}

/** Another process or thread holds the state directory; names the holder. */
export class StateDirLockedError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('STATE_DIR_LOCKED', 'task', true, message, options);
  }
}

/** The disk is full: stop cleanly, the last checkpoint stays valid. */
export class StorageFullError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('STORAGE_FULL', 'client', false, message, options);
  }
}

/** The disk failed: stop cleanly, the last checkpoint stays valid. */
export class StorageIoError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('STORAGE_IO', 'client', false, message, options);
  }
}

/** Something did not happen within its bound; retried until `task.timeout.ms`. */
export class TimeoutError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TIMEOUT', 'task', true, message, options);
  }
}

/** The group is rebalancing: nothing was committed, poll again. */
export class RebalanceInProgressError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('REBALANCE_IN_PROGRESS', 'thread', true, message, options);
  }
}

/** The client is shutting down or closed: the normal end of whatever was waiting. */
export class ShutdownError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('SHUTDOWN', 'client', false, message, options);
  }
}

/** An instance of the application has told all of them to stop (KIP-671): `'shutdown-application'`. */
export class ApplicationShutdownError extends StreamsError {
  /** The message of the error for which that instance did so. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    const message = `An instance of the application has told all of them to stop: ${reason}`;
    super('APPLICATION_SHUTDOWN', 'client', false, message, options);
    this.reason = reason;
  }
}

/** A bug of ours; never caught by retry code. */
export class InvariantError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('INVARIANT', 'process', false, message, options);
  }
}

/** There is no committed offset, or it is out of range, and the reset policy is `none`. */
export class NoOffsetError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('NO_OFFSET', 'client', false, message, options);
  }
}

/** A source topic of the topology does not exist; it is never created by the runtime. */
export class MissingSourceTopicError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('SOURCE_TOPIC_MISSING', 'client', false, message, options);
  }
}

/** An internal topic exists, but not as the topology needs it, or was deleted; or topics that must match do not. */
export class MisconfiguredTopicError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TOPIC_MISCONFIGURED', 'client', false, message, options);
  }
}

/** A member of the group speaks a version of the assignment that this one cannot read. */
export class AssignmentVersionError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('ASSIGNMENT_VERSION', 'client', false, message, options);
  }
}
