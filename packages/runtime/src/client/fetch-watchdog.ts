import type { Clock, Timer } from '../platform/clock.ts';
import type { FetchPartition } from './fetch-partition.ts';
import { FETCH_STALLED_MIN_MS, FETCH_WATCH_INTERVAL_MS } from './limits.ts';

/**
 * Looks, by a timer of its own, for partitions that should be fetched and are not: neither paused nor
 * waiting to be drained, and yet no answer has brought records, said that there are none, or failed, for
 * longer than any fetch may take. Whatever the reason, a consumer that sends heartbeats and reads nothing
 * is the worst way to fail, because nobody is told.
 */
export class FetchWatchdog {
  readonly #clock: Clock;
  readonly #partitions: ReadonlyMap<string, FetchPartition>;
  readonly #stalledMs: number;
  readonly #onStalled: (partition: FetchPartition, forMs: number) => void;
  #timer: Timer | null = null;

  /** @param longestFetchMs after which the longest fetch has ended, by an answer or without */
  constructor(options: {
    readonly clock: Clock;
    readonly partitions: ReadonlyMap<string, FetchPartition>;
    readonly longestFetchMs: number;
    readonly onStalled: (partition: FetchPartition, forMs: number) => void;
  }) {
    this.#clock = options.clock;
    this.#partitions = options.partitions;
    this.#stalledMs = Math.max(FETCH_STALLED_MIN_MS, 2 * options.longestFetchMs);
    this.#onStalled = options.onStalled;
  }

  /** From here on, as long as there are partitions. */
  watch(): void {
    if (this.#timer !== null || this.#partitions.size === 0) return;
    this.#timer = this.#clock.setTimer(FETCH_WATCH_INTERVAL_MS, () => {
      this.#timer = null;
      this.#look();
      this.watch();
    });
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #look(): void {
    const now = this.#clock.monotonicMs();
    for (const partition of [...this.#partitions.values()]) {
      if (partition.isPaused || partition.isUndrained || partition.isHalted) continue;
      const forMs = now - partition.attendedAt;
      if (forMs >= this.#stalledMs) this.#onStalled(partition, forMs);
    }
  }
}
