import type { Clock } from './clock.ts';
import { within } from './within.ts';

/** Steps of a stop that share one deadline. None of them can throw or last longer; what failed is kept by name. */
export class BoundedSteps {
  readonly leftUndone: string[] = [];
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #onError: (what: string, error: unknown) => void;

  constructor(clock: Clock, timeoutMs: number, onError: (what: string, error: unknown) => void) {
    this.#clock = clock;
    this.#deadlineMs = clock.monotonicMs() + timeoutMs;
    this.#onError = onError;
  }

  get leftMs(): number {
    return Math.max(this.#deadlineMs - this.#clock.monotonicMs(), 0);
  }

  async run(what: string, step: (leftMs: number) => Promise<unknown>): Promise<void> {
    try {
      const isDone = await within(this.#clock, this.leftMs, step(this.leftMs));
      if (!isDone) this.leftUndone.push(what);
    } catch (error) {
      this.#onError(what, error);
      this.leftUndone.push(what);
    }
  }
}
