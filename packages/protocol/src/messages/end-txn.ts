import { bool, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * EndTxn (API key 26), versions 0 to 5, flexible from 3.
 * KIP-98; the answer carries the bumped epoch from version 5 (KIP-890).
 */
export const EndTxn = api({
  key: 26,
  name: 'EndTxn',
  versions: '0-5',
  flexible: '3+',
  request: {
    transactionalId: string('0+'),
    producerId: int64('0+'),
    producerEpoch: int16('0+'),
    committed: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    producerId: int64('5+', { default: -1n, ignorable: true }),
    producerEpoch: int16('5+', { default: -1, ignorable: true }),
  },
});

export type EndTxnRequest = RequestOf<typeof EndTxn>;
export type EndTxnResponse = ResponseOf<typeof EndTxn>;
