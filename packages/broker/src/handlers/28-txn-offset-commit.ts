import {
  errorCodes,
  TxnOffsetCommit,
  type TxnOffsetCommitRequest,
  type TxnOffsetCommitResponse,
} from '@millrace/protocol';
import type { TopicResult } from '../groups/group-service.ts';
import { failAll } from '../groups/offset-operations.ts';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';
import { whenDurable } from './commit-durability.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';
import { verificationErrorCode } from './transactional-errors.ts';

/** From here on TRANSACTION_ABORTABLE is known (KIP-890). */
const ABORTABLE_FROM_VERSION = 4;

/**
 * TxnOffsetCommit, versions 0 to 4.
 *
 * Offsets that count once the transaction is committed (KIP-98). The transaction must hold the group's
 * partition of `__consumer_offsets`; from version 3 on member id, generation and instance id are those of
 * the group, or the commit is refused as a zombie's (KIP-447). Version 5 goes with transaction version 2.
 */
export const txnOffsetCommitHandler: Handler<TxnOffsetCommitRequest, TxnOffsetCommitResponse> = {
  api: TxnOffsetCommit,
  minVersion: 0,
  maxVersion: 4,
  handle(
    request: TxnOffsetCommitRequest,
    context: RequestContext,
  ): HandlerResult<TxnOffsetCommitResponse> {
    const { groups } = context.broker;
    const { groupId, producerId, producerEpoch, memberId, groupInstanceId, topics } = request;
    const errorCode = requestError(request, context);
    if (errorCode !== errorCodes.NONE) {
      return { topics: withoutUnknown(failAll(topics, errorCode), context) };
    }
    const results = groups.commitTransactionalOffsets({
      groupId,
      producerId,
      producerEpoch,
      generationId: request.generationIdOrMemberEpoch,
      memberId,
      groupInstanceId,
      topics,
    });
    return whenDurable(groups, groupId, withoutUnknown(results, context));
  },
};

/** A partition that is not there is told so, whatever else is wrong. */
function withoutUnknown(
  results: readonly TopicResult[],
  { broker }: RequestContext,
): readonly TopicResult[] {
  return results.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, errorCode }) => ({
      partitionIndex,
      errorCode:
        broker.topics.partition(name, partitionIndex) === undefined
          ? errorCodes.UNKNOWN_TOPIC_OR_PARTITION
          : errorCode,
    })),
  }));
}

function requestError(request: TxnOffsetCommitRequest, context: RequestContext): number {
  const { groups, transactions } = context.broker;
  const { groupId } = request;
  if (groupId === '') return errorCodes.INVALID_GROUP_ID;
  const partition = groups.offsetsPartitionOf(groupId);
  if (partition === undefined) return errorCodes.NOT_COORDINATOR;
  const errorCode = verificationErrorCode(
    transactions.verify(request, CONSUMER_OFFSETS_TOPIC, partition),
    context.apiVersion >= ABORTABLE_FROM_VERSION,
  );
  return errorCode === errorCodes.NOT_ENOUGH_REPLICAS
    ? errorCodes.COORDINATOR_NOT_AVAILABLE
    : errorCode;
}
