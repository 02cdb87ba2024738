import { errorCodes } from '@millrace/protocol';

/** KIP-320: the error for a client that knows another leader epoch than ours; -1 knows none. */
export function leaderEpochError(
  partition: { readonly leaderEpoch: number },
  currentLeaderEpoch: number,
): number {
  if (currentLeaderEpoch < 0 || currentLeaderEpoch === partition.leaderEpoch)
    return errorCodes.NONE;
  return currentLeaderEpoch < partition.leaderEpoch
    ? errorCodes.FENCED_LEADER_EPOCH
    : errorCodes.UNKNOWN_LEADER_EPOCH;
}
