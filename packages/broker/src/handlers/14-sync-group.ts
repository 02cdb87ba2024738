import { SyncGroup, type SyncGroupRequest, type SyncGroupResponse } from '@millrace/protocol';
import { groupClient } from './group-client.ts';
import type { Handler } from './handler.ts';

/**
 * SyncGroup, versions 0 to 5.
 *
 * Parked until the leader has brought the assignment and it is stored. A member that never asks is out
 * after the rebalance timeout (KAFKA-12890). Protocol type and name (v5, KIP-559) must be the group's.
 */
export const syncGroupHandler: Handler<SyncGroupRequest, SyncGroupResponse> = {
  api: SyncGroup,
  minVersion: 0,
  maxVersion: 5,
  handle: (request, context) => context.broker.groups.syncGroup(request, groupClient(context)),
};
