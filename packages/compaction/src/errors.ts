/** Kafka's names of the error codes that the log store's errors stand for on the wire. */
export type KafkaErrorName =
  | 'CORRUPT_MESSAGE'
  | 'FENCED_LEADER_EPOCH'
  | 'INCONSISTENT_TOPIC_ID'
  | 'INVALID_CONFIG'
  | 'INVALID_PRODUCER_EPOCH'
  | 'INVALID_RECORD'
  | 'INVALID_TIMESTAMP'
  | 'INVALID_TXN_STATE'
  | 'KAFKA_STORAGE_ERROR'
  | 'OFFSET_OUT_OF_RANGE'
  | 'OUT_OF_ORDER_SEQUENCE_NUMBER'
  | 'POLICY_VIOLATION'
  | 'RECORD_LIST_TOO_LARGE'
  | 'MESSAGE_TOO_LARGE'
  | 'TRANSACTION_COORDINATOR_FENCED'
  | 'UNKNOWN_SERVER_ERROR'
  | 'UNSUPPORTED_COMPRESSION_TYPE';

/**
 * Base of everything that the log store throws. `code` is stable and documented; `kafkaError` is the
 * name of the code that a broker answers with.
 */
export class LogStoreError extends Error {
  readonly code: string;
  readonly kafkaError: KafkaErrorName;

  constructor(code: string, kafkaError: KafkaErrorName, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.kafkaError = kafkaError;
  }
}

/** A batch whose CRC, lengths or offsets contradict each other, in a request or in a segment. */
export class CorruptBatchError extends LogStoreError {
  constructor(message: string, options?: ErrorOptions) {
    super('LOG_CORRUPT_BATCH', 'CORRUPT_MESSAGE', message, options);
  }
}

/** What is wrong with one record of a refused batch; `batchIndex` counts records from 0. */
export interface RecordError {
  readonly batchIndex: number;
  readonly message: string;
}

/** Records that a topic doesn't take: no key though it is compacted, client control batches ... */
export class InvalidRecordError extends LogStoreError {
  readonly recordErrors: readonly RecordError[];

  constructor(message: string, recordErrors: readonly RecordError[] = [], options?: ErrorOptions) {
    super('LOG_INVALID_RECORD', 'INVALID_RECORD', message, options);
    this.recordErrors = recordErrors;
  }
}

/** Timestamps outside message.timestamp.before.max.ms / after.max.ms. */
export class InvalidTimestampError extends LogStoreError {
  readonly recordErrors: readonly RecordError[];

  constructor(message: string, recordErrors: readonly RecordError[] = []) {
    super('LOG_INVALID_TIMESTAMP', 'INVALID_TIMESTAMP', message);
    this.recordErrors = recordErrors;
  }
}

/** A batch above max.message.bytes. */
export class RecordTooLargeError extends LogStoreError {
  constructor(message: string) {
    super('LOG_RECORD_TOO_LARGE', 'MESSAGE_TOO_LARGE', message);
  }
}

/** An append above segment.bytes: no segment could hold it. */
export class RecordBatchTooLargeError extends LogStoreError {
  constructor(message: string) {
    super('LOG_RECORD_BATCH_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', message);
  }
}

/** Codec bits that name no codec. */
export class UnsupportedCompressionError extends LogStoreError {
  constructor(message: string, options?: ErrorOptions) {
    super('LOG_UNSUPPORTED_COMPRESSION', 'UNSUPPORTED_COMPRESSION_TYPE', message, options);
  }
}

/** An offset below the log start or above the end (or above the high watermark, where that rules). */
export class OffsetOutOfRangeError extends LogStoreError {
  constructor(message: string) {
    super('LOG_OFFSET_OUT_OF_RANGE', 'OFFSET_OUT_OF_RANGE', message);
  }
}

/** A follower's append whose offsets go back, or lie below the log's end. */
export class UnexpectedAppendOffsetError extends LogStoreError {
  constructor(message: string) {
    super('LOG_UNEXPECTED_APPEND_OFFSET', 'UNKNOWN_SERVER_ERROR', message);
  }
}

/** An idempotent producer's sequence that is neither the next one nor a known repeat. */
export class OutOfOrderSequenceError extends LogStoreError {
  constructor(message: string) {
    super('LOG_OUT_OF_ORDER_SEQUENCE', 'OUT_OF_ORDER_SEQUENCE_NUMBER', message);
  }
}

/** A producer that a newer instance of itself has fenced. */
export class InvalidProducerEpochError extends LogStoreError {
  constructor(message: string) {
    super('LOG_INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_EPOCH', message);
  }
}

/** A plain write in the middle of its producer's transaction. */
export class InvalidTxnStateError extends LogStoreError {
  constructor(message: string) {
    super('LOG_INVALID_TXN_STATE', 'INVALID_TXN_STATE', message);
  }
}

/** A marker from a transaction coordinator that another one has replaced. */
export class CoordinatorFencedError extends LogStoreError {
  constructor(message: string) {
    super('LOG_COORDINATOR_FENCED', 'TRANSACTION_COORDINATOR_FENCED', message);
  }
}

/** Delete-records on a topic whose cleanup.policy has no `delete`. */
export class PolicyViolationError extends LogStoreError {
  constructor(message: string) {
    super('LOG_POLICY_VIOLATION', 'POLICY_VIOLATION', message);
  }
}

/** A directory that belongs to an earlier topic of the same name. */
export class InconsistentTopicIdError extends LogStoreError {
  constructor(message: string) {
    super('LOG_INCONSISTENT_TOPIC_ID', 'INCONSISTENT_TOPIC_ID', message);
  }
}

/** An offset that does not fit into its segment's 32-bit relative offsets. */
export class SegmentOverflowError extends LogStoreError {
  constructor(message: string) {
    super('LOG_SEGMENT_OVERFLOW', 'UNKNOWN_SERVER_ERROR', message);
  }
}

/** An index file that contradicts itself or its segment; start-up rebuilds it. */
export class CorruptIndexError extends LogStoreError {
  constructor(message: string) {
    super('LOG_CORRUPT_INDEX', 'KAFKA_STORAGE_ERROR', message);
  }
}

/** A producer snapshot that cannot be read; start-up goes back to the one before it. */
export class CorruptSnapshotError extends LogStoreError {
  constructor(message: string) {
    super('LOG_CORRUPT_SNAPSHOT', 'KAFKA_STORAGE_ERROR', message);
  }
}

/** A file operation failed: the message names operation, file, position and cause. */
export class LogDirError extends LogStoreError {
  constructor(message: string, options?: ErrorOptions) {
    super('LOG_DIR_FAILED', 'KAFKA_STORAGE_ERROR', message, options);
  }
}

/** No space left. The log is as it was before the operation; free space and try again. */
export class StorageFullError extends LogDirError {
  override readonly code = 'LOG_STORAGE_FULL';
}

/** Another process, or another part of this one, has the directory open. */
export class LogDirLockedError extends LogDirError {
  override readonly code = 'LOG_DIR_LOCKED';
}

/** Opening the directory would cut off or remove records, as a broker does after a kill. */
export class LogDirNeedsRecoveryError extends LogDirError {
  override readonly code = 'LOG_NEEDS_RECOVERY';
}

/** A text file of the log directory (checkpoint, meta.properties ...) that cannot be understood. */
export class MalformedFileError extends LogDirError {
  override readonly code = 'LOG_MALFORMED_FILE';
}

/** A pass of the cleaner that was ended from outside, or whose segments are gone. */
export class CleaningAbortedError extends LogStoreError {
  constructor(message: string) {
    super('LOG_CLEANING_ABORTED', 'UNKNOWN_SERVER_ERROR', message);
  }
}

/** A cleaner thread ended though nobody asked it to, or could not be started. */
export class CleanerThreadError extends LogStoreError {
  constructor(message: string, options?: ErrorOptions) {
    super('LOG_CLEANER_THREAD_FAILED', 'UNKNOWN_SERVER_ERROR', message, options);
  }
}

/** Something was asked of the cleaner for a partition that is not in the state for it: a fault of ours. */
export class CleaningStateError extends LogStoreError {
  constructor(message: string) {
    super('LOG_CLEANING_STATE', 'UNKNOWN_SERVER_ERROR', message);
  }
}

/** Wrong topic or broker settings, all of them in one message. */
export class ConfigError extends LogStoreError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('LOG_CONFIG_INVALID', 'INVALID_CONFIG', problems.join('; '));
    this.problems = problems;
  }
}

/** What was thrown, as an Error whatever it was. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);

/** What `toLogDirError` calls the syncing of a file. */
export const SYNC = 'sync';

/** Turns Node's error of a file operation into ours; our own pass through unchanged. */
export function toLogDirError(
  error: unknown,
  what: string,
  path: string,
  position?: number,
): Error {
  if (error instanceof LogStoreError) return error;
  const cause = toError(error);
  const at = position === undefined ? path : `${path} at byte ${String(position)}`;
  // A sync that finds no space has lost what was written before it: that is no full disk any more.
  const isFull =
    'code' in cause && typeof cause.code === 'string' && NO_SPACE.has(cause.code) && what !== SYNC;
  return isFull
    ? new StorageFullError(`no space left to ${what} ${at}: free space and try again`, { cause })
    : new LogDirError(`could not ${what} ${at}: ${cause.message}`, { cause });
}
