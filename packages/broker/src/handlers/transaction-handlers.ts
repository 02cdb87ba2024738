import { initProducerIdHandler } from './22-init-producer-id.ts';
import { addPartitionsToTxnHandler } from './24-add-partitions-to-txn.ts';
import { addOffsetsToTxnHandler } from './25-add-offsets-to-txn.ts';
import { endTxnHandler } from './26-end-txn.ts';
import { writeTxnMarkersHandler } from './27-write-txn-markers.ts';
import { txnOffsetCommitHandler } from './28-txn-offset-commit.ts';
import { describeProducersHandler } from './61-describe-producers.ts';
import { describeTransactionsHandler } from './65-describe-transactions.ts';
import { listTransactionsHandler } from './66-list-transactions.ts';
import type { HandlerRegistry } from './registry.ts';

/** Registers the handlers of idempotent and transactional producers. */
export function registerTransactionHandlers(registry: HandlerRegistry): void {
  registry
    .register(initProducerIdHandler)
    .register(addPartitionsToTxnHandler)
    .register(addOffsetsToTxnHandler)
    .register(endTxnHandler)
    .register(writeTxnMarkersHandler)
    .register(txnOffsetCommitHandler)
    .register(describeProducersHandler)
    .register(describeTransactionsHandler)
    .register(listTransactionsHandler);
}
