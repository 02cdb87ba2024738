import {
  DescribeTopicPartitions,
  errorCodes,
  type DescribeTopicPartitionsRequest,
  type DescribeTopicPartitionsResponse,
  type Encodable,
} from '@millrace/protocol';
import { TOPIC_OPERATIONS } from '../authorized-operations.ts';
import { DESCRIBED_PARTITIONS } from '../limits.ts';
import { topicNameProblem } from '../topics/topic-names.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type TopicResponse = Encodable<DescribeTopicPartitionsResponse['topics'][number]>;

/**
 * DescribeTopicPartitions, version 0 (KIP-966): metadata in pages, topics in order of name, all of them
 * if none is named. A cursor says where the next page starts; a topic that is gone meanwhile is told as
 * unknown and the page goes on behind it. A cursor that is in none of the topics asked for, or before
 * the first partition, is an INVALID_REQUEST of each of them.
 */
export const describeTopicPartitionsHandler: Handler<
  DescribeTopicPartitionsRequest,
  DescribeTopicPartitionsResponse
> = {
  api: DescribeTopicPartitions,
  minVersion: 0,
  maxVersion: 0,
  handle(
    request: DescribeTopicPartitionsRequest,
    { broker }: RequestContext,
  ): HandlerResult<DescribeTopicPartitionsResponse> {
    const { cursor } = request;
    const wantsAll = request.topics.length === 0;
    const names = wantsAll
      ? [...broker.topics.all()].map(({ name }) => name)
      : request.topics.map(({ name }) => name);
    if (cursor !== null) {
      const isElsewhere = !wantsAll && !names.includes(cursor.topicName);
      if (cursor.partitionIndex < 0 || isElsewhere) return refuse(names);
    }
    const wanted = [...new Set(names)].sort().filter((name) => name >= (cursor?.topicName ?? ''));
    let left = Math.min(Math.max(1, request.responsePartitionLimit), DESCRIBED_PARTITIONS);
    const topics: TopicResponse[] = [];
    for (const name of wanted) {
      const topic = broker.topics.get(name);
      if (topic === undefined) {
        const errorCode =
          topicNameProblem(name) === undefined
            ? errorCodes.UNKNOWN_TOPIC_OR_PARTITION
            : errorCodes.INVALID_TOPIC_EXCEPTION;
        topics.push({ errorCode, name, topicAuthorizedOperations: TOPIC_OPERATIONS });
        continue;
      }
      const start = name === cursor?.topicName ? cursor.partitionIndex : 0;
      if (left === 0) {
        return { topics, nextCursor: { topicName: name, partitionIndex: start } };
      }
      const nodes = [broker.node.nodeId];
      const page = topic.partitions.slice(start, start + left);
      left -= page.length;
      topics.push({
        name,
        topicId: topic.topicId,
        isInternal: topic.isInternal,
        partitions: page.map(({ index, leaderEpoch }) => ({
          partitionIndex: index,
          leaderId: broker.node.nodeId,
          leaderEpoch,
          replicaNodes: nodes,
          isrNodes: nodes,
          eligibleLeaderReplicas: [],
          lastKnownElr: [],
        })),
        topicAuthorizedOperations: TOPIC_OPERATIONS,
      });
      if (start + page.length < topic.partitions.length) {
        return {
          topics,
          nextCursor: { topicName: name, partitionIndex: start + page.length },
        };
      }
    }
    return { topics, nextCursor: null };
  },
};

function refuse(names: readonly string[]): Encodable<DescribeTopicPartitionsResponse> {
  return {
    topics: names.map((name) => ({ errorCode: errorCodes.INVALID_REQUEST, name })),
    nextCursor: null,
  };
}
