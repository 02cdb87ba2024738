import {
  OffsetCommit,
  type OffsetCommitRequest,
  type OffsetCommitResponse,
} from '@millrace/protocol';
import { whenDurable } from './commit-durability.ts';
import type { Handler } from './handler.ts';

/** From here on a group that is not there has a code of its own (KIP-848). */
const GROUP_ID_NOT_FOUND_VERSION = 9;

/**
 * OffsetCommit, versions 2 to 9.
 *
 * Members commit with their id and generation; while a group is empty, anybody may without. Answered
 * after the append to `__consumer_offsets`. The retention time of versions 2 to 4 is kept with the
 * offset; later versions leave it to `offsets.retention.minutes` (KIP-211). An offset is not compared
 * with the log: a consumer that starts there is told that it is out of range. Version 10, topic ids, is
 * left out.
 */
export const offsetCommitHandler: Handler<OffsetCommitRequest, OffsetCommitResponse> = {
  api: OffsetCommit,
  minVersion: 2,
  maxVersion: 9,
  handle(request, { apiVersion, broker }) {
    const topics = broker.groups.commitOffsets({
      groupId: request.groupId,
      generationId: request.generationIdOrMemberEpoch,
      memberId: request.memberId,
      groupInstanceId: request.groupInstanceId,
      retentionTimeMs: request.retentionTimeMs,
      supportsGroupIdNotFound: apiVersion >= GROUP_ID_NOT_FOUND_VERSION,
      topics: request.topics,
    });
    return whenDurable(broker.groups, request.groupId, topics);
  },
};
