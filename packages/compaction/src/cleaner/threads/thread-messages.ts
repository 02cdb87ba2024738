import {
  CleanerThreadError,
  CleaningAbortedError,
  CorruptBatchError,
  LogDirError,
  LogStoreError,
  StorageFullError,
} from '../../errors.ts';
import type { CleanedGroup, CleaningReport, CleaningTask } from '../cleaning-task.ts';

/** What a worker is started with; the memory is shared. */
export interface CleanerWorkerData {
  readonly mapBytes: number;
  readonly loadFactor: number;
  readonly bufferBytes: number;
  readonly throttle: SharedArrayBuffer;
  readonly abortFlag: SharedArrayBuffer;
}

/** A pass: `clean`, then after each group `swapped`, or `end` if it is not wanted any more. */
export type ToCleanerWorker =
  | { readonly type: 'clean'; readonly task: CleaningTask }
  | { readonly type: 'swapped' }
  | { readonly type: 'end' };

export type FromCleanerWorker =
  | { readonly type: 'group'; readonly group: CleanedGroup }
  | { readonly type: 'done'; readonly report: CleaningReport }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly error: PassErrorMessage };

export interface PassErrorMessage {
  readonly code: string;
  readonly message: string;
  readonly stack: string;
}

export function toPassErrorMessage(error: unknown): PassErrorMessage {
  const { message, stack } = error as Error;
  return {
    code: error instanceof LogStoreError ? error.code : '',
    message,
    stack: stack ?? '',
  };
}

type ErrorClass = new (message: string, options?: ErrorOptions) => Error;

const classes: Readonly<Record<string, ErrorClass>> = {
  LOG_CLEANING_ABORTED: CleaningAbortedError,
  LOG_CORRUPT_BATCH: CorruptBatchError,
  LOG_DIR_FAILED: LogDirError,
  LOG_STORAGE_FULL: StorageFullError,
};

/** The error again, of the class that it had where it was thrown. */
export function fromPassErrorMessage({ code, message, stack }: PassErrorMessage): Error {
  const known = classes[code];
  const error = known
    ? new known(message)
    : code === ''
      ? new CleanerThreadError(`a pass failed in an unforeseen way: ${message}`)
      : new LogStoreError(code, 'UNKNOWN_SERVER_ERROR', message);
  if (stack !== '') error.stack = stack;
  return error;
}
