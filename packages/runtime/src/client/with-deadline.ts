import type { Clock } from '../platform/clock.ts';

/**
 * Settles as `promise` does, or rejects with `onTimeout()` after `ms`, whichever comes first; what
 * `promise` does afterwards is ignored.
 */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(ms, () => {
      reject(onTimeout());
    });
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
