import { errorCodes } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import type { ErrorCode, GroupClient, SyncRequest, SyncResult } from './group-service.ts';
import type { GroupMember } from './members.ts';
import { Parked } from './parked.ts';
import type { Rebalance } from './rebalance.ts';
import { synced, syncError } from './results.ts';
import { generationError } from './validate-member.ts';

/** SyncGroup: members wait for the leader, whose assignment is stored before anybody gets it. */
export class SyncPhase {
  readonly #context: GroupContext;
  readonly #rebalance: Rebalance;

  constructor(context: GroupContext, rebalance: Rebalance) {
    this.#context = context;
    this.#rebalance = rebalance;
  }

  sync(group: Group, request: SyncRequest, client: GroupClient): SyncResult | Promise<SyncResult> {
    const errorCode = syncRequestError(group, request);
    if (errorCode !== errorCodes.NONE) return syncError(errorCode);
    const member = group.member(request.memberId) as GroupMember;
    switch (group.state) {
      case 'PreparingRebalance':
        return syncError(errorCodes.REBALANCE_IN_PROGRESS);
      case 'CompletingRebalance': {
        const parked = this.#park(group, member, client);
        group.pendingSyncs.delete(member.memberId);
        if (group.isLeader(member.memberId)) this.#assign(group, request);
        return parked.promise;
      }
      case 'Stable':
        group.pendingSyncs.delete(member.memberId);
        return synced(group, member);
      case 'Empty':
      case 'Dead':
        return syncError(errorCodes.UNKNOWN_MEMBER_ID);
    }
  }

  #assign(group: Group, request: SyncRequest): void {
    const assignments = new Map<string, Buffer>();
    for (const { memberId, assignment } of request.assignments) {
      assignments.set(memberId, Buffer.from(assignment));
    }
    const errorCode = this.#context.store.storeGroup(group, assignments);
    if (errorCode !== errorCodes.NONE) {
      this.#rebalance.propagateError(group, errorCode);
      this.#rebalance.prepare(group, `the assignment could not be stored (error ${errorCode})`);
      return;
    }
    this.#context.logger.info(
      { groupId: group.groupId, generation: group.generationId, members: group.size },
      'group is stable',
    );
    this.#rebalance.propagateAssignment(group, assignments);
    group.transition('assigned');
  }

  #park(group: Group, member: GroupMember, client: GroupClient): Parked<SyncResult> {
    member.awaitingSync?.answer(syncError(errorCodes.REBALANCE_IN_PROGRESS));
    const parked = new Parked<SyncResult>(client, () => {
      if (member.awaitingSync === parked) {
        member.awaitingSync = null;
        // Waiting kept it alive; now its session does, until it comes back to ask again.
        if (group.member(member.memberId) === member) member.session.set(member.sessionTimeoutMs);
      }
      parked.answer(syncError(errorCodes.UNKNOWN_MEMBER_ID));
    });
    member.awaitingSync = parked;
    return parked;
  }
}

function syncRequestError(group: Group, request: SyncRequest): ErrorCode {
  const { memberId, groupInstanceId, generationId, protocolType, protocolName } = request;
  const errorCode = generationError(group, memberId, groupInstanceId, generationId);
  if (errorCode !== errorCodes.NONE) return errorCode;
  return differs(protocolType, group.protocolType) || differs(protocolName, group.protocolName)
    ? errorCodes.INCONSISTENT_GROUP_PROTOCOL
    : errorCodes.NONE;
}

/** KIP-559: only what both sides name is compared. */
function differs(said: string | null, known: string | null): boolean {
  return said !== null && known !== null && said !== known;
}
