import type { Clock } from '@millrace/compaction';
import { BrokerInvariantError } from '../errors.ts';
import { CONSUMER_PROTOCOL_TYPE } from './consumer-protocol-type.ts';
import type { JoinedMember, JoinProtocol, JoinResult } from './group-service.ts';
import type { GroupMember, MemberTerms } from './members.ts';
import type { Parked } from './parked.ts';
import { ProtocolVotes } from './protocol-votes.ts';
import { canHappen, nextState, type GroupEvent, type GroupState } from './states.ts';
import { subscribedTopics } from './subscribed-topics.ts';
import { Delay, type Deadline } from '../timers.ts';

/** What a group's newest record says of it besides its members. */
export interface StoredGroup {
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly generationId: number;
  readonly leaderId: string | null;
  /** -1: unknown. */
  readonly stateTimestamp: number;
}

/**
 * State and members of one classic group. Keeps its counts and its tables in step; when to do what is
 * decided by the phases (join, sync, rebalance).
 */
export class Group {
  readonly groupId: string;
  /** null: only offsets were ever committed under this name. */
  protocolType: string | null = null;
  protocolName: string | null = null;
  generationId = 0;
  leaderId: string | null = null;
  /** A member came during the initial rebalance delay, so the delay may be prolonged. */
  hasNewMember = false;
  /** When the state was entered; epoch ms, -1 where an old record does not tell. */
  stateTimestamp: number;
  readonly joinDelay: Delay;
  readonly syncDelay: Delay;
  /** Ids that were given out with MEMBER_ID_REQUIRED, with the time by which they must be used. */
  readonly pendingMembers = new Map<string, Deadline>();
  /** Members of this generation that have not asked for their assignment yet. */
  readonly pendingSyncs = new Set<string>();
  readonly #clock: Clock;
  readonly #members = new Map<string, GroupMember>();
  readonly #staticMembers = new Map<string, string>();
  readonly #votes = new ProtocolVotes();
  #state: GroupState = 'Empty';
  #previousState: GroupState = 'Dead';
  #awaitingJoinCount = 0;
  #subscribedTopics: ReadonlySet<string> | null = null;

  constructor(groupId: string, clock: Clock) {
    this.groupId = groupId;
    this.#clock = clock;
    this.joinDelay = new Delay(clock);
    this.syncDelay = new Delay(clock);
    this.stateTimestamp = clock.now();
  }

  get state(): GroupState {
    return this.#state;
  }

  get previousState(): GroupState {
    return this.#previousState;
  }

  get canRebalance(): boolean {
    return canHappen(this.#state, 'rebalance');
  }

  transition(event: GroupEvent): void {
    const next = nextState(this.groupId, this.#state, event);
    this.#previousState = this.#state;
    this.#state = next;
    this.stateTimestamp = this.#clock.now();
  }

  /** After a restart: what the group's newest record says, once its members are added. */
  restore(stored: StoredGroup): void {
    this.#state = this.#members.size === 0 ? 'Empty' : 'Stable';
    this.protocolType = stored.protocolType;
    this.protocolName = stored.protocolName;
    this.generationId = stored.generationId;
    this.leaderId = stored.leaderId;
    this.stateTimestamp = stored.stateTimestamp;
    this.#subscribedTopics = subscribedTopics(this);
  }

  // --- members -----------------------------------------------------------------------------------

  get size(): number {
    return this.#members.size;
  }

  get awaitingJoinCount(): number {
    return this.#awaitingJoinCount;
  }

  members(): IterableIterator<GroupMember> {
    return this.#members.values();
  }

  member(memberId: string): GroupMember | undefined {
    return this.#members.get(memberId);
  }

  staticMemberId(groupInstanceId: string): string | undefined {
    return this.#staticMembers.get(groupInstanceId);
  }

  isLeader(memberId: string): boolean {
    return this.leaderId === memberId;
  }

  add(member: GroupMember, protocolType: string): void {
    if (this.#members.has(member.memberId)) {
      throw new BrokerInvariantError(
        `group ${this.groupId} has a member ${member.memberId} already`,
      );
    }
    if (this.#members.size === 0) this.protocolType = protocolType;
    if (member.groupInstanceId !== null) {
      this.#staticMembers.set(member.groupInstanceId, member.memberId);
    }
    this.#members.set(member.memberId, member);
    this.#votes.add(member.protocols);
    this.leaderId ??= member.memberId;
    this.forgetPending(member.memberId);
  }

  /** Requests that the member has parked are the caller's to answer, before. */
  remove(memberId: string): void {
    this.forgetPending(memberId);
    this.pendingSyncs.delete(memberId);
    const member = this.#members.get(memberId);
    if (member === undefined) return;
    member.session.cancel();
    if (member.awaitingJoin !== null) this.#awaitingJoinCount -= 1;
    this.#members.delete(memberId);
    this.#votes.remove(member.protocols);
    if (
      member.groupInstanceId !== null &&
      this.#staticMembers.get(member.groupInstanceId) === memberId
    ) {
      this.#staticMembers.delete(member.groupInstanceId);
    }
    if (this.leaderId === memberId) {
      const first = this.#members.keys().next();
      this.leaderId = first.done === true ? null : first.value;
    }
  }

  /** KIP-345: the same instance under a new member id, in the place of the old one. */
  replace(old: GroupMember, successor: GroupMember): void {
    const wasLeader = this.leaderId === old.memberId;
    const wasPendingSync = this.pendingSyncs.has(old.memberId);
    const protocolType = this.protocolType ?? '';
    this.remove(old.memberId);
    this.add(successor, protocolType);
    successor.assignment = old.assignment;
    if (wasLeader) this.leaderId = successor.memberId;
    if (wasPendingSync) this.pendingSyncs.add(successor.memberId);
  }

  setTerms(member: GroupMember, terms: MemberTerms): void {
    this.#votes.remove(member.protocols);
    member.setTerms(terms);
    this.#votes.add(member.protocols);
  }

  setAwaitingJoin(member: GroupMember, parked: Parked<JoinResult> | null): void {
    if (member.awaitingJoin !== null) this.#awaitingJoinCount -= 1;
    if (parked !== null) this.#awaitingJoinCount += 1;
    member.awaitingJoin = parked;
  }

  forgetPending(memberId: string): void {
    this.pendingMembers.get(memberId)?.cancel();
    this.pendingMembers.delete(memberId);
  }

  // --- a rebalance -------------------------------------------------------------------------------

  /** Members and those who were promised an id: the join phase waits for all of them. */
  get hasEveryoneJoined(): boolean {
    return this.#awaitingJoinCount === this.#members.size && this.pendingMembers.size === 0;
  }

  /** The longest of the members' rebalance timeouts. */
  get rebalanceTimeoutMs(): number {
    let longest = 0;
    for (const member of this.#members.values()) {
      longest = Math.max(longest, member.rebalanceTimeoutMs);
    }
    return longest;
  }

  /** A leader that has not joined again loses its office; false if nobody has joined. */
  ensureJoinedLeader(): boolean {
    if (this.leaderId === null) return false;
    if (this.#members.get(this.leaderId)?.awaitingJoin) return true;
    for (const member of this.#members.values()) {
      if (member.awaitingJoin === null) continue;
      this.leaderId = member.memberId;
      return true;
    }
    return false;
  }

  startNextGeneration(): void {
    this.generationId += 1;
    this.pendingSyncs.clear();
    this.hasNewMember = false;
    this.protocolName = this.#members.size === 0 ? null : this.selectProtocol();
    this.#subscribedTopics = subscribedTopics(this);
    this.transition(this.#members.size === 0 ? 'emptied' : 'joined');
  }

  /** Each member votes for its first choice among those that all support; most votes win. */
  selectProtocol(): string {
    return this.#votes.elect(this.groupId, this.#members);
  }

  /** Whether a member with these protocols can live with the others. */
  supports(protocolType: string, protocols: readonly JoinProtocol[]): boolean {
    if (this.#state === 'Empty') return protocolType !== '' && protocols.length > 0;
    return (
      this.protocolType === protocolType && this.#votes.areShared(protocols, this.#members.size)
    );
  }

  joinedMembers(): JoinedMember[] {
    return [...this.#members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      metadata: member.metadataFor(this.protocolName),
    }));
  }

  // --- offsets -----------------------------------------------------------------------------------

  get usesConsumerProtocol(): boolean {
    return this.protocolType === CONSUMER_PROTOCOL_TYPE;
  }

  /** null: not known, because the protocol is another one or does not follow the schema. */
  get subscribedTopics(): ReadonlySet<string> | null {
    return this.#subscribedTopics;
  }

  /** Where the topics are not known, a consumer group counts as subscribed to all. */
  isSubscribedTo(topic: string): boolean {
    return this.#subscribedTopics?.has(topic) ?? this.usesConsumerProtocol;
  }

  cancelTimers(): void {
    this.joinDelay.cancel();
    this.syncDelay.cancel();
    for (const member of this.#members.values()) member.session.cancel();
    for (const pending of this.pendingMembers.values()) pending.cancel();
  }
}
