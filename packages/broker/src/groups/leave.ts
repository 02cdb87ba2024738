import { errorCodes } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { ErrorCode, LeaveResult, LeavingMember } from './group-service.ts';
import type { Rebalance } from './rebalance.ts';
import { membershipError } from './validate-member.ts';

/** LeaveGroup: each member has its own answer; the group rebalances once for all of them (KIP-345). */
export function leave(
  rebalance: Rebalance,
  group: Group,
  members: readonly LeavingMember[],
): LeaveResult {
  const sizeBefore = group.size;
  const results = members.map(({ memberId, groupInstanceId, reason }) => ({
    memberId,
    groupInstanceId,
    errorCode: takeOut(rebalance, group, memberId, groupInstanceId),
    reason,
  }));
  const gone = results.filter(({ errorCode }) => errorCode === errorCodes.NONE);
  if (group.state === 'PreparingRebalance') {
    rebalance.maybeComplete(group);
  } else if (group.size < sizeBefore) {
    const reason = gone
      .map((one) => `${one.memberId || (one.groupInstanceId ?? '')} (${one.reason ?? 'no reason'})`)
      .join(', ');
    rebalance.afterRemoval(group, `members leave: ${reason}`);
  }
  return {
    errorCode: errorCodes.NONE,
    members: results.map(({ memberId, groupInstanceId, errorCode }) => ({
      memberId,
      groupInstanceId,
      errorCode,
    })),
  };
}

function takeOut(
  rebalance: Rebalance,
  group: Group,
  memberId: string,
  groupInstanceId: string | null,
): ErrorCode {
  if (group.pendingMembers.has(memberId)) {
    group.forgetPending(memberId);
    return errorCodes.NONE;
  }
  // Without a member id an administrator removes whoever stands for the instance now.
  const currentId =
    memberId === '' && groupInstanceId !== null ? group.staticMemberId(groupInstanceId) : memberId;
  if (currentId === undefined) return errorCodes.UNKNOWN_MEMBER_ID;
  const errorCode = membershipError(group, currentId, groupInstanceId);
  if (errorCode !== errorCodes.NONE) return errorCode;
  const member = group.member(currentId);
  if (member !== undefined) rebalance.drop(group, member);
  return errorCodes.NONE;
}
