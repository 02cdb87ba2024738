import { RETRY_BACKOFF_JITTER, RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MIN_MS } from './limits.ts';
import type { Random } from '../platform/random.ts';

/** How long to wait after the failure that follows `failureCount` others, ms. */
export function backoffMs(
  failureCount: number,
  random: Random,
  minMs = RETRY_BACKOFF_MIN_MS,
  maxMs = RETRY_BACKOFF_MAX_MS,
): number {
  const baseMs = Math.min(minMs * 2 ** Math.min(failureCount, 30), maxMs);
  return baseMs * (1 + RETRY_BACKOFF_JITTER * (2 * random() - 1));
}

/** Doubling waits with jitter (KIP-580), starting over after a success. */
export class Backoff {
  readonly #random: Random;
  readonly #minMs: number;
  readonly #maxMs: number;
  #failureCount = 0;

  constructor(random: Random, minMs = RETRY_BACKOFF_MIN_MS, maxMs = RETRY_BACKOFF_MAX_MS) {
    this.#random = random;
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  get failureCount(): number {
    return this.#failureCount;
  }

  /** Counts a failure; returns how long to wait now, ms. */
  next(): number {
    return backoffMs(this.#failureCount++, this.#random, this.#minMs, this.#maxMs);
  }

  reset(): void {
    this.#failureCount = 0;
  }
}
