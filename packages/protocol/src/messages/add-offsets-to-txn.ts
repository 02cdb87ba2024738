import { int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * AddOffsetsToTxn (API key 25), versions 0 to 4, flexible from 3.
 * KIP-98.
 */
export const AddOffsetsToTxn = api({
  key: 25,
  name: 'AddOffsetsToTxn',
  versions: '0-4',
  flexible: '3+',
  request: {
    transactionalId: string('0+'),
    producerId: int64('0+'),
    producerEpoch: int16('0+'),
    groupId: string('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
  },
});

export type AddOffsetsToTxnRequest = RequestOf<typeof AddOffsetsToTxn>;
export type AddOffsetsToTxnResponse = ResponseOf<typeof AddOffsetsToTxn>;
