import type { RecordHeaders } from '@millrace/protocol';
import type { DeserializationError, ProductionError } from './errors.ts';
import type { Awaitable } from './operators/outcome.ts';

/** `fail` stops the stream thread with the error; `continue` drops the record and goes on. */
export type HandlerAnswer = 'fail' | 'continue';

/**
 * `retry` is for records that were not acknowledged in time: what was processed since the last commit
 * is processed again. Where there is nothing to retry it counts as `fail`.
 */
export type ProductionAnswer = HandlerAnswer | 'retry';

/** A record that a handler wants to be written, in the same commit as the record that failed. */
export interface DeadLetterRecord {
  /** Must exist. */
  readonly topic: string;
  /** Default: as the default partitioner has it, by the key's bytes. */
  readonly partition?: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  /** Epoch ms; default: the clock's. */
  readonly timestamp?: number;
  readonly headers?: RecordHeaders | null;
}

/** An answer with records to write (KIP-1034); `deadLetter()` makes one as Kafka Streams does. */
export interface HandlerResponse<A extends ProductionAnswer = HandlerAnswer> {
  readonly answer: A;
  readonly deadLetterRecords?: readonly DeadLetterRecord[];
}

/** What a handler may return. */
export type HandlerResult<A extends ProductionAnswer = HandlerAnswer> = A | HandlerResponse<A>;

/** Where a handler's error comes from: the source record that was being processed. */
export interface ErrorHandlerContext {
  /** `<subtopology>_<partition>`; empty for records that a broker refused. */
  readonly taskId: string;
  /** The node that failed, as `describe()` names it; empty where none is known. */
  readonly processorNodeId: string;
  /** Of the source record; null while none is processed. */
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** Of the record that the node was given, epoch ms; -1 none. */
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
  /** The source record's bytes as fetched; null also where they are no longer there. */
  readonly sourceRawKey: Buffer | null;
  readonly sourceRawValue: Buffer | null;
}

/** The record that a node failed on, as the node was given it. */
export interface ProcessedRecord {
  readonly key: unknown;
  readonly value: unknown;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/** The record that was fetched, as bytes. A batch that cannot be read at all has none. */
export interface FetchedRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/**
 * The record that could not be written. Key and value are what a sink was given; bytes, where a broker
 * refused it (`error.stage` is `delivery`).
 */
export interface ProducedRecord {
  readonly topic: string;
  /** null: not chosen yet. */
  readonly partition: number | null;
  readonly key: unknown;
  readonly value: unknown;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/**
 * Asked when a node, or a function in it, fails on a record (KIP-1033): the innermost node that threw,
 * once per error. `error` is what was thrown. May be asynchronous. For a punctuation `record` is null.
 */
export type ProcessingExceptionHandler = (
  context: ErrorHandlerContext,
  record: ProcessedRecord | null,
  error: unknown,
) => Awaitable<HandlerResult>;

/** Asked when a record, or a whole record batch, cannot be read (KIP-161); synchronous. */
export type DeserializationExceptionHandler = (
  context: ErrorHandlerContext,
  record: FetchedRecord,
  error: DeserializationError,
) => HandlerResult;

/**
 * Asked when a record cannot be serialized or delivered (KIP-210, KIP-399); synchronous. A value of the
 * wrong type for its serde is no matter for it: that is the application's mistake.
 */
export type ProductionExceptionHandler = (
  context: ErrorHandlerContext,
  record: ProducedRecord,
  error: ProductionError,
) => HandlerResult<ProductionAnswer>;

/** A handler as the configuration takes it. The two words also write to the dead letter topic, if there is one. */
export type ProcessingHandling = HandlerAnswer | ProcessingExceptionHandler;
export type DeserializationHandling = HandlerAnswer | DeserializationExceptionHandler;
export type ProductionHandling = HandlerAnswer | ProductionExceptionHandler;

/**
 * What is done when a stream thread ends with an error (KIP-671): another thread takes its place, this
 * client stops, or all instances of the application do, as far as a stream thread of this client is still in
 * the group, which tells them. Threads are replaced 10 times within 10 minutes, later and later; an error that
 * comes back more often stops the client. That an internal topic is gone stops all instances, whatever is answered.
 */
export type UncaughtExceptionAnswer = 'replace-thread' | 'shutdown-client' | 'shutdown-application';
export type UncaughtExceptionHandler = (
  error: Error,
  threadName: string,
) => UncaughtExceptionAnswer;
