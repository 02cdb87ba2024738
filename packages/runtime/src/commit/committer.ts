import type { Logger } from 'pino';
import type {
  OffsetAndMetadata,
  OffsetsToCommit,
  ProducerPort,
  TopicPartition,
  TopicPartitionKey,
} from '../client/ports.ts';
import { WindowedValues } from '../metrics/windows.ts';
import type { Clock } from '../platform/clock.ts';
import type { CommittedOffset, Purger } from './purge.ts';

/** A task as a commit sees it. */
export interface CommittableTask {
  /** Something was processed, or a position moved, since the last commit. */
  readonly isCommitNeeded: boolean;
  /** Flushes caches, which may process and emit; no record of the task may be in hand. */
  prepareCommit(): Promise<void> | undefined;
  /** Taken after `prepareCommit`; nothing is processed until `postCommit`. */
  offsetsToCommit(): OffsetsToCommit;
  /** The offsets stand: the stores' writes stand with them. */
  postCommit(offsets: OffsetsToCommit): void;
  /** Which of the offsets belong to repartition topics that this task alone reads. */
  purgeableOffsets(offsets: OffsetsToCommit): Iterable<CommittedOffset>;
}

/** Where records and offsets go. */
interface CommitOutput {
  readonly producer: Pick<ProducerPort, 'flush'>;
  /** What was not delivered may have made dead letters, which belong into the same commit. */
  readonly deadLetters: DeliveryLetters;
  /** After the flush: the offsets stand, under exactly-once together with all that was flushed. */
  commit(offsets: OffsetsToCommit): Promise<void>;
}

export interface CommitterOptions {
  readonly output: CommitOutput;
  readonly purger: Purger;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `commit.interval.ms`. */
  readonly intervalMs: number;
}

/** The dead letters of records that were not delivered. */
interface DeliveryLetters {
  /** How many there were so far. */
  readonly writtenCount: number;
  /** Done when each is in its batch. */
  finish(): Promise<void> | undefined;
}

/**
 * Commits a stream thread's tasks together, in Kafka Streams' order: caches and collector are flushed
 * first, so that every effect of a record is acknowledged before its offset says "done"; then the
 * offsets; then the stores' uncommitted layers together with their changelog offsets; then the purge.
 *
 * A commit that fails leaves everything as it was: the next one covers it.
 */
export class Committer {
  /** Of the commits that succeeded, ms. */
  readonly latency = new WindowedValues();
  readonly #options: CommitterOptions;
  #lastCommitMs: number;
  #commitCount = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#lastCommitMs = options.clock.monotonicMs();
  }

  get commitCount(): number {
    return this.#commitCount;
  }

  /** On the monotonic clock. */
  get dueMs(): number {
    return this.#lastCommitMs + this.#options.intervalMs;
  }

  /** The next tick is one interval from now, whether or not there was anything to commit. */
  ticked(): void {
    this.#lastCommitMs = this.#options.clock.monotonicMs();
  }

  /** True if there was something to commit and it is committed. Throws what the group or a broker says. */
  async commit(tasks: Iterable<CommittableTask>, options: { purge: boolean }): Promise<boolean> {
    const { output, purger, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const needed: CommittableTask[] = [];
    for (const task of tasks) {
      if (!task.isCommitNeeded) continue;
      const outcome = task.prepareCommit();
      if (outcome !== undefined) await outcome;
      needed.push(task);
    }
    if (needed.length === 0) {
      // The last commit may have found the interval not yet over, or a purge under way.
      if (options.purge) purger.maybePurge();
      return false;
    }
    const parts = needed.map((task) => task.offsetsToCommit());
    this.#options.logger.debug({ tasks: needed.length }, 'committing');
    await this.#flush();
    const all = new Map<TopicPartitionKey, TopicPartition & OffsetAndMetadata>();
    for (const part of parts) for (const [key, value] of part) all.set(key, value);
    await output.commit(all);
    for (let i = 0; i < needed.length; i++) {
      const task = needed[i] as CommittableTask;
      const offsets = parts[i] as OffsetsToCommit;
      task.postCommit(offsets);
      purger.committed(task.purgeableOffsets(offsets));
    }
    const tookMs = clock.monotonicMs() - startedMs;
    this.#commitCount++;
    this.latency.record(tookMs);
    this.#options.logger.debug({ tasks: needed.length, offsets: all.size, tookMs }, 'committed');
    if (options.purge) purger.maybePurge();
    return true;
  }

  async #flush(): Promise<void> {
    const { producer, deadLetters } = this.#options.output;
    let count: number;
    do {
      await deadLetters.finish();
      count = deadLetters.writtenCount;
      await producer.flush();
    } while (deadLetters.writtenCount > count);
  }
}
