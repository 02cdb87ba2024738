import type { Clock, Timer } from '../platform/clock.ts';

/** What a loop with nothing to do waits on: a call to `wake`, or a time. Costs nothing while it waits. */
export class LoopSleeper {
  readonly #clock: Clock;
  #isWoken = false;
  #end: (() => void) | null = null;
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    const end = this.#end;
    if (end === null) {
      this.#isWoken = true;
      return;
    }
    this.#end = null;
    this.#timer?.cancel();
    this.#timer = null;
    end();
  }

  /** Resolves at once if `wake` was called since the last sleep; Infinity means until it is. */
  sleep(ms: number): Promise<void> {
    if (this.#isWoken || ms <= 0) {
      this.#isWoken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#end = resolve;
      if (ms === Infinity) return;
      this.#timer = this.#clock.setTimer(Math.min(ms, 0x7fffffff), () => {
        this.#timer = null;
        this.wake();
      });
    });
  }

  /** What came in before the loop looks again is seen by that look. */
  clear(): void {
    this.#isWoken = false;
  }
}
