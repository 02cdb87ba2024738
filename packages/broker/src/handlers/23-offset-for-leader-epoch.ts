import {
  errorCodes,
  OffsetForLeaderEpoch,
  type OffsetForLeaderEpochRequest,
  type OffsetForLeaderEpochResponse,
} from '@millrace/protocol';
import { leaderEpochError } from '../topics/leader-epoch.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/**
 * OffsetForLeaderEpoch, versions 2 to 4 (KIP-101, KIP-320): the largest epoch at or below the one asked
 * for and the offset where it ends; -1 and -1 if we know none.
 */
export const offsetForLeaderEpochHandler: Handler<
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse
> = {
  api: OffsetForLeaderEpoch,
  minVersion: 2,
  maxVersion: 4,
  handle(
    request: OffsetForLeaderEpochRequest,
    context: RequestContext,
  ): HandlerResult<OffsetForLeaderEpochResponse> {
    return {
      topics: request.topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition: index, currentLeaderEpoch, leaderEpoch }) => {
          const found = context.broker.topics.partition(topic, index);
          if (found === undefined) {
            return { partition: index, errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION };
          }
          const errorCode = leaderEpochError(found, currentLeaderEpoch);
          if (errorCode !== errorCodes.NONE) return { partition: index, errorCode };
          const { epoch, endOffset } = found.log.endOffsetForEpoch(leaderEpoch);
          return { partition: index, leaderEpoch: epoch, endOffset };
        }),
      })),
    };
  },
};
