import { array, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeTransactions (API key 65), version 0, all flexible.
 * KIP-664.
 */
export const DescribeTransactions = api({
  key: 65,
  name: 'DescribeTransactions',
  versions: '0',
  flexible: '0+',
  request: {
    transactionalIds: array('0+', 'string'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    transactionStates: array('0+', {
      errorCode: int16('0+'),
      transactionalId: string('0+'),
      transactionState: string('0+'),
      transactionTimeoutMs: int32('0+'),
      transactionStartTimeMs: int64('0+'),
      producerId: int64('0+'),
      producerEpoch: int16('0+'),
      topics: array('0+', {
        topic: string('0+'),
        partitions: array('0+', 'int32'),
      }),
    }),
  },
});

export type DescribeTransactionsRequest = RequestOf<typeof DescribeTransactions>;
export type DescribeTransactionsResponse = ResponseOf<typeof DescribeTransactions>;
