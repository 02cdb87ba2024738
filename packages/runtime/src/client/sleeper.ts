import { InvariantError, ShutdownError } from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';

/** The waits of one client part; closing ends them all, so that no timer outlives its owner. */
export class Sleeper {
  readonly #clock: Clock;
  readonly #sleeping = new Set<{ timer: Timer; reject: (error: Error) => void }>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws ShutdownError when closed, before or while it waits */
  sleep(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.reject(shutdown());
    return new Promise((resolve, reject) => {
      const entry = {
        timer: this.#clock.setTimer(ms, () => {
          this.#sleeping.delete(entry);
          resolve();
        }),
        reject,
      };
      this.#sleeping.add(entry);
    });
  }

  /**
   * Settles as `promise` does, if that is within `ms`; otherwise, or when closed, what `promise` does
   * is ignored.
   *
   * @throws ShutdownError when closed, `onTimeout()` after `ms`
   */
  within<T>(ms: number, promise: Promise<T>, onTimeout: () => Error): Promise<T> {
    if (this.#isClosed) return Promise.reject(shutdown());
    return new Promise((resolve, reject) => {
      const entry = {
        timer: this.#clock.setTimer(ms, () => {
          this.#sleeping.delete(entry);
          reject(onTimeout());
        }),
        reject,
      };
      this.#sleeping.add(entry);
      const done = (): void => {
        entry.timer.cancel();
        this.#sleeping.delete(entry);
      };
      promise.then(
        (value) => {
          done();
          resolve(value);
        },
        (error: unknown) => {
          done();
          reject(error instanceof Error ? error : new InvariantError(String(error)));
        },
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const { timer, reject } of this.#sleeping) {
      timer.cancel();
      reject(shutdown());
    }
    this.#sleeping.clear();
  }
}

function shutdown(): ShutdownError {
  return new ShutdownError('The client is closed');
}
