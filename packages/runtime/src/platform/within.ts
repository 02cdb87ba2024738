import type { Clock } from './clock.ts';

/** Waits for a promise up to `ms`; false if it had not settled by then. Rejections are passed on while waiting. */
export async function within(
  clock: Clock,
  ms: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  let cancel: () => void = () => undefined;
  const late = new Promise<boolean>((resolve) => {
    const timer = clock.setTimer(Math.max(ms, 0), () => {
      resolve(false);
    });
    cancel = () => {
      timer.cancel();
    };
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    cancel();
    // Settling after the deadline is nobody's concern any more.
    promise.catch(() => undefined);
  }
}
