import type { Clock } from '@millrace/compaction';
import { ProtocolError } from '@millrace/protocol';
import type { Logger } from 'pino';
import type { TransactionCompletion } from './completion.ts';
import type { MarkerWriter } from './markers.ts';
import { TransactionEntry } from './transaction-entry.ts';
import type { TransactionLog } from './transaction-log.ts';
import { decodeTransactionRecord } from './transaction-records.ts';
import { isPrepared } from './transaction.ts';

/** A transaction that a partition's log holds open. */
export interface OpenTransaction {
  readonly topic: string;
  readonly partition: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Of the last marker that the producer got there; -1: none. */
  readonly coordinatorEpoch: number;
}

interface LoaderParts {
  readonly entries: Map<string, TransactionEntry>;
  readonly log: TransactionLog;
  readonly completion: TransactionCompletion;
  readonly markers: MarkerWriter;
  /** All of this broker's logs. */
  readonly openTransactions: () => Iterable<OpenTransaction>;
  readonly markUsed: (producerId: bigint) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Rebuilds what is known from `__transaction_state`, and brings it together with the logs. */
export class TransactionLoader {
  readonly #parts: LoaderParts;
  #unreadableCount = 0;

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  async load(): Promise<void> {
    const { entries, log, completion, markUsed, clock, logger } = this.#parts;
    const start = clock.monotonicMs();
    log.load((key, value) => {
      this.#record(key, value);
    });
    for (const { transaction } of entries.values()) {
      markUsed(transaction.producerId);
      markUsed(transaction.previousProducerId);
    }
    for (const entry of entries.values()) {
      if (isPrepared(entry.transaction)) await completion.complete(entry);
    }
    if (this.#unreadableCount === 0) await this.#endForgotten();
    else {
      logger.warn(
        { records: this.#unreadableCount },
        '__transaction_state holds records of unknown versions; they are ignored',
      );
    }
    if (entries.size > 0) {
      const ms = clock.monotonicMs() - start;
      logger.info({ transactionalIds: entries.size, ms }, 'transactions are loaded');
    }
  }

  #record(key: Buffer, value: Buffer | null): void {
    const { entries } = this.#parts;
    try {
      const record = decodeTransactionRecord(key, value);
      if (record.kind === 'unknown') this.#unreadableCount += 1;
      else if (record.transaction === null) entries.delete(record.transactionalId);
      else {
        const { transactionalId, transaction } = record;
        entries.set(transactionalId, new TransactionEntry(transactionalId, transaction));
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#unreadableCount += 1;
    }
  }

  /**
   * A transaction that is open in a log, but not here, would hold up readers of committed records for
   * ever: a power loss has taken the coordinator's records, or the directory came without them. Nobody
   * can commit it any more, so it is aborted. A kill leaves no such thing.
   */
  async #endForgotten(): Promise<void> {
    const { entries, markers, openTransactions, logger } = this.#parts;
    const owners = new Map(
      [...entries.values()].map(({ transaction }) => [transaction.producerId, transaction]),
    );
    for (const open of [...openTransactions()]) {
      const { topic, partition, producerId, producerEpoch, coordinatorEpoch } = open;
      if (owners.get(producerId)?.partitions.get(topic)?.has(partition) === true) continue;
      logger.warn(
        { topic, partition, producerId: String(producerId) },
        'a transaction that its coordinator has forgotten is aborted',
      );
      try {
        await markers.write(topic, partition, {
          producerId,
          producerEpoch,
          coordinatorEpoch: Math.max(coordinatorEpoch, 0),
          isCommit: false,
        }).flushed;
      } catch (error) {
        // Reading goes on without it, for instance from a full disk.
        logger.error(
          { err: error, topic, partition },
          'it could not be aborted; a restart tries again',
        );
      }
    }
  }
}
