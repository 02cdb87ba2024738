import { array, int16, int32, int64, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * TxnOffsetCommit (API key 28), versions 0 to 6, flexible from 3.
 * Fenced by member and generation from version 3 (KIP-447).
 */
export const TxnOffsetCommit = api({
  key: 28,
  name: 'TxnOffsetCommit',
  versions: '0-6',
  flexible: '3+',
  request: {
    transactionalId: string('0+'),
    groupId: string('0+'),
    producerId: int64('0+'),
    producerEpoch: int16('0+'),
    generationIdOrMemberEpoch: int32('3+', { default: -1 }),
    memberId: string('3+'),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
    topics: array('0+', {
      name: string('0-5', { ignorable: true }),
      topicId: uuid('6+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        committedOffset: int64('0+'),
        committedLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
        committedMetadata: string('0+', { nullable: '0+' }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array('0+', {
      name: string('0-5', { ignorable: true }),
      topicId: uuid('6+', { ignorable: true }),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
});

export type TxnOffsetCommitRequest = RequestOf<typeof TxnOffsetCommit>;
export type TxnOffsetCommitResponse = ResponseOf<typeof TxnOffsetCommit>;
