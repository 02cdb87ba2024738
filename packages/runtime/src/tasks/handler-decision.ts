import { deadLetter } from '../dead-letter.ts';
import type {
  DeadLetterRecord,
  ErrorHandlerContext,
  HandlerAnswer,
  HandlerResult,
  ProductionAnswer,
} from '../error-handlers.ts';
import { ExceptionHandlerError, reasonOf } from '../errors.ts';

/** A handler's answer, with what it wants to be written. */
export interface Decision<A extends ProductionAnswer = HandlerAnswer> {
  readonly answer: A;
  readonly deadLetters: readonly DeadLetterRecord[];
}

export const handlerAnswers: readonly string[] = ['fail', 'continue'];
export const productionAnswers: readonly string[] = [...handlerAnswers, 'retry'];

/** `fail` or `continue` as the configuration has it, which write dead letters if there is a topic for them. */
export function builtInDecision(
  answer: HandlerAnswer,
  topic: string | null,
  context: ErrorHandlerContext,
  error: unknown,
): Decision {
  return { answer, deadLetters: topic === null ? [] : [deadLetter(topic, context, error)] };
}

/** Calls a handler of the user's; one that throws or gives no valid answer is an ExceptionHandlerError. */
export function ask<A extends ProductionAnswer>(
  key: string,
  context: ErrorHandlerContext,
  valid: readonly string[],
  error: unknown,
  handler: () => HandlerResult<A>,
): Decision<A> {
  let result: HandlerResult<A>;
  try {
    result = handler();
  } catch (failure) {
    throw handlerFailed(key, context, failure, error);
  }
  return checked(key, context, result, valid, error);
}

/** The answer, if it is a valid one. */
export function checked<A extends ProductionAnswer>(
  key: string,
  context: ErrorHandlerContext,
  result: HandlerResult<A>,
  valid: readonly string[],
  error: unknown,
): Decision<A> {
  const response = (typeof result === 'object' ? result : { answer: result }) as {
    readonly answer: A;
    readonly deadLetterRecords?: readonly DeadLetterRecord[];
  } | null;
  if (response !== null && valid.includes(response.answer)) {
    return { answer: response.answer, deadLetters: response.deadLetterRecords ?? [] };
  }
  const given = response === null ? null : (response.answer as unknown);
  const failure = new TypeError(
    `it answered ${String(given)}; what it may answer is ${valid.join(', ')}`,
  );
  throw handlerFailed(key, context, failure, error);
}

/** `failure` is what went wrong in the handler, `error` what it was asked about. */
export function handlerFailed(
  key: string,
  { taskId: task, processorNodeId: node, topic, partition, offset }: ErrorHandlerContext,
  failure: unknown,
  error: unknown,
): ExceptionHandlerError {
  return new ExceptionHandlerError(
    `The function given as ${key} failed: ${reasonOf(failure)}. It was asked about: ${reasonOf(error)}`,
    { cause: failure, context: { task, node, topic, partition, offset } },
  );
}
