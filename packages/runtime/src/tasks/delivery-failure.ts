import type { Logger } from 'pino';
import { RecordTooLargeError } from '../client/errors.ts';
import type { UndeliveredBatch, UndeliveredRecord } from '../client/ports.ts';
import type {
  ErrorHandlerContext,
  ProductionAnswer,
  ProductionHandling,
} from '../error-handlers.ts';
import { ProductionError, StreamsError, TaskCorruptedError } from '../errors.ts';
import type { DeadLetters } from './dead-letters.ts';
import { ask, builtInDecision, productionAnswers, type Decision } from './handler-decision.ts';

export interface DeliveryFailuresOptions {
  readonly production: ProductionHandling;
  readonly deadLetterTopic: string | null;
  readonly deadLetters: DeadLetters;
  /** Topics that dead letters went to: there is no dead letter of a dead letter. */
  readonly isDeadLetterTopic: (topic: string) => boolean;
  readonly logger: Logger;
}

/**
 * What a stream thread does about records that were not delivered (KIP-210). The production handler is
 * asked about each of them. Which records they come from is no longer known, so the context names
 * none, and their own bytes take the place of the source record's.
 *
 * Not acknowledged in time (KIP-1065's `retry`; what `fail` and `continue` mean, too): everything since
 * the last commit is processed again, because what is lost cannot be told from what is not. Refused
 * for good: `fail` ends the thread, `continue` drops the record. Other errors, such as missing rights,
 * are never asked about.
 */
export class DeliveryFailures {
  readonly #options: DeliveryFailuresOptions;

  constructor(options: DeliveryFailuresOptions) {
    this.#options = options;
  }

  /** What the next flush throws; null if the handler lets all of the records go. */
  undelivered(batch: UndeliveredBatch): Error | null {
    const { topic, partition, error, recordCount } = batch;
    const isLate = error instanceof StreamsError && error.retriable;
    const isRefused = error instanceof ProductionError || error instanceof RecordTooLargeError;
    if (!isLate && !isRefused) return error;
    const context = { topic, partition, recordCount };
    const failure =
      error instanceof ProductionError
        ? error
        : new ProductionError(error.message, { cause: error, context });
    if (this.#options.isDeadLetterTopic(topic)) return failure;
    try {
      for (const record of batch.records()) {
        const answer = this.#ask(batch, record, failure, isLate);
        if (answer === 'continue') continue;
        if (answer === 'fail' || !isLate) return failure;
        return new TaskCorruptedError(
          `${error.message}. What was processed since the last commit is processed again`,
          { cause: error, context },
        );
      }
    } catch (handlerError) {
      return handlerError as Error;
    }
    this.#options.logger.warn(
      { err: error, topic, partition, recordCount },
      'records were not delivered and are dropped',
    );
    return null;
  }

  #ask(
    { topic, partition }: UndeliveredBatch,
    record: UndeliveredRecord,
    error: ProductionError,
    isLate: boolean,
  ): ProductionAnswer {
    const { production, deadLetterTopic, deadLetters } = this.#options;
    const context: ErrorHandlerContext = {
      taskId: '',
      processorNodeId: '',
      topic: null,
      partition: -1,
      offset: -1n,
      timestamp: record.timestamp,
      headers: record.headers,
      sourceRawKey: record.key,
      sourceRawValue: record.value,
    };
    let decision: Decision<ProductionAnswer>;
    if (typeof production === 'function') {
      const key = 'production.exception.handler';
      decision = ask(key, context, productionAnswers, error, () =>
        production(context, { topic, partition, ...record }, error),
      );
    } else if (isLate) {
      decision = { answer: 'retry', deadLetters: [] };
    } else {
      decision = builtInDecision(production, deadLetterTopic, context, error.cause ?? error);
    }
    deadLetters.write(decision.deadLetters);
    return decision.answer;
  }
}
