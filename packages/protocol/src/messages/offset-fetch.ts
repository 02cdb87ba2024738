import { array, bool, int16, int32, int64, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * OffsetFetch (API key 9), versions 1 to 10, flexible from 6.
 * Stable offsets only, on request, from version 7 (KIP-447); several groups in one request from 8
 * (KIP-709); member and epoch from 9 (KIP-848); topic ids from 10.
 */
export const OffsetFetch = api({
  key: 9,
  name: 'OffsetFetch',
  versions: '1-10',
  flexible: '6+',
  request: {
    groupId: string('0-7'),
    topics: array(
      '0-7',
      {
        name: string('0-7'),
        partitionIndexes: array('0-7', 'int32'),
      },
      { nullable: '2-7' },
    ),
    groups: array('8+', {
      groupId: string('8+'),
      memberId: string('9+', { nullable: '9+', default: null, ignorable: true }),
      memberEpoch: int32('9+', { default: -1, ignorable: true }),
      topics: array(
        '8+',
        {
          name: string('8-9', { ignorable: true }),
          topicId: uuid('10+', { ignorable: true }),
          partitionIndexes: array('8+', 'int32'),
        },
        { nullable: '8+' },
      ),
    }),
    requireStable: bool('7+'),
  },
  response: {
    throttleTimeMs: int32('3+', { ignorable: true }),
    topics: array('0-7', {
      name: string('0-7'),
      partitions: array('0-7', {
        partitionIndex: int32('0-7'),
        committedOffset: int64('0-7'),
        committedLeaderEpoch: int32('5-7', { default: -1, ignorable: true }),
        metadata: string('0-7', { nullable: '0-7' }),
        errorCode: int16('0-7'),
      }),
    }),
    errorCode: int16('2-7', { ignorable: true }),
    groups: array('8+', {
      groupId: string('8+'),
      topics: array('8+', {
        name: string('8-9', { ignorable: true }),
        topicId: uuid('10+', { ignorable: true }),
        partitions: array('8+', {
          partitionIndex: int32('8+'),
          committedOffset: int64('8+'),
          committedLeaderEpoch: int32('8+', { default: -1, ignorable: true }),
          metadata: string('8+', { nullable: '8+' }),
          errorCode: int16('8+'),
        }),
      }),
      errorCode: int16('8+'),
    }),
  },
});

export type OffsetFetchRequest = RequestOf<typeof OffsetFetch>;
export type OffsetFetchResponse = ResponseOf<typeof OffsetFetch>;
