import {
  THREAD_REPLACEMENT_BACKOFF_MAX_MS,
  THREAD_REPLACEMENT_BACKOFF_MS,
  THREAD_REPLACEMENTS_MAX,
  THREAD_REPLACEMENTS_WINDOW_MS,
} from '../limits.ts';
import type { Clock } from '../platform/clock.ts';

/**
 * How often a client replaces stream threads that failed: at once the first time, then later and later,
 * and not at all any more once it was too often. An error that comes back with the same record each
 * time would otherwise be tried without an end, and nobody told.
 */
export class ThreadReplacements {
  readonly #clock: Clock;
  #timesMs: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long to wait before the next one, ms; null: no more. */
  next(): number | null {
    const nowMs = this.#clock.monotonicMs();
    this.#timesMs = this.#timesMs.filter((ms) => nowMs - ms < THREAD_REPLACEMENTS_WINDOW_MS);
    const count = this.#timesMs.length;
    if (count >= THREAD_REPLACEMENTS_MAX) return null;
    this.#timesMs.push(nowMs);
    if (count === 0) return 0;
    return Math.min(
      THREAD_REPLACEMENT_BACKOFF_MS * 2 ** (count - 1),
      THREAD_REPLACEMENT_BACKOFF_MAX_MS,
    );
  }
}
