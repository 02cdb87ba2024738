import type { Logger } from 'pino';
import type { MeasuredThread } from '../metrics/thread-metrics.ts';
import type { Clock } from '../platform/clock.ts';

export interface ThreadSummaryOptions {
  readonly thread: Pick<MeasuredThread, 'tasks' | 'committer' | 'purger' | 'restorer'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `log.summary.interval.ms`; no lines at 0 or below. */
  readonly intervalMs: number;
}

/** What a thread has done since it was created. */
interface Counts {
  readonly records: number;
  readonly dropped: number;
  readonly punctuations: number;
  readonly commits: number;
  readonly purges: number;
  readonly restored: number;
}

/**
 * One line at info per `log.summary.interval.ms` with what the thread has done since the line before,
 * also when that is nothing: a thread whose lines stop is stuck (KIP-1049). Kafka's text says that 0
 * means no distance; its code, like this, takes 0 and everything below as off.
 */
export class ThreadSummary {
  readonly #options: ThreadSummaryOptions;
  #last: Counts;
  #lastMs: number;

  constructor(options: ThreadSummaryOptions) {
    this.#options = options;
    this.#last = this.#count();
    this.#lastMs = options.clock.monotonicMs();
  }

  /** Until the next line; Infinity if there are none. */
  msUntilDue(): number {
    const { intervalMs, clock } = this.#options;
    return intervalMs > 0 ? this.#lastMs + intervalMs - clock.monotonicMs() : Infinity;
  }

  logIfDue(): void {
    if (this.msUntilDue() > 0) return;
    const nowMs = this.#options.clock.monotonicMs();
    const now = this.#count();
    const last = this.#last;
    this.#options.logger.info(
      {
        records: now.records - last.records,
        dropped: now.dropped - last.dropped,
        punctuations: now.punctuations - last.punctuations,
        commits: now.commits - last.commits,
        purges: now.purges - last.purges,
        restored: now.restored - last.restored,
        sinceMs: Math.round(nowMs - this.#lastMs),
      },
      'summary since the last one',
    );
    this.#last = now;
    this.#lastMs = nowMs;
  }

  #count(): Counts {
    const { tasks, committer, purger, restorer } = this.#options.thread;
    return {
      records: tasks.processedCount,
      dropped: tasks.droppedCount,
      punctuations: tasks.punctuatedCount,
      commits: committer.commitCount,
      purges: purger.requestCount,
      restored: restorer.restoredTotal,
    };
  }
}
