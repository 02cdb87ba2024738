import { errorCodes } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { ErrorCode } from './group-service.ts';

/** Whether a member id is good, and, for a static member, still the one that stands for its instance. */
export function membershipError(
  group: Group,
  memberId: string,
  groupInstanceId: string | null,
): ErrorCode {
  if (groupInstanceId !== null) {
    const current = group.staticMemberId(groupInstanceId);
    if (current === undefined) return errorCodes.UNKNOWN_MEMBER_ID;
    if (current !== memberId) return errorCodes.FENCED_INSTANCE_ID;
  }
  return group.member(memberId) === undefined ? errorCodes.UNKNOWN_MEMBER_ID : errorCodes.NONE;
}

/** The same, and that it is not of an earlier generation. */
export function generationError(
  group: Group,
  memberId: string,
  groupInstanceId: string | null,
  generationId: number,
): ErrorCode {
  const errorCode = membershipError(group, memberId, groupInstanceId);
  if (errorCode !== errorCodes.NONE) return errorCode;
  return generationId === group.generationId ? errorCodes.NONE : errorCodes.ILLEGAL_GENERATION;
}
