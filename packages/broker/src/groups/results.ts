import { errorCodes } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { ErrorCode, JoinResult, SyncResult } from './group-service.ts';
import { EMPTY_BYTES, type GroupMember } from './members.ts';

export function joinError(errorCode: ErrorCode, memberId = ''): JoinResult {
  return {
    errorCode,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  };
}

/** The current generation, for a member of it; only the leader sees the others. */
export function joined(group: Group, memberId: string): JoinResult {
  return {
    errorCode: errorCodes.NONE,
    generationId: group.generationId,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    leader: group.leaderId ?? '',
    skipAssignment: false,
    memberId,
    members: group.isLeader(memberId) ? group.joinedMembers() : [],
  };
}

export function syncError(errorCode: ErrorCode): SyncResult {
  return { errorCode, protocolType: null, protocolName: null, assignment: EMPTY_BYTES };
}

export function synced(group: Group, member: GroupMember): SyncResult {
  return {
    errorCode: errorCodes.NONE,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    assignment: member.assignment,
  };
}
