import { errorCodes } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import type { GroupClient, JoinRequest, JoinResult } from './group-service.ts';
import {
  GROUP_MEMBERS,
  GROUP_PENDING_MEMBERS,
  MEMBER_ID_PREFIX_CHARACTERS,
  MEMBER_PROTOCOLS,
  NEW_MEMBER_JOIN_TIMEOUT_MS,
} from './limits.ts';
import { GroupMember } from './members.ts';
import { Parked } from './parked.ts';
import type { Rebalance } from './rebalance.ts';
import { joined, joinError, syncError } from './results.ts';
import { Deadline } from '../timers.ts';
import { membershipError } from './validate-member.ts';

type JoinAnswer = JoinResult | Promise<JoinResult>;

/** JoinGroup: who may come in, who is asked to come again with an id, and who sets off a rebalance. */
export class JoinPhase {
  readonly #context: GroupContext;
  readonly #rebalance: Rebalance;

  constructor(context: GroupContext, rebalance: Rebalance) {
    this.#context = context;
    this.#rebalance = rebalance;
  }

  join(group: Group, request: JoinRequest, client: GroupClient): JoinAnswer {
    const { memberId } = request;
    if (!this.#hasRoomFor(group, memberId)) {
      const member = group.member(memberId);
      if (member === undefined) group.forgetPending(memberId);
      else this.#rebalance.drop(group, member);
      this.#rebalance.maybeComplete(group);
      return joinError(errorCodes.GROUP_MAX_SIZE_REACHED);
    }
    if (
      request.protocols.length > MEMBER_PROTOCOLS ||
      !group.supports(request.protocolType, request.protocols)
    ) {
      return joinError(errorCodes.INCONSISTENT_GROUP_PROTOCOL, memberId);
    }
    return memberId === ''
      ? this.#joinNew(group, request, client)
      : this.#joinKnown(group, request, client);
  }

  /**
   * While joins are collected the size counts who has joined, not who is listed: the last to come back
   * to a group that has become too large are out.
   */
  #hasRoomFor(group: Group, memberId: string): boolean {
    const maxSize = Math.min(this.#context.config.maxSize, GROUP_MEMBERS);
    const member = group.member(memberId);
    switch (group.state) {
      case 'Empty':
      case 'Dead':
        return true;
      case 'PreparingRebalance':
        return (member?.awaitingJoin ?? null) !== null || group.awaitingJoinCount < maxSize;
      case 'CompletingRebalance':
      case 'Stable':
        return member !== undefined || group.size < maxSize;
    }
  }

  #joinNew(group: Group, request: JoinRequest, client: GroupClient): JoinAnswer {
    const { groupInstanceId } = request;
    const memberId = `${memberIdPrefix(groupInstanceId ?? client.clientId)}-${this.#context.newUuid()}`;
    if (groupInstanceId !== null) {
      const oldMemberId = group.staticMemberId(groupInstanceId);
      const old = oldMemberId === undefined ? undefined : group.member(oldMemberId);
      return old === undefined
        ? this.#add(group, request, client, memberId)
        : this.#replaceStatic(group, request, client, old, memberId);
    }
    if (!request.requiresKnownMemberId) return this.#add(group, request, client, memberId);
    if (group.pendingMembers.size >= GROUP_PENDING_MEMBERS) {
      return joinError(errorCodes.GROUP_MAX_SIZE_REACHED);
    }
    const pending = new Deadline(this.#context.clock, () => {
      this.#rebalance.removePendingAndUpdate(group, memberId);
    });
    pending.set(request.sessionTimeoutMs);
    group.pendingMembers.set(memberId, pending);
    return joinError(errorCodes.MEMBER_ID_REQUIRED, memberId);
  }

  #joinKnown(group: Group, request: JoinRequest, client: GroupClient): JoinAnswer {
    const { memberId, groupInstanceId, protocols } = request;
    if (group.pendingMembers.has(memberId)) {
      // Ids are given out to dynamic members only.
      return groupInstanceId === null
        ? this.#add(group, request, client, memberId)
        : joinError(errorCodes.UNKNOWN_MEMBER_ID, memberId);
    }
    const errorCode = membershipError(group, memberId, groupInstanceId);
    if (errorCode !== errorCodes.NONE) return joinError(errorCode, memberId);
    const member = group.member(memberId) as GroupMember;
    switch (group.state) {
      case 'PreparingRebalance':
        return this.#update(group, request, client, member);
      case 'CompletingRebalance':
        // With the same metadata it has just missed its answer.
        return member.hasProtocols(protocols)
          ? joined(group, memberId)
          : this.#update(group, request, client, member);
      case 'Stable':
        // The leader may have reasons that its metadata do not show, such as new partitions.
        return !group.isLeader(memberId) && member.hasProtocols(protocols)
          ? joined(group, memberId)
          : this.#update(group, request, client, member);
      case 'Empty':
      case 'Dead':
        return joinError(errorCodes.UNKNOWN_MEMBER_ID, memberId);
    }
  }

  #add(group: Group, request: JoinRequest, client: GroupClient, memberId: string): JoinAnswer {
    const member = this.#newMember(group, request, client, memberId);
    member.isNew = true;
    member.isIdKnown = request.memberId !== '';
    if (group.state === 'PreparingRebalance' && group.previousState === 'Empty') {
      group.hasNewMember = true;
    }
    group.add(member, request.protocolType);
    const parked = this.#park(group, member, client);
    member.session.set(NEW_MEMBER_JOIN_TIMEOUT_MS);
    this.#rebalance.prepareOrComplete(group, why(`member ${memberId} is new`, request));
    return parked.promise;
  }

  #update(
    group: Group,
    request: JoinRequest,
    client: GroupClient,
    member: GroupMember,
  ): JoinAnswer {
    group.setTerms(member, request);
    const parked = this.#park(group, member, client);
    this.#rebalance.prepareOrComplete(group, why(`member ${member.memberId} joins again`, request));
    return parked.promise;
  }

  /**
   * KIP-345: an instance that comes back takes its old place under a new member id, and whoever still
   * uses the old one is fenced. A stable group does not rebalance for it as long as the protocol stays
   * the same; timeouts are those of the new request (KAFKA-14009).
   */
  #replaceStatic(
    group: Group,
    request: JoinRequest,
    client: GroupClient,
    old: GroupMember,
    memberId: string,
  ): JoinAnswer {
    const formerLeader = group.leaderId ?? '';
    const successor = this.#newMember(group, old, client, memberId);
    const { awaitingJoin, awaitingSync } = old;
    group.setAwaitingJoin(old, null);
    old.awaitingSync = null;
    group.replace(old, successor);
    awaitingJoin?.answer(joinError(errorCodes.FENCED_INSTANCE_ID, old.memberId));
    awaitingSync?.answer(syncError(errorCodes.FENCED_INSTANCE_ID));
    group.setTerms(successor, request);
    successor.session.set(request.sessionTimeoutMs);
    this.#context.logger.info(
      { groupId: group.groupId, instanceId: request.groupInstanceId, memberId, state: group.state },
      'static member is back',
    );

    if (group.state === 'Stable' && group.protocolName === group.selectProtocol()) {
      const errorCode = this.#context.store.storeGroup(group);
      if (errorCode !== errorCodes.NONE) {
        this.#restoreStatic(group, successor, old);
        return joinError(errorCode);
      }
      const isLeader = group.isLeader(memberId);
      if (request.supportsSkippingAssignment) {
        return { ...joined(group, memberId), skipAssignment: isLeader };
      }
      // An older client would assign anew if it saw itself as leader.
      return { ...joined(group, memberId), leader: formerLeader, members: [] };
    }
    const parked = this.#park(group, successor, client);
    const reason = why(`static member ${memberId} is back`, request);
    // In CompletingRebalance the leader may already assign to the old id, so it has to begin again.
    this.#rebalance.prepareOrComplete(group, reason);
    return parked.promise;
  }

  /** The new member id could not be stored, so the old one stays good. */
  #restoreStatic(group: Group, successor: GroupMember, old: GroupMember): void {
    group.replace(successor, old);
    old.session.set(old.sessionTimeoutMs);
  }

  #newMember(
    group: Group,
    terms: Pick<JoinRequest, 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'protocols'> & {
      readonly groupInstanceId: string | null;
    },
    client: GroupClient,
    memberId: string,
  ): GroupMember {
    const { clientId, clientHost } = client;
    const { groupInstanceId } = terms;
    const identity = { memberId, groupInstanceId, clientId, clientHost };
    const session = new Deadline(this.#context.clock, () => {
      this.#rebalance.expireSession(group, member);
    });
    const member: GroupMember = new GroupMember(identity, terms, session);
    return member;
  }

  /** One join per member: a second one (over a new connection) sends the first back. */
  #park(group: Group, member: GroupMember, client: GroupClient): Parked<JoinResult> {
    member.awaitingJoin?.answer(joinError(errorCodes.REBALANCE_IN_PROGRESS, member.memberId));
    const parked = new Parked<JoinResult>(client, () => {
      this.#onJoinerGone(group, member, parked);
    });
    group.setAwaitingJoin(member, parked);
    return parked;
  }

  /**
   * The connection of a parked join is gone. Kafka does not notice and would count a dead client as
   * joined; here the member no longer counts, and has its session to come back with the same id. One
   * that was never told its id cannot, and is out at once.
   */
  #onJoinerGone(group: Group, member: GroupMember, parked: Parked<JoinResult>): void {
    if (member.awaitingJoin === parked && group.member(member.memberId) === member) {
      group.setAwaitingJoin(member, null);
      if (member.isNew && !member.isStatic && !member.isIdKnown) {
        this.#rebalance.removeAndUpdate(group, member, `${member.memberId} has disconnected`);
      } else {
        member.session.set(member.sessionTimeoutMs);
      }
    }
    parked.answer(joinError(errorCodes.UNKNOWN_MEMBER_ID, member.memberId));
  }
}

function why(what: string, request: JoinRequest): string {
  return `${what}; client's reason: ${request.reason ?? 'not given'}`;
}

function memberIdPrefix(name: string): string {
  if (name.length <= MEMBER_ID_PREFIX_CHARACTERS) return name;
  // Half a pair would be another character when the client says it again.
  return name.slice(0, MEMBER_ID_PREFIX_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
}
