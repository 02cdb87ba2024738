import { errorCodes } from '@millrace/protocol';
import { BrokerInvariantError } from '../errors.ts';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import type { ErrorCode } from './group-service.ts';
import { REBALANCE_RETRY_MS } from './limits.ts';
import { EMPTY_BYTES, type GroupMember } from './members.ts';
import { joined, joinError, syncError, synced } from './results.ts';

/**
 * The join phase from the group's side: when it begins, what it waits for, how it ends, and what the
 * members that did not come lose.
 */
export class Rebalance {
  readonly #context: GroupContext;

  constructor(context: GroupContext) {
    this.#context = context;
  }

  /** Asks all members to join again, or, where that is under way, ends the phase if all have. */
  prepareOrComplete(group: Group, reason: string): void {
    if (group.canRebalance) this.prepare(group, reason);
    else this.maybeComplete(group);
  }

  prepare(group: Group, reason: string): void {
    if (group.state === 'CompletingRebalance') {
      this.propagateError(group, errorCodes.REBALANCE_IN_PROGRESS);
    }
    group.syncDelay.cancel();
    group.pendingSyncs.clear();
    const isInitial = group.state === 'Empty';
    group.transition('rebalance');
    this.#context.logger.info(
      { groupId: group.groupId, generation: group.generationId, reason },
      'group prepares a rebalance',
    );
    if (isInitial) {
      const delayMs = this.#context.config.initialRebalanceDelayMs;
      this.#delayInitial(group, delayMs, Math.max(group.rebalanceTimeoutMs - delayMs, 0));
    } else if (group.hasEveryoneJoined) {
      this.complete(group);
    } else {
      group.joinDelay.start(group.rebalanceTimeoutMs, () => {
        this.complete(group);
      });
    }
  }

  /** The first rebalance of an empty group ends by its delay alone, so that more members can come. */
  maybeComplete(group: Group): void {
    if (
      group.state === 'PreparingRebalance' &&
      group.previousState !== 'Empty' &&
      group.hasEveryoneJoined
    ) {
      this.complete(group);
    }
  }

  /** While members keep coming the delay is repeated, up to the rebalance timeout. */
  #delayInitial(group: Group, delayMs: number, remainingMs: number): void {
    group.joinDelay.start(delayMs, () => {
      if (group.hasNewMember && remainingMs > 0) {
        group.hasNewMember = false;
        const nextMs = Math.min(this.#context.config.initialRebalanceDelayMs, remainingMs);
        // A delay of 0 leaves nothing to prolong, and must not come back for ever.
        if (nextMs > 0) {
          this.#delayInitial(group, nextMs, Math.max(remainingMs - delayMs, 0));
          return;
        }
      }
      this.complete(group);
    });
  }

  /**
   * Ends the join phase: dynamic members that have not come are out (static ones stay until their
   * session ends, KAFKA-8220), the generation moves on, and whoever waits is answered.
   */
  complete(group: Group): void {
    group.joinDelay.cancel();
    if (group.state !== 'PreparingRebalance') return;
    const missing = [...group.members()].filter(
      (member) => member.awaitingJoin === null && !member.isStatic,
    );
    for (const member of missing) group.remove(member.memberId);
    if (missing.length > 0) {
      this.#context.logger.info(
        { groupId: group.groupId, members: missing.map(({ memberId }) => memberId) },
        'group removes members that did not join in time',
      );
    }
    if (group.size > 0 && !group.ensureJoinedLeader()) {
      // Only static members are left, and none has come: wait for them or for their sessions' end.
      group.joinDelay.start(Math.max(group.rebalanceTimeoutMs, REBALANCE_RETRY_MS), () => {
        this.complete(group);
      });
      return;
    }
    group.startNextGeneration();
    if (group.size === 0) this.#storeEmpty(group);
    else this.#answerJoins(group);
  }

  #storeEmpty(group: Group): void {
    const { logger, store } = this.#context;
    logger.info(
      { groupId: group.groupId, generation: group.generationId },
      'group has no members any more',
    );
    const errorCode = store.storeGroup(group);
    if (errorCode === errorCodes.NONE) return;
    // Harmless: after a restart the old members would be back and time out.
    logger.warn({ groupId: group.groupId, errorCode }, 'empty group could not be stored');
  }

  #answerJoins(group: Group): void {
    this.#context.logger.info(
      { groupId: group.groupId, generation: group.generationId, members: group.size },
      'group has joined',
    );
    for (const member of group.members()) {
      const parked = member.awaitingJoin;
      // A static member that is away keeps its place; the assignment waits for it.
      if (parked === null) continue;
      group.setAwaitingJoin(member, null);
      member.isNew = false;
      member.session.set(member.sessionTimeoutMs);
      group.pendingSyncs.add(member.memberId);
      parked.answer(joined(group, member.memberId));
    }
    const { generationId } = group;
    group.syncDelay.start(group.rebalanceTimeoutMs, () => {
      this.#expireSyncs(group, generationId);
    });
  }

  /** KAFKA-12890, KAFKA-9752: who has joined but never asks for its assignment is out. */
  #expireSyncs(group: Group, generationId: number): void {
    if (group.generationId !== generationId || group.pendingSyncs.size === 0) return;
    if (group.state !== 'CompletingRebalance' && group.state !== 'Stable') return;
    const missing = [...group.pendingSyncs];
    for (const memberId of missing) group.remove(memberId);
    this.prepare(group, `members did not sync in time: ${missing.join(', ')}`);
  }

  // --- members that go ---------------------------------------------------------------------------

  /** Takes a member out and answers what it has parked; a rebalance is the caller's business. */
  drop(group: Group, member: GroupMember): void {
    const { awaitingJoin, awaitingSync } = member;
    group.setAwaitingJoin(member, null);
    member.awaitingSync = null;
    group.remove(member.memberId);
    awaitingJoin?.answer(joinError(errorCodes.UNKNOWN_MEMBER_ID));
    awaitingSync?.answer(syncError(errorCodes.UNKNOWN_MEMBER_ID));
  }

  /** The others have to share what the member had, or no longer wait for it. */
  removeAndUpdate(group: Group, member: GroupMember, reason: string): void {
    this.drop(group, member);
    this.afterRemoval(group, reason);
  }

  removePendingAndUpdate(group: Group, memberId: string): void {
    group.forgetPending(memberId);
    if (group.state === 'PreparingRebalance' && group.hasEveryoneJoined) this.complete(group);
  }

  afterRemoval(group: Group, reason: string): void {
    if (group.state === 'Stable' || group.state === 'CompletingRebalance') {
      this.prepare(group, reason);
    } else if (group.state === 'PreparingRebalance' && group.hasEveryoneJoined) {
      this.complete(group);
    }
  }

  /** A session is over. Members that wait in a rebalance are alive without heartbeats. */
  expireSession(group: Group, member: GroupMember): void {
    if (group.member(member.memberId) !== member || member.isHeldByRebalance) return;
    this.#context.logger.info(
      { groupId: group.groupId, memberId: member.memberId },
      'member has not been heard of in time',
    );
    this.removeAndUpdate(group, member, `session of ${member.memberId} is over`);
  }

  // --- assignments -------------------------------------------------------------------------------

  propagateAssignment(group: Group, assignments: ReadonlyMap<string, Buffer>): void {
    assertCompleting(group);
    for (const member of group.members()) {
      member.assignment = assignments.get(member.memberId) ?? EMPTY_BYTES;
    }
    this.#answerSyncs(group, errorCodes.NONE);
  }

  propagateError(group: Group, errorCode: ErrorCode): void {
    assertCompleting(group);
    for (const member of group.members()) member.assignment = EMPTY_BYTES;
    this.#answerSyncs(group, errorCode);
  }

  #answerSyncs(group: Group, errorCode: ErrorCode): void {
    for (const member of group.members()) {
      const parked = member.awaitingSync;
      if (parked === null) continue;
      member.awaitingSync = null;
      // A session that ran out while the member waited was let pass, so it begins anew.
      member.session.set(member.sessionTimeoutMs);
      parked.answer(errorCode === errorCodes.NONE ? synced(group, member) : syncError(errorCode));
    }
  }
}

function assertCompleting(group: Group): void {
  if (group.state !== 'CompletingRebalance') {
    throw new BrokerInvariantError(
      `group ${group.groupId}: assignments are for CompletingRebalance, not ${group.state}`,
    );
  }
}
