import { errorCodes } from '@millrace/protocol';

/** The partition has another leader by now, or none yet: ask for metadata, wait, try again. */
const leadershipCodes = new Set<number>([
  errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
  errorCodes.LEADER_NOT_AVAILABLE,
  errorCodes.NOT_LEADER_OR_FOLLOWER,
  errorCodes.REPLICA_NOT_AVAILABLE,
  errorCodes.LISTENER_NOT_FOUND,
  errorCodes.FENCED_LEADER_EPOCH,
  errorCodes.UNKNOWN_LEADER_EPOCH,
  errorCodes.KAFKA_STORAGE_ERROR,
  errorCodes.OFFSET_NOT_AVAILABLE,
  errorCodes.UNKNOWN_TOPIC_ID,
  errorCodes.INCONSISTENT_TOPIC_ID,
]);

export function isLeadershipError(code: number): boolean {
  return leadershipCodes.has(code);
}

/** The group's coordinator is elsewhere: find it again. */
export function isCoordinatorMoved(code: number): boolean {
  return code === errorCodes.NOT_COORDINATOR || code === errorCodes.COORDINATOR_NOT_AVAILABLE;
}

/** We are no member of this generation any more. */
export function isMembershipLost(code: number): boolean {
  return (
    code === errorCodes.UNKNOWN_MEMBER_ID ||
    code === errorCodes.ILLEGAL_GENERATION ||
    code === errorCodes.FENCED_INSTANCE_ID
  );
}

export function isAuthorizationError(code: number): boolean {
  return (
    code === errorCodes.TOPIC_AUTHORIZATION_FAILED ||
    code === errorCodes.GROUP_AUTHORIZATION_FAILED ||
    code === errorCodes.CLUSTER_AUTHORIZATION_FAILED ||
    code === errorCodes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED ||
    code === errorCodes.DELEGATION_TOKEN_AUTHORIZATION_FAILED
  );
}
