import type {
  GroupHandler,
  GroupMetadata,
  GroupPort,
  MemberAssignment,
  OffsetAndMetadata,
  TopicPartition,
  TopicPartitionKey,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { RebalanceInProgressError, TaskMigratedError } from '../errors.ts';

/** A group coordinator in memory: a rebalance whenever somebody joins, leaves or asks for one. */
export class FakeGroup {
  readonly groupId: string;
  readonly offsets = new Map<TopicPartitionKey, OffsetAndMetadata>();
  readonly #members = new Map<string, FakeMember>();
  #generation = 0;
  #isRebalancing = false;
  #isWanted = false;
  #nextMember = 1;
  #rebalanced: Promise<void> = Promise.resolve();
  /** Makes the next commits fail, in order. */
  readonly commitFailures: Error[] = [];
  /** Makes the next look-ups of committed offsets fail, in order. */
  readonly committedFailures: Error[] = [];
  /** What the leader makes of a member's user data; default: as it came. */
  userDataForLeader: (userData: Buffer) => Buffer = (userData) => userData;
  /** Awaited by each commit. */
  onCommit: (() => Promise<void>) | null = null;
  commitCount = 0;

  constructor(groupId: string) {
    this.groupId = groupId;
  }

  get generation(): number {
    return this.#generation;
  }

  get isRebalancing(): boolean {
    return this.#isRebalancing;
  }

  /** When there is nothing left to rebalance for. */
  get rebalanced(): Promise<void> {
    return this.#rebalanced;
  }

  get memberCount(): number {
    return this.#members.size;
  }

  newMemberId(): string {
    return `member-${String(this.#nextMember++)}`;
  }

  add(member: FakeMember): void {
    this.#members.set(member.memberId, member);
    this.rebalance();
  }

  remove(memberId: string): void {
    if (this.#members.delete(memberId)) this.rebalance();
  }

  /** The coordinator takes a member for dead: its tasks go to others, and it learns so. */
  async expire(memberId: string): Promise<void> {
    const member = this.#members.get(memberId);
    if (member === undefined) return;
    this.#members.delete(memberId);
    await member.lost(new TaskMigratedError(`member ${memberId} was expired`));
    this.#members.set(memberId, member);
    this.rebalance();
  }

  isMember(memberId: string): boolean {
    return this.#members.has(memberId);
  }

  rebalance(): void {
    this.#isWanted = true;
    if (this.#isRebalancing) return;
    this.#isRebalancing = true;
    this.#rebalanced = Promise.resolve().then(() => this.#run());
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      const members = [...this.#members.values()];
      await Promise.all(members.map((member) => member.prepare()));
      if (this.#isWantedAgain()) continue;
      this.#generation++;
      await this.#sync(members);
    }
    this.#isRebalancing = false;
  }

  #isWantedAgain(): boolean {
    return this.#isWanted;
  }

  async #sync(members: readonly FakeMember[]): Promise<void> {
    const leader = members[0];
    if (leader === undefined) return;
    let assignments: ReadonlyMap<string, MemberAssignment>;
    try {
      const subscriptions = members.map((member) => {
        const subscription = member.subscription();
        return { ...subscription, userData: this.userDataForLeader(subscription.userData) };
      });
      assignments = await leader.handler.assign(subscriptions);
    } catch (error) {
      leader.handler.onFatal(error as Error);
      return;
    }
    await Promise.all(
      members.map(async (member) => {
        const assignment = assignments.get(member.memberId);
        if (assignment !== undefined) await member.assigned(assignment, this.#generation);
      }),
    );
  }
}

export class FakeMember implements GroupPort {
  readonly memberId: string;
  readonly #group: FakeGroup;
  #handler: GroupHandler | null = null;
  #generation = -1;
  #isPreparing = false;

  constructor(group: FakeGroup) {
    this.#group = group;
    this.memberId = group.newMemberId();
  }

  get handler(): GroupHandler {
    return this.#handler as GroupHandler;
  }

  get metadata(): GroupMetadata {
    return {
      groupId: this.#group.groupId,
      generation: this.#generation,
      memberId: this.#generation < 0 ? '' : this.memberId,
      groupInstanceId: null,
    };
  }

  join(handler: GroupHandler): void {
    this.#handler = handler;
    this.#group.add(this);
  }

  rejoin(): boolean {
    if (!this.#group.isMember(this.memberId)) return false;
    this.#group.rebalance();
    return true;
  }

  subscription(): Parameters<GroupHandler['assign']>[0][number] {
    return { memberId: this.memberId, groupInstanceId: null, ...this.handler.subscription() };
  }

  async prepare(): Promise<void> {
    this.#isPreparing = true;
    try {
      await this.handler.onRebalance();
    } finally {
      this.#isPreparing = false;
    }
  }

  async assigned(assignment: MemberAssignment, generation: number): Promise<void> {
    this.#generation = generation;
    await this.handler.onAssigned(assignment, this.metadata);
  }

  async lost(error: Error): Promise<void> {
    this.#generation = -1;
    await this.handler.onLost(error);
  }

  async commit(
    offsets: ReadonlyMap<TopicPartitionKey, TopicPartition & OffsetAndMetadata>,
  ): Promise<void> {
    await this.#group.onCommit?.();
    const failure = this.#group.commitFailures.shift();
    if (failure !== undefined) throw failure;
    if (!this.#group.isMember(this.memberId)) throw new TaskMigratedError('unknown member');
    if (this.#group.isRebalancing && !this.#isPreparing) {
      throw new RebalanceInProgressError('the group rebalances');
    }
    this.#group.commitCount++;
    for (const [key, { offset, metadata }] of offsets) {
      this.#group.offsets.set(key, { offset, metadata });
    }
  }

  committed(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<TopicPartitionKey, OffsetAndMetadata>> {
    const failure = this.#group.committedFailures.shift();
    if (failure !== undefined) return Promise.reject(failure);
    const found = new Map<TopicPartitionKey, OffsetAndMetadata>();
    for (const { topic, partition } of partitions) {
      const key = topicPartitionKey(topic, partition);
      const known = this.#group.offsets.get(key);
      if (known !== undefined) found.set(key, known);
    }
    return Promise.resolve(found);
  }

  /** Answered late, when the others have its tasks: whoever leaves first must not count on being quicker. */
  leave(): Promise<void> {
    this.#group.remove(this.memberId);
    return this.#group.rebalanced;
  }
}
