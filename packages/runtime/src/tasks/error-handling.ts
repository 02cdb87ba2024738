import type { RecordHeaders } from '@millrace/protocol';
import type {
  DeserializationHandling,
  ErrorHandlerContext,
  HandlerAnswer,
  ProcessedRecord,
  ProcessingHandling,
  ProducedRecord,
  ProductionAnswer,
  ProductionHandling,
} from '../error-handlers.ts';
import type { DeserializationError, ProductionError } from '../errors.ts';
import { ProcessingError, reasonOf, StreamsError, TopologyError } from '../errors.ts';
import { isPromise, type Outcome } from '../operators/outcome.ts';
import type { ProcessingFailures } from '../operators/node-entry.ts';
import type { DeadLetters } from './dead-letters.ts';
import {
  ask,
  builtInDecision,
  checked,
  handlerAnswers,
  handlerFailed,
  productionAnswers,
  type Decision,
} from './handler-decision.ts';
import type { RecordQueue } from './record-queue.ts';
import type { StreamTaskContext } from './stream-task-context.ts';

/** What the configuration says about records that cannot be read, processed or written. */
export interface ErrorHandling {
  readonly deserialization: DeserializationHandling;
  readonly processing: ProcessingHandling;
  readonly production: ProductionHandling;
  /** `errors.dead.letter.queue.topic.name`: where `fail` and `continue` write what they gave up. */
  readonly deadLetterTopic: string | null;
}

/** Whether a dead letter, or a handler of the user's, may need the bytes of a record that a cache has kept. */
export function asksForRawRecords(handling: ErrorHandling): boolean {
  const { processing, production, deadLetterTopic } = handling;
  return (
    deadLetterTopic !== null || typeof processing === 'function' || typeof production === 'function'
  );
}

export interface TaskErrorsOptions {
  /** `<subtopology>_<partition>`. */
  readonly taskName: string;
  readonly handling: ErrorHandling;
  readonly context: StreamTaskContext;
  readonly deadLetters: DeadLetters;
}

/**
 * A task's exception handlers (KIP-161, KIP-210, KIP-1033): asks the configured one, writes the dead
 * letters that it answers with, counts and logs what is dropped, and turns `fail` into an error that
 * names node and record. A handler that throws, or gives no valid answer, ends the thread.
 */
export class TaskErrors implements ProcessingFailures {
  readonly #options: TaskErrorsOptions;

  constructor(options: TaskErrorsOptions) {
    this.#options = options;
  }

  // --------------------------------------------------------------------------------- processing

  failed(
    node: { readonly name: string },
    error: unknown,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (isDecided(error)) throw error;
    const context = this.#context(node.name, timestamp, headers);
    return this.#processingFailed(context, { key, value, timestamp, headers }, error, 'record');
  }

  /** The same for a punctuation, which has no record; `timestamp` is the time that it was called with. */
  punctuationFailed(node: { readonly name: string }, error: unknown, timestamp: number): Outcome {
    if (isDecided(error)) throw error;
    const context = this.#context(node.name, timestamp, null);
    return this.#processingFailed(context, null, error, 'punctuation');
  }

  #processingFailed(
    context: ErrorHandlerContext,
    record: ProcessedRecord | null,
    error: unknown,
    what: string,
  ): Outcome {
    const key = 'processing.exception.handler';
    const handler = this.#options.handling.processing;
    const settle = (decision: Decision): void => {
      this.#options.deadLetters.write(decision.deadLetters);
      if (decision.answer === 'fail') throw processingError(context, error, what);
      this.#dropped(context, 'processing failed', error);
    };
    if (typeof handler !== 'function') {
      settle(this.#builtIn(handler, context, error));
      return undefined;
    }
    let result: ReturnType<typeof handler>;
    try {
      result = handler(context, record, error);
    } catch (failure) {
      throw handlerFailed(key, context, failure, error);
    }
    if (!isPromise(result)) {
      settle(checked(key, context, result, handlerAnswers, error));
      return undefined;
    }
    return Promise.resolve(result).then(
      (answer) => {
        settle(checked(key, context, answer, handlerAnswers, error));
      },
      (failure: unknown) => {
        throw handlerFailed(key, context, failure, error);
      },
    );
  }

  // ---------------------------------------------------------------------------- deserialization

  /** Of the queue's head; `hasRecord` is false if not even the batch could be read. */
  undecodable(error: DeserializationError, queue: RecordQueue, hasRecord: boolean): HandlerAnswer {
    const { context: task, handling } = this.#options;
    // Another queue's record may be in hand while this one reads its first.
    const inHand = task.queue;
    task.queue = queue;
    const bytes = hasRecord ? queue.headBytes() : { key: null, value: null };
    const timestamp = hasRecord ? queue.recordTimestamp : -1;
    const headers = hasRecord ? queue.headHeaders() : null;
    const offset = error.context['offset'];
    const context: ErrorHandlerContext = {
      ...this.#context(queue.source.name, timestamp, headers),
      offset: typeof offset === 'bigint' ? offset : task.offset(),
      sourceRawKey: bytes.key,
      sourceRawValue: bytes.value,
    };
    task.queue = inHand;
    const key = 'deserialization.exception.handler';
    const handler = handling.deserialization;
    let decision: Decision;
    if (typeof handler === 'function') {
      decision = ask(key, context, handlerAnswers, error, () =>
        handler(context, { ...bytes, timestamp, headers }, error),
      );
    } else {
      decision = this.#builtIn(handler, context, error.cause ?? error);
    }
    this.#options.deadLetters.write(decision.deadLetters);
    if (decision.answer === 'continue') {
      this.#dropped(context, 'cannot be deserialized', error);
    }
    return decision.answer;
  }

  // --------------------------------------------------------------------------------- production

  /** Returns if the record is to be left out; throws what `fail` means. */
  unwritable(node: string, record: ProducedRecord, error: ProductionError): void {
    const key = 'production.exception.handler';
    const context = this.#context(node, record.timestamp, record.headers);
    const handler = this.#options.handling.production;
    const decision: Decision<ProductionAnswer> =
      typeof handler === 'function'
        ? ask(key, context, productionAnswers, error, () => handler(context, record, error))
        : this.#builtIn(handler, context, error.cause ?? error);
    this.#options.deadLetters.write(decision.deadLetters);
    if (decision.answer !== 'continue') throw error;
    this.#dropped(context, 'cannot be produced', error);
  }

  // ------------------------------------------------------------------------------------ private

  #builtIn(answer: HandlerAnswer, context: ErrorHandlerContext, error: unknown): Decision {
    return builtInDecision(answer, this.#options.handling.deadLetterTopic, context, error);
  }

  #dropped(context: ErrorHandlerContext, reason: string, error: unknown): void {
    this.#options.context.dropped.record(context.processorNodeId, reason, {
      topic: context.topic,
      partition: context.partition,
      offset: context.offset.toString(),
      err: error,
    });
  }

  #context(
    processorNodeId: string,
    timestamp: number,
    headers: RecordHeaders | null,
  ): ErrorHandlerContext {
    const { context, taskName } = this.#options;
    const { origin, queue } = context;
    const bytes =
      origin === null ? queue?.headBytes() : { key: origin.rawKey, value: origin.rawValue };
    return {
      taskId: taskName,
      processorNodeId,
      topic: context.topic,
      partition: context.partition,
      offset: context.offset(),
      timestamp,
      headers,
      sourceRawKey: bytes?.key ?? null,
      sourceRawValue: bytes?.value ?? null,
    };
  }
}

/** What a handler's `fail` has thrown, on its way up. */
const decided = new WeakSet<StreamsError>();

/**
 * What passes up without being asked about: what a handler has decided already, and what is no
 * record's fault (the task is migrated or corrupted, the client stops, a disk fails ...).
 */
function isDecided(error: unknown): boolean {
  if (!(error instanceof StreamsError)) return false;
  return decided.has(error) || (error.scope !== 'record' && !(error instanceof TopologyError));
}

/** The error of a record or punctuation, with its place. */
export function processingError(
  context: Pick<
    ErrorHandlerContext,
    'taskId' | 'processorNodeId' | 'topic' | 'partition' | 'offset'
  >,
  cause: unknown,
  what: string,
): ProcessingError {
  const { taskId: task, processorNodeId: node, topic, partition, offset } = context;
  const of =
    topic === null ? what : `${what} of ${topic}-${String(partition)} at offset ${String(offset)}`;
  const at = node === '' ? `Task ${task}` : `${node} (task ${task})`;
  const error = new ProcessingError(`${at} failed on the ${of}: ${reasonOf(cause)}`, {
    cause,
    context: { task, node, topic, partition, offset },
  });
  decided.add(error);
  return error;
}
