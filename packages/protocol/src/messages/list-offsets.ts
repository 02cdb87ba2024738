import { array, int16, int32, int64, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * ListOffsets (API key 2), versions 1 to 11, flexible from 6.
 * Timestamps below zero ask for special offsets: -1 latest, -2 earliest, -3 the largest timestamp
 * (version 7, KIP-734), -4 earliest local (8), -5 latest tiered (9), -6 earliest pending upload
 * (11). Leader epochs from 4 (KIP-320).
 */
export const ListOffsets = api({
  key: 2,
  name: 'ListOffsets',
  versions: '1-11',
  flexible: '6+',
  request: {
    replicaId: int32('0+'),
    isolationLevel: int8('2+'),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        currentLeaderEpoch: int32('4+', { default: -1, ignorable: true }),
        timestamp: int64('0+'),
      }),
    }),
    timeoutMs: int32('10+', { ignorable: true }),
  },
  response: {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
        timestamp: int64('1+', { default: -1n }),
        offset: int64('1+', { default: -1n }),
        leaderEpoch: int32('4+', { default: -1 }),
      }),
    }),
  },
});

export type ListOffsetsRequest = RequestOf<typeof ListOffsets>;
export type ListOffsetsResponse = ResponseOf<typeof ListOffsets>;
