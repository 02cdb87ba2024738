import { bool, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * InitProducerId (API key 22), versions 0 to 6, flexible from 2.
 * KIP-98; a producer that lost its sequence passes its id and epoch from version 3 (KIP-360); two-
 * phase commit from 6 (KIP-939).
 */
export const InitProducerId = api({
  key: 22,
  name: 'InitProducerId',
  versions: '0-6',
  flexible: '2+',
  request: {
    transactionalId: string('0+', { nullable: '0+' }),
    transactionTimeoutMs: int32('0+'),
    producerId: int64('3+', { default: -1n }),
    producerEpoch: int16('3+', { default: -1 }),
    enable2Pc: bool('6+'),
    keepPreparedTxn: bool('6+'),
  },
  response: {
    throttleTimeMs: int32('0+', { ignorable: true }),
    errorCode: int16('0+'),
    producerId: int64('0+', { default: -1n }),
    producerEpoch: int16('0+'),
    ongoingTxnProducerId: int64('6+', { default: -1n }),
    ongoingTxnProducerEpoch: int16('6+', { default: -1 }),
  },
});

export type InitProducerIdRequest = RequestOf<typeof InitProducerId>;
export type InitProducerIdResponse = ResponseOf<typeof InitProducerId>;
