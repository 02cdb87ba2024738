import {
  CoordinatorFencedError,
  InvalidProducerEpochError,
  type Clock,
} from '@millrace/compaction';
import type { Logger } from 'pino';
import type { StorageErrors } from '../storage-errors.ts';
import { Delay } from '../timers.ts';
import { MARKER_RETRY_MS } from './limits.ts';
import type { Marker, MarkerWriter } from './markers.ts';
import type { TransactionEntry } from './transaction-entry.ts';
import type { TransactionLog } from './transaction-log.ts';
import { completed } from './transaction.ts';

interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A prepared transaction and where its marker is still missing. */
interface Completion {
  readonly entry: TransactionEntry;
  remaining: readonly TopicPartition[];
}

/**
 * Brings prepared transactions to their end: a marker in every partition, then the record that says so.
 * Nearly always both are there when `complete` is done. What a log refuses, because the disk is full or
 * the log out of service, is tried again every `MARKER_RETRY_MS`, until it is written or the topic gone;
 * until then the transactional id is answered with CONCURRENT_TRANSACTIONS.
 */
export class TransactionCompletion {
  readonly #log: TransactionLog;
  readonly #markers: MarkerWriter;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #storageErrors: StorageErrors;
  readonly #retry: Delay;
  readonly #waiting = new Set<Completion>();
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(
    log: TransactionLog,
    markers: MarkerWriter,
    clock: Clock,
    logger: Logger,
    storageErrors: StorageErrors,
  ) {
    this.#log = log;
    this.#markers = markers;
    this.#clock = clock;
    this.#logger = logger;
    this.#storageErrors = storageErrors;
    this.#retry = new Delay(clock);
  }

  /** Resolves after the first try, however it went. The entry is in PrepareCommit or PrepareAbort. */
  async complete(entry: TransactionEntry): Promise<void> {
    const remaining = [...entry.transaction.partitions].flatMap(([topic, partitions]) =>
      [...partitions].map((partition) => ({ topic, partition })),
    );
    await this.#try({ entry, remaining });
  }

  /** Transactions that wait for another try. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** What is under way is waited for; what has not been written is written after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry.cancel();
    await Promise.all(this.#underWay);
  }

  async #try(completion: Completion): Promise<void> {
    const attempt = this.#attempt(completion);
    this.#underWay.add(attempt);
    try {
      if (await attempt) this.#waiting.delete(completion);
      else this.#waiting.add(completion);
    } finally {
      this.#underWay.delete(attempt);
    }
    if (this.#waiting.size > 0) this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    if (this.#isClosed || this.#retry.isSet) return;
    this.#retry.start(MARKER_RETRY_MS, () => {
      for (const completion of this.#waiting) {
        if (!completion.entry.isInTransit) void this.#try(completion);
      }
    });
  }

  /** Never rejects; false: something is still to be written. */
  async #attempt(completion: Completion): Promise<boolean> {
    const { entry } = completion;
    const { transactionalId } = entry;
    entry.isInTransit = true;
    try {
      const { transaction } = entry;
      const marker = {
        producerId: transaction.producerId,
        producerEpoch: transaction.producerEpoch,
        coordinatorEpoch: this.#log.coordinatorEpochOf(transactionalId),
        isCommit: transaction.state === 'PrepareCommit',
      };
      completion.remaining = await this.#writeMarkers(completion, marker);
      if (completion.remaining.length > 0) return false;
      const next = completed(transaction, this.#clock.now());
      await this.#log.append(transactionalId, next);
      entry.transaction = next;
      return true;
    } catch (error) {
      this.#storageErrors.codeOf(error);
      return false;
    } finally {
      entry.isInTransit = false;
    }
  }

  /** All at once, so that a partition that fails holds up no other; gives those that failed. */
  async #writeMarkers(
    { entry, remaining }: Completion,
    marker: Marker,
  ): Promise<readonly TopicPartition[]> {
    const failed: TopicPartition[] = [];
    const flushes: Promise<void>[] = [];
    for (const one of remaining) {
      const onError = (error: unknown): void => {
        if (this.#isOvertaken(error, entry)) return;
        this.#storageErrors.codeOf(error);
        failed.push(one);
      };
      try {
        const { flushed } = this.#markers.write(one.topic, one.partition, marker);
        if (flushed !== undefined) flushes.push(flushed.catch(onError));
      } catch (error) {
        onError(error);
      }
    }
    if (flushes.length > 0) await Promise.all(flushes);
    return failed;
  }

  /** The partition has seen a later epoch, so that nothing of this one is open there. */
  #isOvertaken(error: unknown, { transactionalId }: TransactionEntry): boolean {
    if (!(error instanceof InvalidProducerEpochError || error instanceof CoordinatorFencedError)) {
      return false;
    }
    this.#logger.warn(
      { err: error, transactionalId },
      'a partition needs no marker of this transaction: it has seen a later epoch',
    );
    return true;
  }
}
