import { array, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * ListTransactions (API key 66), versions 0 to 2, all flexible.
 * KIP-664; filter by duration from version 1 (KIP-994), by pattern from 2 (KIP-1152).
 */
export const ListTransactions = api({
  key: 66,
  name: 'ListTransactions',
  versions: '0-2',
  flexible: '0+',
  request: {
    stateFilters: array('0+', 'string'),
    producerIdFilters: array('0+', 'int64'),
    durationFilter: int64('1+', { default: -1n }),
    transactionalIdPattern: string('2+', { nullable: '2+', default: null }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    unknownStateFilters: array('0+', 'string'),
    transactionStates: array('0+', {
      transactionalId: string('0+'),
      producerId: int64('0+'),
      transactionState: string('0+'),
    }),
  },
});

export type ListTransactionsRequest = RequestOf<typeof ListTransactions>;
export type ListTransactionsResponse = ResponseOf<typeof ListTransactions>;
