/** A timer that has not fired yet, or has; cancelling a fired one does nothing. */
export interface Timer {
  cancel(): void;
}

/** Time as the runtime sees it; injected, so that tests can turn it by hand. */
export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  /** Never goes back; for durations and deadlines. Milliseconds, with fractions. */
  monotonicMs(): number;
  /**
   * Calls `fn` once after `ms`. Keeps the process alive until it fires or is cancelled: an application
   * that waits for a broker to come back has no other handle.
   */
  setTimer(ms: number, fn: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (ms, fn) => {
    const handle = setTimeout(fn, ms);
    return {
      cancel: () => {
        clearTimeout(handle);
      },
    };
  },
};
