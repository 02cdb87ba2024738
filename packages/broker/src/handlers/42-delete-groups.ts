import {
  DeleteGroups,
  type DeleteGroupsRequest,
  type DeleteGroupsResponse,
} from '@millrace/protocol';
import type { Handler } from './handler.ts';

/**
 * DeleteGroups, versions 0 to 3 (KIP-229).
 *
 * Empty groups only, with their offsets: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. Each group has its own
 * answer.
 */
export const deleteGroupsHandler: Handler<DeleteGroupsRequest, DeleteGroupsResponse> = {
  api: DeleteGroups,
  minVersion: 0,
  maxVersion: 3,
  handle: ({ groupsNames }, { broker }) => ({ results: broker.groups.deleteGroups(groupsNames) }),
};
