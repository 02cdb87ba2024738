import type { Clock, Timer } from '../platform/clock.ts';

interface PendingTimer {
  readonly atMs: number;
  readonly sequence: number;
  readonly fn: () => void;
}

/** A clock that is turned by hand. Wall clock and monotonic time go together. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  readonly #timers = new Set<PendingTimer>();
  #sequence = 0;

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  setTimer(ms: number, fn: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(ms, 0), sequence: this.#sequence++, fn };
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
      },
    };
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Time goes on while something synchronous runs: nothing fires. */
  elapse(ms: number): void {
    this.#nowMs += ms;
  }

  /** Fires what is due on the way, in order, letting everything asynchronous settle after each. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const next = this.#next(untilMs);
      if (next === null) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  #next(untilMs: number): PendingTimer | null {
    let next: PendingTimer | null = null;
    for (const timer of this.#timers) {
      if (timer.atMs > untilMs) continue;
      if (
        next === null ||
        timer.atMs < next.atMs ||
        (timer.atMs === next.atMs && timer.sequence < next.sequence)
      ) {
        next = timer;
      }
    }
    return next;
  }
}

const SETTLE_TURNS = 20;

/** Lets promises and the event loop go on until nothing immediate is left, as far as can be known. */
export async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_TURNS; i++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
