import { array, int16, int32, int64, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * OffsetCommit (API key 8), versions 2 to 10, flexible from 8.
 * Static members from version 7 (KIP-345), topic ids instead of names from 10 (KIP-848).
 */
export const OffsetCommit = api({
  key: 8,
  name: 'OffsetCommit',
  versions: '2-10',
  flexible: '8+',
  request: {
    groupId: string('0+'),
    generationIdOrMemberEpoch: int32('1+', { default: -1, ignorable: true }),
    memberId: string('1+', { ignorable: true }),
    groupInstanceId: string('7+', { nullable: '7+', default: null }),
    retentionTimeMs: int64('2-4', { default: -1n, ignorable: true }),
    topics: array('0+', {
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        committedOffset: int64('0+'),
        committedLeaderEpoch: int32('6+', { default: -1, ignorable: true }),
        committedMetadata: string('0+', { nullable: '0+' }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('3+', { ignorable: true }),
    topics: array('0+', {
      name: string('0-9', { ignorable: true }),
      topicId: uuid('10+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
});

export type OffsetCommitRequest = RequestOf<typeof OffsetCommit>;
export type OffsetCommitResponse = ResponseOf<typeof OffsetCommit>;
