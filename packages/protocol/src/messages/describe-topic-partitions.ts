import { array, bool, int16, int32, string, struct, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeTopicPartitions (API key 75), version 0, all flexible.
 * Metadata in pages (KIP-966).
 */
export const DescribeTopicPartitions = api({
  key: 75,
  name: 'DescribeTopicPartitions',
  versions: '0',
  flexible: '0+',
  request: {
    topics: array('0+', {
      name: string('0+'),
    }),
    responsePartitionLimit: int32('0+', { default: 2000 }),
    cursor: struct(
      '0+',
      {
        topicName: string('0+'),
        partitionIndex: int32('0+'),
      },
      { nullable: '0+', default: null },
    ),
  },
  response: {
    throttleTimeMs: int32('0+', { ignorable: true }),
    topics: array('0+', {
      errorCode: int16('0+'),
      name: string('0+', { nullable: '0+' }),
      topicId: uuid('0+', { ignorable: true }),
      isInternal: bool('0+', { ignorable: true }),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partitionIndex: int32('0+'),
        leaderId: int32('0+'),
        leaderEpoch: int32('0+', { default: -1, ignorable: true }),
        replicaNodes: array('0+', 'int32'),
        isrNodes: array('0+', 'int32'),
        eligibleLeaderReplicas: array('0+', 'int32', { nullable: '0+', default: null }),
        lastKnownElr: array('0+', 'int32', { nullable: '0+', default: null }),
        offlineReplicas: array('0+', 'int32', { ignorable: true }),
      }),
      topicAuthorizedOperations: int32('0+', { default: -2147483648 }),
    }),
    nextCursor: struct(
      '0+',
      {
        topicName: string('0+'),
        partitionIndex: int32('0+'),
      },
      { nullable: '0+', default: null },
    ),
  },
});

export type DescribeTopicPartitionsRequest = RequestOf<typeof DescribeTopicPartitions>;
export type DescribeTopicPartitionsResponse = ResponseOf<typeof DescribeTopicPartitions>;
