import type { Logger } from 'pino';
import type { AdminPort, TopicPartition, TopicPartitionKey } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { Clock } from '../platform/clock.ts';

/** A repartition source partition and the offset that was committed for it. */
export type CommittedOffset = TopicPartition & {
  readonly offset: bigint;
  /** Where its task began to read, default 0: what lies before was another's to delete. */
  readonly startOffset?: bigint;
};

/** What is committed of a partition and not deleted yet. */
interface Waiting {
  readonly fromOffset: bigint;
  readonly toOffset: bigint;
  /** When the oldest of it was committed, and the youngest that no purge has taken, monotonic. */
  readonly sinceMs: number;
  readonly laterSinceMs: number | null;
}

export interface PurgerOptions {
  readonly admin: AdminPort;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `delete.interval.ms`: least distance of two purges. */
  readonly intervalMs: number;
  /** The request under way has been answered: another purge may be due. */
  readonly onSettled: () => void;
}

/**
 * Deletes what has been consumed from repartition topics: their retention is endless, so nothing else
 * ever does.
 *
 * - It runs right after a successful commit, and only if `delete.interval.ms` has passed since the
 *   last purge, counted from the start. The commit interval is thereby its effective lower bound,
 *   and it stays at 30 s under exactly-once, where commits come every 100 ms.
 * - It deletes up to committed offsets, never up to consumed ones: a crash must find everything that
 *   it has to read again.
 * - One request is in flight at a time. A purge that finds one under way is put off to a later commit,
 *   not lost. Failures are no harm: they are logged at debug, and the next purge covers them.
 * - A purge belongs to a generation of the group. What an older one committed is dropped at a
 *   rebalance: the partition may have another owner now.
 */
export class Purger {
  readonly #options: PurgerOptions;
  /** Committed since the last purge that took it, by partition. */
  readonly #pending = new Map<TopicPartitionKey, CommittedOffset>();
  /** Highest offset that a broker confirmed, so that nothing is asked for twice. */
  readonly #purged = new Map<TopicPartitionKey, bigint>();
  /** Committed and not deleted, whether or not a purge is under way for it. */
  readonly #waiting = new Map<TopicPartitionKey, Waiting>();
  #lastPurgeMs: number;
  #inFlight: Promise<void> | null = null;
  #generation = 0;
  #requestCount = 0;
  #failureCount = 0;

  constructor(options: PurgerOptions) {
    this.#options = options;
    this.#lastPurgeMs = options.clock.monotonicMs();
  }

  get requestCount(): number {
    return this.#requestCount;
  }

  get failureCount(): number {
    return this.#failureCount;
  }

  /** Offsets that are committed and not known to be deleted. */
  get lagRecords(): bigint {
    let sum = 0n;
    for (const { fromOffset, toOffset } of this.#waiting.values()) sum += toOffset - fromOffset;
    return sum;
  }

  /** How long the oldest of them have been committed; 0 without any. */
  get lagMs(): number {
    let sinceMs = Infinity;
    for (const waiting of this.#waiting.values()) sinceMs = Math.min(sinceMs, waiting.sinceMs);
    return sinceMs === Infinity ? 0 : this.#options.clock.monotonicMs() - sinceMs;
  }

  /** When the next purge may run, on the monotonic clock; Infinity while nothing is to delete or one is under way. */
  get nextDueMs(): number {
    if (this.#pending.size === 0 || this.#inFlight !== null) return Infinity;
    return this.#lastPurgeMs + this.#options.intervalMs;
  }

  /** Notes what a commit has made deletable. Called after each successful commit, before `maybePurge`. */
  committed(offsets: Iterable<CommittedOffset>): void {
    for (const offset of offsets) {
      // Nothing was consumed yet: there is nothing to delete, and -1 would mean "all".
      if (offset.offset <= 0n) continue;
      const key = topicPartitionKey(offset.topic, offset.partition);
      if ((this.#purged.get(key) ?? 0n) >= offset.offset) continue;
      const { topic, partition } = offset;
      this.#pending.set(key, { topic, partition, offset: offset.offset });
      this.#wait(key, offset);
    }
  }

  #wait(key: TopicPartitionKey, { offset, startOffset = 0n }: CommittedOffset): void {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#waiting.get(key);
    const fromOffset = known?.fromOffset ?? this.#purged.get(key) ?? startOffset;
    if (offset <= fromOffset) return;
    const sinceMs = known?.sinceMs ?? nowMs;
    const laterSinceMs = known === undefined ? null : (known.laterSinceMs ?? nowMs);
    this.#waiting.set(key, { fromOffset, toOffset: offset, sinceMs, laterSinceMs });
  }

  #deleted(key: TopicPartitionKey, offset: bigint): void {
    this.#purged.set(key, offset);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    if (waiting.toOffset <= offset) this.#waiting.delete(key);
    else {
      const sinceMs = waiting.laterSinceMs ?? waiting.sinceMs;
      this.#waiting.set(key, { ...waiting, fromOffset: offset, sinceMs, laterSinceMs: null });
    }
  }

  /** Sends one DeleteRecords if it is due and none is under way. Never waits, never throws. */
  maybePurge(): boolean {
    const now = this.#options.clock.monotonicMs();
    if (now < this.nextDueMs) return false;
    const offsets = [...this.#pending.values()];
    this.#pending.clear();
    this.#lastPurgeMs = now;
    this.#requestCount++;
    this.#inFlight = this.#purge(offsets, this.#generation).finally(() => {
      this.#inFlight = null;
      this.#options.logger.debug('purge answered');
      this.#options.onSettled();
    });
    return true;
  }

  /** The group has a new generation: what is noted or under way belongs to the old one. */
  newGeneration(): void {
    this.#generation++;
    this.#pending.clear();
    this.#purged.clear();
    this.#waiting.clear();
  }

  async #purge(offsets: readonly CommittedOffset[], generation: number): Promise<void> {
    const { admin, logger } = this.#options;
    logger.debug({ partitions: offsets.length }, 'purging repartition topics');
    let answer: ReadonlyMap<TopicPartitionKey, bigint | Error>;
    try {
      answer = await admin.deleteRecords(offsets);
    } catch (error) {
      for (const offset of offsets) this.#failed(offset, error, generation);
      return;
    }
    for (const offset of offsets) {
      const key = topicPartitionKey(offset.topic, offset.partition);
      const result = answer.get(key);
      if (typeof result === 'bigint') {
        if (generation === this.#generation) this.#deleted(key, offset.offset);
      } else {
        this.#failed(offset, result, generation);
      }
    }
  }

  /** Noted again for the next purge, unless a later commit has covered it or the generation is over. */
  #failed(offset: CommittedOffset, error: unknown, generation: number): void {
    this.#failureCount++;
    const { topic, partition } = offset;
    this.#options.logger.debug(
      { topic, partition, offset: offset.offset.toString(), err: error },
      'purge failed; the next one tries again',
    );
    const key = topicPartitionKey(topic, partition);
    if (generation === this.#generation && !this.#pending.has(key)) this.#pending.set(key, offset);
  }
}
