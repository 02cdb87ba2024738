import type { Logger } from 'pino';
import type { Committer } from '../commit/committer.ts';
import type { Purger } from '../commit/purge.ts';
import { Sleeper } from '../client/sleeper.ts';
import { TimeoutError } from '../errors.ts';
import { RETRY_BACKOFF_MS } from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import { actionFor } from './failure-actions.ts';
import { RecordsInHand } from './records-in-hand.ts';
import type { StreamTask } from './stream-task.ts';
import type { TaskName } from './task-id.ts';

export interface CommitScheduleOptions {
  readonly committer: Committer;
  readonly purger: Purger;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `task.timeout.ms`. */
  readonly taskTimeoutMs: number;
  /** `max.poll.interval.ms`: how long a record may be in hand while everything else waits for it. */
  readonly maxRecordMs: number;
  readonly isExactlyOnce: boolean;
  /** This thread's part of `statestore.uncommitted.max.bytes`; -1: no bound. */
  readonly uncommittedMaxBytes: number;
}

/** What is left for the thread to do after a commit was tried. */
export type CommitOutcome =
  | { readonly kind: 'done' | 'later' }
  | { readonly kind: 'rejoin' | 'revive' | 'fail'; readonly error: Error };

/** When a stream thread commits, and what a commit that fails means. Times are monotonic. */
export class CommitSchedule {
  readonly #options: CommitScheduleOptions;
  readonly #sleeper: Sleeper;
  readonly #recordsInHand: RecordsInHand;
  #failingSinceMs: number | null = null;
  #retryAtMs = 0;

  constructor(options: CommitScheduleOptions) {
    this.#options = options;
    this.#sleeper = new Sleeper(options.clock);
    this.#recordsInHand = new RecordsInHand(options.maxRecordMs);
  }

  isDue(tasks: readonly StreamTask[]): boolean {
    const { committer, clock } = this.#options;
    const now = clock.monotonicMs();
    if (now < this.#retryAtMs) return false;
    if (now >= committer.dueMs || tasks.some((task) => task.isCommitRequested)) return true;
    return this.#isOverBound(tasks);
  }

  #isOverBound(tasks: readonly StreamTask[]): boolean {
    const { uncommittedMaxBytes } = this.#options;
    if (uncommittedMaxBytes < 0) return false;
    let bytes = 0;
    for (const task of tasks) bytes += task.stores.uncommittedBytes;
    return bytes > uncommittedMaxBytes;
  }

  /**
   * Until the next commit that has something to do, a purge that was put off, or a look at a record that
   * has been in hand for too long; Infinity if there is none of them.
   */
  msUntilDue(tasks: readonly StreamTask[]): number {
    const { committer, purger, clock } = this.#options;
    const commitMs = Math.max(committer.dueMs, this.#retryAtMs);
    const isNeeded = tasks.some((task) => task.isCommitNeeded);
    const dueMs = isNeeded ? commitMs : Math.max(commitMs, purger.nextDueMs);
    const nowMs = clock.monotonicMs();
    const overdueMs = this.#recordsInHand.nextOverdueMs(tasks, nowMs);
    return Math.min(dueMs, Math.max(overdueMs, commitMs)) - nowMs;
  }

  async commit(tasks: readonly StreamTask[]): Promise<CommitOutcome> {
    const { clock, maxRecordMs } = this.#options;
    const overdue = this.#recordsInHand.overdue(tasks, clock.monotonicMs());
    if (overdue.length > 0) return { kind: 'fail', error: tooLong(overdue, maxRecordMs) };
    try {
      // At least once, the offset of a record in hand is not committed; exactly once, neither may be what
      // it has written so far.
      if (this.#options.isExactlyOnce) await this.finishRecords(tasks);
      await this.#options.committer.commit(tasks, { purge: true });
      this.#succeeded();
      return { kind: 'done' };
    } catch (error) {
      return this.#failed(error as Error);
    }
  }

  /** Before tasks are given up: no record may be in hand, and nothing is purged on the way out. */
  async finishAndCommit(tasks: readonly StreamTask[]): Promise<void> {
    await this.finishRecords(tasks);
    await this.#options.committer.commit(tasks, { purge: false });
    this.#succeeded();
  }

  /** @throws TimeoutError if a record is still in hand after `max.poll.interval.ms`; ShutdownError when closed */
  async finishRecords(tasks: readonly StreamTask[]): Promise<void> {
    const held = tasks.filter((task) => task.hasRecordInHand);
    if (held.length === 0) return;
    await this.within(
      held.map(({ name }) => name),
      Promise.all(held.map((task) => task.finishRecordInHand())),
    );
  }

  /** Waits for what tasks have in hand, as long as a record may take. Throws as `finishRecords` does. */
  async within(tasks: readonly TaskName[], done: Promise<unknown>): Promise<void> {
    const { maxRecordMs } = this.#options;
    await this.#sleeper.within(maxRecordMs, done, () => tooLong(tasks, maxRecordMs));
  }

  /** Nothing is waited for any more. */
  close(): void {
    this.#sleeper.close();
  }

  #succeeded(): void {
    this.#options.committer.ticked();
    this.#failingSinceMs = null;
    this.#retryAtMs = 0;
  }

  #failed(error: Error): CommitOutcome {
    const { clock, logger, taskTimeoutMs } = this.#options;
    const now = clock.monotonicMs();
    const action = actionFor(error);
    if (action === 'rejoin' || action === 'revive') return { kind: action, error };
    if (action !== 'wait' && action !== 'retry') return { kind: 'fail', error };
    this.#retryAtMs = now + RETRY_BACKOFF_MS;
    if (action === 'wait') {
      logger.debug({ err: error }, 'no commit while the group rebalances');
      return { kind: 'later' };
    }
    this.#failingSinceMs ??= now;
    if (now - this.#failingSinceMs > taskTimeoutMs) return { kind: 'fail', error };
    logger.info({ err: error }, 'the commit failed and is tried again');
    return { kind: 'later' };
  }
}

function tooLong(tasks: readonly TaskName[], maxRecordMs: number): TimeoutError {
  const names = tasks.join(', ');
  return new TimeoutError(
    `A record of ${names} is still in hand after max.poll.interval.ms (${maxRecordMs}): an asynchronous ` +
      'function does not settle. Give its calls a timeout, or raise max.poll.interval.ms',
    { context: { tasks: names } },
  );
}
