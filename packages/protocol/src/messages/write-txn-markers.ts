import { array, bool, int16, int32, int64, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * WriteTxnMarkers (API key 27), versions 1 to 2, all flexible.
 * Sent by the transaction coordinator to partition leaders (KIP-98).
 */
export const WriteTxnMarkers = api({
  key: 27,
  name: 'WriteTxnMarkers',
  versions: '1-2',
  flexible: '1+',
  request: {
    markers: array('0+', {
      producerId: int64('0+'),
      producerEpoch: int16('0+'),
      transactionResult: bool('0+'),
      topics: array('0+', {
        name: string('0+'),
        partitionIndexes: array('0+', 'int32'),
      }),
      coordinatorEpoch: int32('0+'),
      transactionVersion: int8('2+', { ignorable: true }),
    }),
  },
  response: {
    markers: array('0+', {
      producerId: int64('0+'),
      topics: array('0+', {
        name: string('0+'),
        partitions: array('0+', {
          partitionIndex: int32('0+'),
          errorCode: int16('0+'),
        }),
      }),
    }),
  },
});

export type WriteTxnMarkersRequest = RequestOf<typeof WriteTxnMarkers>;
export type WriteTxnMarkersResponse = ResponseOf<typeof WriteTxnMarkers>;
