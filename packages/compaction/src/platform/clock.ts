/** A timer that has not fired yet, or has; cancelling a fired one does nothing. */
export interface Timer {
  cancel(): void;
}

/** Time as the log store sees it; injected, so that tests can turn it by hand. */
export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  /** Never goes back; for durations. Milliseconds, with fractions. */
  monotonicMs(): number;
  /** Calls `fn` once after `ms`. Never keeps the process alive. */
  setTimer(ms: number, fn: () => void): Timer;
}

/** Node refuses longer delays (it fires at once); longer timers are set again when they fire. */
const LONGEST_NODE_DELAY_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (ms, fn) => {
    let handle: NodeJS.Timeout;
    const arm = (left: number): void => {
      const delay = Math.min(left, LONGEST_NODE_DELAY_MS);
      handle = setTimeout(() => {
        if (left > delay) arm(left - delay);
        else fn();
      }, delay);
      handle.unref();
    };
    arm(ms);
    return {
      cancel: () => {
        clearTimeout(handle);
      },
    };
  },
};

/** Never goes back, and is the same for all threads of the process, µs. */
export function processMicros(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
