import type { Clock, Timer } from './clock.ts';

interface Pending {
  readonly due: number;
  readonly fn: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  #pending: Pending[] = [];

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  setTimer(ms: number, fn: () => void): Timer {
    const pending: Pending = { due: this.#monotonic + ms, fn };
    this.#pending.push(pending);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((one) => one !== pending);
      },
    };
  }

  get timerCount(): number {
    return this.#pending.length;
  }

  /** Moves both clocks on and fires what is due, in order of due time. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const next = this.#pending
        .filter((one) => one.due <= end)
        .sort((a, b) => a.due - b.due)
        .at(0);
      if (!next) break;
      this.#pending = this.#pending.filter((one) => one !== next);
      const step = Math.max(0, next.due - this.#monotonic);
      this.#monotonic += step;
      this.#now += step;
      next.fn();
    }
    this.#now += end - this.#monotonic;
    this.#monotonic = end;
  }

  /** Sets the wall clock alone, as an administrator would. */
  setNow(now: number): void {
    this.#now = now;
  }
}
