import { array, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * OffsetForLeaderEpoch (API key 23), versions 2 to 4, flexible from 4.
 * KIP-101, KIP-320.
 */
export const OffsetForLeaderEpoch = api({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: '2-4',
  flexible: '4+',
  request: {
    replicaId: int32('3+', { default: -2, ignorable: true }),
    topics: array('0+', {
      topic: string('0+'),
      partitions: array('0+', {
        partition: int32('0+'),
        currentLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
        leaderEpoch: int32('0+'),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array('0+', {
      topic: string('0+'),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partition: int32('0+'),
        leaderEpoch: int32('1+', { default: -1, ignorable: true }),
        endOffset: int64('0+', { default: -1n }),
      }),
    }),
  },
});

export type OffsetForLeaderEpochRequest = RequestOf<typeof OffsetForLeaderEpoch>;
export type OffsetForLeaderEpochResponse = ResponseOf<typeof OffsetForLeaderEpoch>;
