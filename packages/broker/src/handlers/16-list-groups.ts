import {
  errorCodes,
  ListGroups,
  type ListGroupsRequest,
  type ListGroupsResponse,
} from '@millrace/protocol';
import type { Handler } from './handler.ts';

/**
 * ListGroups, versions 0 to 5.
 *
 * Filters by state (v4, KIP-518) and by type (v5, KIP-848); every group here is of type `classic`.
 */
export const listGroupsHandler: Handler<ListGroupsRequest, ListGroupsResponse> = {
  api: ListGroups,
  minVersion: 0,
  maxVersion: 5,
  handle: ({ statesFilter, typesFilter }, { broker }) => ({
    errorCode: errorCodes.NONE,
    groups: broker.groups.listGroups(statesFilter, typesFilter),
  }),
};
