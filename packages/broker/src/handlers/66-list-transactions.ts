import {
  ListTransactions,
  type ListTransactionsRequest,
  type ListTransactionsResponse,
} from '@millrace/protocol';
import { transactionStates, type TransactionState } from '../transactions/states.ts';
import type { Handler } from './handler.ts';

const states = new Map<string, TransactionState>(transactionStates.map((state) => [state, state]));

/**
 * ListTransactions, versions 0 and 1 (KIP-664), with the filter by duration (KIP-994). Version 2 filters by
 * a pattern in the dialect of Google's RE2 (KIP-1152) and is left out.
 */
export const listTransactionsHandler: Handler<ListTransactionsRequest, ListTransactionsResponse> = {
  api: ListTransactions,
  minVersion: 0,
  maxVersion: 1,
  handle({ stateFilters, producerIdFilters, durationFilter }, { broker }) {
    const known = stateFilters.flatMap((name) => states.get(name) ?? []);
    const found = broker.transactions.list({
      states: stateFilters.length === 0 ? null : known,
      producerIds: producerIdFilters,
      durationMs: durationFilter,
    });
    return {
      unknownStateFilters: stateFilters.filter((name) => !states.has(name)),
      transactionStates: found.map(({ transactionalId, transaction }) => ({
        transactionalId,
        producerId: transaction.producerId,
        transactionState: transaction.state,
      })),
    };
  },
};
