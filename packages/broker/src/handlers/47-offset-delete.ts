import {
  OffsetDelete,
  type OffsetDeleteRequest,
  type OffsetDeleteResponse,
} from '@millrace/protocol';
import type { Handler } from './handler.ts';

/**
 * OffsetDelete, version 0 (KIP-496).
 *
 * A group with members keeps the offsets of the topics that it reads (GROUP_SUBSCRIBED_TO_TOPIC); one of
 * another protocol than the consumers' must be empty (NON_EMPTY_GROUP).
 */
export const offsetDeleteHandler: Handler<OffsetDeleteRequest, OffsetDeleteResponse> = {
  api: OffsetDelete,
  minVersion: 0,
  maxVersion: 0,
  handle: ({ groupId, topics }, { broker }) =>
    broker.groups.deleteOffsets(
      groupId,
      topics.map(({ name, partitions }) => ({
        name,
        partitionIndexes: partitions.map(({ partitionIndex }) => partitionIndex),
      })),
    ),
};
