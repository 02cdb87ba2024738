import type {
  DeserializationHandling,
  ErrorHandlerContext,
  HandlerAnswer,
  ProductionHandling,
} from '../error-handlers.ts';
import type { DeserializationError, ProductionError } from '../errors.ts';
import type { StreamTaskContext } from './stream-task-context.ts';

/** What the configuration says about records that cannot be read or written. */
export interface ErrorHandling {
  readonly deserialization: DeserializationHandling;
  readonly production: ProductionHandling;
}

/** Asks the handler; a record that it drops is counted and logged. A handler that throws means `fail`. */
export function decideOnDeserialization(
  handling: ErrorHandling,
  task: StreamTaskContext,
  context: ErrorHandlerContext,
  error: DeserializationError,
): HandlerAnswer {
  const handler = handling.deserialization;
  const answer = typeof handler === 'function' ? handler(context, error) : handler;
  return settle(answer, task, context, error, 'cannot be deserialized');
}

export function decideOnProduction(
  handling: ErrorHandling,
  task: StreamTaskContext,
  context: ErrorHandlerContext,
  error: ProductionError,
): HandlerAnswer {
  const handler = handling.production;
  const answer = typeof handler === 'function' ? handler(context, error) : handler;
  return settle(answer, task, context, error, 'cannot be produced');
}

function settle(
  answer: HandlerAnswer,
  task: StreamTaskContext,
  context: ErrorHandlerContext,
  error: Error,
  reason: string,
): HandlerAnswer {
  if (answer !== 'continue') return 'fail';
  task.dropped.record(context.processorNodeId, reason, {
    topic: context.topic,
    partition: context.partition,
    offset: context.offset.toString(),
    err: error,
  });
  return 'continue';
}
