import { JoinGroup, type JoinGroupRequest, type JoinGroupResponse } from '@millrace/protocol';
import { groupClient } from './group-client.ts';
import type { Handler } from './handler.ts';

/** Versions in which the answer or its rules changed. */
const REBALANCE_TIMEOUT_VERSION = 1;
const KNOWN_MEMBER_ID_VERSION = 4;
const NULLABLE_PROTOCOL_VERSION = 7;
const SKIP_ASSIGNMENT_VERSION = 9;

/**
 * JoinGroup, versions 0 to 9.
 *
 * Parked until all members have joined, at most the rebalance timeout (the session timeout in version
 * 0). From version 4 a dynamic member without an id is sent back with one (KIP-394); static members from
 * 5 (KIP-345); the client's reason (v8, KIP-800) is logged; from 9 a static leader that comes back to a
 * stable group is told not to assign (KIP-814).
 */
export const joinGroupHandler: Handler<JoinGroupRequest, JoinGroupResponse> = {
  api: JoinGroup,
  minVersion: 0,
  maxVersion: 9,
  async handle(request, context) {
    const { apiVersion, broker } = context;
    const { sessionTimeoutMs } = request;
    const result = await broker.groups.joinGroup(
      {
        groupId: request.groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs:
          apiVersion < REBALANCE_TIMEOUT_VERSION ? sessionTimeoutMs : request.rebalanceTimeoutMs,
        memberId: request.memberId,
        groupInstanceId: request.groupInstanceId,
        protocolType: request.protocolType,
        protocols: request.protocols,
        reason: request.reason,
        requiresKnownMemberId: apiVersion >= KNOWN_MEMBER_ID_VERSION,
        supportsSkippingAssignment: apiVersion >= SKIP_ASSIGNMENT_VERSION,
      },
      groupClient(context),
    );
    if (apiVersion >= NULLABLE_PROTOCOL_VERSION) return result;
    return { ...result, protocolName: result.protocolName ?? '' };
  },
};
