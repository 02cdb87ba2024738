import { EndTxn, type EndTxnRequest, type EndTxnResponse } from '@millrace/protocol';
import type { Handler } from './handler.ts';
import { transactionErrorCode } from './transactional-errors.ts';

/**
 * EndTxn, versions 0 to 4 (KIP-98).
 *
 * Answered when the outcome is in the log. The markers follow before the answer, so that the producer's
 * next transaction meets no CONCURRENT_TRANSACTIONS, unless a log refuses them. Version 5 goes with
 * transaction version 2 (KIP-890) and is left out.
 */
export const endTxnHandler: Handler<EndTxnRequest, EndTxnResponse> = {
  api: EndTxn,
  minVersion: 0,
  maxVersion: 4,
  async handle({ transactionalId, producerId, producerEpoch, committed }, { apiVersion, broker }) {
    const errorCode = await broker.transactions.endTransaction(
      { transactionalId, producerId, producerEpoch },
      committed,
    );
    return { errorCode: transactionErrorCode(errorCode, apiVersion) };
  },
};
