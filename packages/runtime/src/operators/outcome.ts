/** What a user function may return: its result, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** The record path asks this of every result of a user function; anything with a `then` counts. */
export function isPromise<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/** `undefined`: done. A promise: this record, and only this record, is asynchronous. */
export type Outcome = Promise<void> | undefined;

/** Of a function whose result does not matter, only when it is there. */
export function outcomeOf(result: unknown): Outcome {
  return isPromise(result) ? settled(result) : undefined;
}

async function settled(pending: PromiseLike<unknown>): Promise<void> {
  await pending;
}

/** One after the other. */
export function inOrder(first: Outcome, second: () => Outcome): Outcome {
  return first === undefined ? second() : first.then(second);
}
