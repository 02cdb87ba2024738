import {
  errorCodes,
  SyncGroup,
  type SyncGroupRequest,
  type SyncGroupResponse,
} from '@millrace/protocol';
import { groupClient } from './group-client.ts';
import type { Handler } from './handler.ts';

const PROTOCOL_FROM_VERSION = 5;

/**
 * SyncGroup, versions 0 to 5.
 *
 * Parked until the leader has brought the assignment and it is stored. A member that never asks is out
 * after the rebalance timeout (KAFKA-12890). Protocol type and name (KIP-559) must be there from version 5
 * on, and be the group's.
 */
export const syncGroupHandler: Handler<SyncGroupRequest, SyncGroupResponse> = {
  api: SyncGroup,
  minVersion: 0,
  maxVersion: 5,
  handle(request, context) {
    const { protocolType, protocolName } = request;
    if (
      context.apiVersion >= PROTOCOL_FROM_VERSION &&
      (protocolType === null || protocolName === null)
    ) {
      return { errorCode: errorCodes.INCONSISTENT_GROUP_PROTOCOL };
    }
    return context.broker.groups.syncGroup(request, groupClient(context));
  },
};
