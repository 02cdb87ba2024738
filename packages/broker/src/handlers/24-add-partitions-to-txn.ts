import {
  AddPartitionsToTxn,
  errorCodes,
  type AddPartitionsToTxnRequest,
  type AddPartitionsToTxnResponse,
} from '@millrace/protocol';
import { isInternalTopic } from '../topics/topic.ts';
import type { Handler } from './handler.ts';
import { transactionErrorCode } from './transactional-errors.ts';

type Topics = AddPartitionsToTxnRequest['v3AndBelowTopics'];

/**
 * AddPartitionsToTxn, versions 0 to 3 (KIP-98).
 *
 * All partitions or none: where one is not there the others are answered with OPERATION_NOT_ATTEMPTED.
 * Nobody may write to the internal topics by himself: TOPIC_AUTHORIZATION_FAILED, as in Kafka. Versions 4
 * and 5 are spoken between brokers only and left out.
 */
export const addPartitionsToTxnHandler: Handler<
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse
> = {
  api: AddPartitionsToTxn,
  minVersion: 0,
  maxVersion: 3,
  async handle(request, { apiVersion, broker }) {
    const { v3AndBelowTopics: topics, v3AndBelowTransactionalId: transactionalId } = request;
    const errorOf = (topic: string, partition: number): number => {
      if (isInternalTopic(topic)) return errorCodes.TOPIC_AUTHORIZATION_FAILED;
      return broker.topics.partition(topic, partition) === undefined
        ? errorCodes.UNKNOWN_TOPIC_OR_PARTITION
        : errorCodes.NONE;
    };
    const hasError = topics.some(({ name, partitions }) =>
      partitions.some((partition) => errorOf(name, partition) !== errorCodes.NONE),
    );
    if (hasError) {
      return answer(topics, (topic, partition) => {
        const errorCode = errorOf(topic, partition);
        return errorCode === errorCodes.NONE ? errorCodes.OPERATION_NOT_ATTEMPTED : errorCode;
      });
    }
    const errorCode = await broker.transactions.addPartitions(
      {
        transactionalId,
        producerId: request.v3AndBelowProducerId,
        producerEpoch: request.v3AndBelowProducerEpoch,
      },
      partitionsOf(topics),
    );
    return answer(topics, () => transactionErrorCode(errorCode, apiVersion));
  },
};

function partitionsOf(topics: Topics): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  for (const { name, partitions } of topics) {
    found.set(name, new Set([...(found.get(name) ?? []), ...partitions]));
  }
  return found;
}

function answer(topics: Topics, errorOf: (topic: string, partition: number) => number) {
  return {
    resultsByTopicV3AndBelow: topics.map(({ name, partitions }) => ({
      name,
      resultsByPartition: partitions.map((partitionIndex) => ({
        partitionIndex,
        partitionErrorCode: errorOf(name, partitionIndex),
      })),
    })),
  };
}
