import {
  errorCodes,
  LeaveGroup,
  type LeaveGroupRequest,
  type LeaveGroupResponse,
} from '@millrace/protocol';
import type { Handler } from './handler.ts';

const FIRST_BATCHED_VERSION = 3;

/**
 * LeaveGroup, versions 0 to 5.
 *
 * One member, whose error is the answer's, up to version 2; several, each with its own, from 3, where an
 * instance id without a member id removes whoever stands for it (KIP-345). The reason (v5, KIP-800) is
 * logged.
 */
export const leaveGroupHandler: Handler<LeaveGroupRequest, LeaveGroupResponse> = {
  api: LeaveGroup,
  minVersion: 0,
  maxVersion: 5,
  handle(request, { apiVersion, broker }) {
    const { groupId, memberId } = request;
    if (apiVersion >= FIRST_BATCHED_VERSION) {
      return broker.groups.leaveGroup(groupId, request.members);
    }
    const { errorCode, members } = broker.groups.leaveGroup(groupId, [
      { memberId, groupInstanceId: null, reason: null },
    ]);
    if (errorCode !== errorCodes.NONE) return { errorCode };
    return { errorCode: members[0]?.errorCode ?? errorCodes.NONE };
  },
};
