import { array, int16, int32, int64, int8, string } from './field.ts';
import { message } from './schema.ts';
import type { MessageOf } from './schema.ts';

/**
 * Key in `__transaction_state`.
 */
export const TransactionLogKey = message({
  name: 'TransactionLogKey',
  versions: '0',
  flexible: 'none',
  fields: {
    transactionalId: string('0+'),
  },
});
export type TransactionLogKey = MessageOf<typeof TransactionLogKey>;

/**
 * Value in `__transaction_state`: the state of one transactional id. The tagged fields are
 * those of KIP-890; a version 0 reader has none of them.
 */
export const TransactionLogValue = message({
  name: 'TransactionLogValue',
  versions: '0-1',
  flexible: '1+',
  fields: {
    producerId: int64('0+'),
    previousProducerId: int64('1+', { default: -1n, tag: 0 }),
    nextProducerId: int64('1+', { default: -1n, tag: 1 }),
    producerEpoch: int16('0+'),
    nextProducerEpoch: int16('1+', { default: -1, tag: 3 }),
    transactionTimeoutMs: int32('0+'),
    transactionStatus: int8('0+'),
    transactionPartitions: array(
      '0+',
      {
        topic: string('0+'),
        partitionIds: array('0+', 'int32'),
      },
      { nullable: '0+' },
    ),
    transactionLastUpdateTimestampMs: int64('0+'),
    transactionStartTimestampMs: int64('0+'),
    clientTransactionVersion: int16('1+', { tag: 2 }),
  },
});
export type TransactionLogValue = MessageOf<typeof TransactionLogValue>;
