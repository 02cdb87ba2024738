import type { Transaction } from './transaction.ts';

/** One transactional id in memory. */
export class TransactionEntry {
  readonly transactionalId: string;
  /** As it is in the log. */
  transaction: Transaction;
  /** A next step is being made durable, or markers are: CONCURRENT_TRANSACTIONS to everyone else. */
  isInTransit = false;

  constructor(transactionalId: string, transaction: Transaction) {
    this.transactionalId = transactionalId;
    this.transaction = transaction;
  }
}
