import {
  DescribeProducers,
  errorCodes,
  type DescribeProducersRequest,
  type DescribeProducersResponse,
} from '@millrace/protocol';
import { topicNameProblem } from '../topics/topic-names.ts';
import type { Handler } from './handler.ts';

/**
 * DescribeProducers, version 0 (KIP-664): the producers that a partition remembers, with the start of
 * their open transaction. For finding transactions that nobody ends.
 */
export const describeProducersHandler: Handler<
  DescribeProducersRequest,
  DescribeProducersResponse
> = {
  api: DescribeProducers,
  minVersion: 0,
  maxVersion: 0,
  handle: ({ topics }, { broker }) => ({
    topics: topics.map(({ name, partitionIndexes }) => {
      const problem = topicNameProblem(name);
      return {
        name,
        partitions: partitionIndexes.map((partitionIndex) => {
          const fail = (errorCode: number, errorMessage: string | null = null) => ({
            partitionIndex,
            errorCode,
            errorMessage,
            activeProducers: [],
          });
          if (problem !== undefined) return fail(errorCodes.INVALID_TOPIC_EXCEPTION, problem);
          const partition = broker.topics.partition(name, partitionIndex);
          if (partition === undefined) return fail(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
          return {
            partitionIndex,
            errorCode: errorCodes.NONE,
            activeProducers: partition.log.producers().map((producer) => ({
              producerId: producer.producerId,
              producerEpoch: producer.producerEpoch,
              lastSequence: producer.lastSequence,
              lastTimestamp: BigInt(producer.lastTimestamp),
              coordinatorEpoch: producer.coordinatorEpoch,
              currentTxnStartOffset: producer.currentTxnFirstOffset,
            })),
          };
        }),
      };
    }),
  }),
};
