import type { RecordHeaders } from '@millrace/protocol';
import type { DeserializationError, ProductionError } from './errors.ts';

/** `fail` stops the stream thread with the error; `continue` drops the record and goes on. */
export type HandlerAnswer = 'fail' | 'continue';

/** Where a handler's error comes from: the source record that was being processed. */
export interface ErrorHandlerContext {
  /** `<subtopology>_<partition>`. */
  readonly taskId: string;
  /** The node that failed, as `describe()` names it; empty where none is known. */
  readonly processorNodeId: string;
  /** Of the source record; null while none is processed. */
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** Epoch ms; -1 none. */
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
  /** The source record's bytes as fetched; null also where they are no longer there. */
  readonly sourceRawKey: Buffer | null;
  readonly sourceRawValue: Buffer | null;
}

/** Asked when a record, or a whole record batch, cannot be read (KIP-161). */
export type DeserializationExceptionHandler = (
  context: ErrorHandlerContext,
  error: DeserializationError,
) => HandlerAnswer;

/** Asked when a record cannot be serialized or delivered (KIP-210). */
export type ProductionExceptionHandler = (
  context: ErrorHandlerContext,
  error: ProductionError,
) => HandlerAnswer;

/** A handler as the configuration takes it. */
export type DeserializationHandling = HandlerAnswer | DeserializationExceptionHandler;
export type ProductionHandling = HandlerAnswer | ProductionExceptionHandler;

/** What is done when a stream thread ends with an error (KIP-671). */
export type UncaughtExceptionAnswer = 'replace-thread' | 'shutdown-client';
export type UncaughtExceptionHandler = (
  error: Error,
  threadName: string,
) => UncaughtExceptionAnswer;
