import {
  errorCodes,
  DescribeGroups,
  type DescribeGroupsRequest,
  type DescribeGroupsResponse,
} from '@millrace/protocol';
import { GROUP_OPERATIONS, OPERATIONS_NOT_ASKED } from '../authorized-operations.ts';
import type { Handler } from './handler.ts';

/** From here on a group that is not there is an error, before it is a dead group without one. */
const GROUP_ID_NOT_FOUND_VERSION = 6;

/**
 * DescribeGroups, versions 0 to 6.
 *
 * Metadata of members is shown for a stable group only, as in Kafka. Authorised operations from version 3
 * (KIP-430).
 */
export const describeGroupsHandler: Handler<DescribeGroupsRequest, DescribeGroupsResponse> = {
  api: DescribeGroups,
  minVersion: 0,
  maxVersion: 6,
  handle(request, { apiVersion, broker }) {
    const authorizedOperations = request.includeAuthorizedOperations
      ? GROUP_OPERATIONS
      : OPERATIONS_NOT_ASKED;
    return {
      groups: request.groups.map((groupId) => {
        const described = broker.groups.describeGroup(groupId);
        if (described !== undefined) return { ...described, authorizedOperations };
        const dead = { groupId, groupState: 'Dead' };
        if (apiVersion < GROUP_ID_NOT_FOUND_VERSION) return dead;
        return {
          ...dead,
          errorCode: errorCodes.GROUP_ID_NOT_FOUND,
          errorMessage: `Group ${groupId} not found.`,
        };
      }),
    };
  },
};
