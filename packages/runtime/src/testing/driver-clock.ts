import type { Clock, Timer } from '../platform/clock.ts';

/** A clock that stands still until it is advanced. */
export class DriverClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Set<{ readonly dueMs: number; readonly fn: () => void }>();
  #nowMs: number;

  constructor(startMs: number) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  setTimer(ms: number, fn: () => void): Timer {
    const timer = { dueMs: this.#nowMs + Math.max(ms, 0), fn };
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
      },
    };
  }

  /** Timers that are due on the way fire afterwards, the earliest first. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.#nowMs);
    due.sort((a, b) => a.dueMs - b.dueMs);
    for (const timer of due) {
      if (this.#timers.delete(timer)) timer.fn();
    }
  }
}
