import {
  DescribeTransactions,
  type DescribeTransactionsRequest,
  type DescribeTransactionsResponse,
} from '@millrace/protocol';
import type { Handler } from './handler.ts';

/** DescribeTransactions, version 0 (KIP-664). */
export const describeTransactionsHandler: Handler<
  DescribeTransactionsRequest,
  DescribeTransactionsResponse
> = {
  api: DescribeTransactions,
  minVersion: 0,
  maxVersion: 0,
  handle: ({ transactionalIds }, { broker }) => ({
    transactionStates: transactionalIds.map((transactionalId) => {
      const found = broker.transactions.describe(transactionalId);
      if (typeof found === 'number') return { transactionalId, errorCode: found };
      return {
        transactionalId,
        transactionState: found.state,
        transactionTimeoutMs: found.timeoutMs,
        transactionStartTimeMs: BigInt(found.startTimestamp),
        producerId: found.producerId,
        producerEpoch: found.producerEpoch,
        topics: [...found.partitions].map(([topic, partitions]) => ({
          topic,
          partitions: [...partitions],
        })),
      };
    }),
  }),
};
