import { OffsetFetch, type OffsetFetchRequest, type OffsetFetchResponse } from '@millrace/protocol';
import type { Handler } from './handler.ts';

const FIRST_BATCHED_VERSION = 8;

/**
 * OffsetFetch, versions 1 to 9.
 *
 * No offset: -1 and no error, also for groups, topics and partitions that are not there. Null topics
 * (v2+) mean all that the group has. requireStable (v7+, KIP-447) answers UNSTABLE_OFFSET_COMMIT where a
 * transaction may yet change the offset. Several groups in one request from version 8 (KIP-709). Member
 * id and epoch (v9) concern group types that are not served. Version 10, topic ids, is left out.
 */
export const offsetFetchHandler: Handler<OffsetFetchRequest, OffsetFetchResponse> = {
  api: OffsetFetch,
  minVersion: 1,
  maxVersion: 9,
  handle(request, { apiVersion, broker }) {
    const { requireStable } = request;
    if (apiVersion < FIRST_BATCHED_VERSION) {
      const { groupId, topics } = request;
      return { topics: broker.groups.fetchOffsets(groupId, topics, requireStable) };
    }
    return {
      groups: request.groups.map(({ groupId, topics }) => ({
        groupId,
        topics: broker.groups.fetchOffsets(groupId, topics, requireStable),
      })),
    };
  },
};
