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
