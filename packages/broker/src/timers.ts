import type { Clock, Timer } from '@millrace/compaction';

/**
 * One deadline that is moved far more often than it is reached (a member's session moves with every
 * heartbeat): moving it later costs no timer, the timer re-arms itself for what is left.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #onReached: () => void;
  #timer: Timer | undefined;
  #firesAt = 0;
  #deadline = 0;

  constructor(clock: Clock, onReached: () => void) {
    this.#clock = clock;
    this.#onReached = onReached;
  }

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** Sets or moves the deadline to `ms` from now; a negative `ms` counts as 0. */
  set(ms: number): void {
    this.#deadline = this.#clock.monotonicMs() + Math.max(ms, 0);
    if (this.#timer !== undefined && this.#firesAt <= this.#deadline) return;
    this.#timer?.cancel();
    this.#arm(Math.max(ms, 0));
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#firesAt = this.#clock.monotonicMs() + ms;
    this.#timer = this.#clock.setTimer(ms, () => {
      // Whole milliseconds: a timer may fire a fraction early, which must not spin.
      const left = Math.ceil(this.#deadline - this.#clock.monotonicMs());
      if (left > 0) {
        this.#arm(left);
        return;
      }
      this.#timer = undefined;
      this.#onReached();
    });
  }
}

/** A single delayed action per holder: starting it again replaces the one before. */
export class Delay {
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  start(ms: number, action: () => void): void {
    this.cancel();
    this.#timer = this.#clock.setTimer(Math.max(ms, 0), () => {
      this.#timer = undefined;
      action();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
