import { array, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeProducers (API key 61), version 0, all flexible.
 * KIP-664.
 */
export const DescribeProducers = api({
  key: 61,
  name: 'DescribeProducers',
  versions: '0',
  flexible: '0+',
  request: {
    topics: array('0+', {
      name: string('0+'),
      partitionIndexes: array('0+', 'int32'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: '0+', default: null }),
        activeProducers: array('0+', {
          producerId: int64('0+'),
          producerEpoch: int32('0+'),
          lastSequence: int32('0+', { default: -1 }),
          lastTimestamp: int64('0+', { default: -1n }),
          coordinatorEpoch: int32('0+'),
          currentTxnStartOffset: int64('0+', { default: -1n }),
        }),
      }),
    }),
  },
});

export type DescribeProducersRequest = RequestOf<typeof DescribeProducers>;
export type DescribeProducersResponse = ResponseOf<typeof DescribeProducers>;
