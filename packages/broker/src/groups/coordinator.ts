import type { Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { coordinatorErrorCode } from '../coordinators/coordinator-errors.ts';
import type { CoordinatorTopic } from '../coordinators/coordinator-topic.ts';
import { OffsetExpiry } from './expiry.ts';
import { GroupAdministration } from './administration.ts';
import type { Group } from './group.ts';
import type { GroupConfig } from './group-config.ts';
import type { GroupContext, GroupStore } from './group-context.ts';
import { groupRecord } from './group-records.ts';
import type {
  CommitRequest,
  DescribedGroup,
  ErrorCode,
  FetchedTopic,
  GroupClient,
  GroupService,
  HeartbeatRequest,
  JoinRequest,
  JoinResult,
  LeaveResult,
  LeavingMember,
  ListedGroup,
  OffsetQuery,
  SyncRequest,
  SyncResult,
  TopicResult,
  TransactionalCommitRequest,
} from './group-service.ts';
import { GroupTable } from './group-table.ts';
import { JoinPhase } from './join.ts';
import { leave } from './leave.ts';
import { GroupLoader } from './loader.ts';
import { OffsetsLog } from './offsets-log.ts';
import { failAll, OffsetOperations, type CommittableTopics } from './offset-operations.ts';
import { OffsetStore } from './offsets.ts';
import { Rebalance } from './rebalance.ts';
import { joinError, syncError } from './results.ts';
import { SyncPhase } from './sync.ts';
import { generationError } from './validate-member.ts';

export interface GroupCoordinatorOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: GroupConfig;
  readonly topics: CommittableTopics;
  readonly offsetsTopic: CoordinatorTopic;
  /** 36 characters, for member ids. */
  readonly newUuid: () => string;
}

/** Kafka's classic group coordinator for all groups of one broker. Everything happens within one turn of the loop. */
export class GroupCoordinator implements GroupService, GroupStore {
  readonly #context: GroupContext;
  readonly #groups: GroupTable;
  readonly #offsets = new OffsetStore();
  readonly #log: OffsetsLog;
  readonly #operations: OffsetOperations;
  readonly #rebalance: Rebalance;
  readonly #join: JoinPhase;
  readonly #sync: SyncPhase;
  readonly #administration: GroupAdministration;
  readonly #expiry: OffsetExpiry;
  #isClosed = false;

  constructor(options: GroupCoordinatorOptions) {
    const { clock, logger, config, topics, offsetsTopic, newUuid } = options;
    this.#context = { clock, logger, config, newUuid, store: this };
    this.#groups = new GroupTable(clock);
    this.#log = new OffsetsLog(offsetsTopic, clock, config.offsetsLoadBufferBytes);
    this.#operations = new OffsetOperations(this.#context, topics, this.#offsets, this.#log);
    this.#rebalance = new Rebalance(this.#context);
    this.#join = new JoinPhase(this.#context, this.#rebalance);
    this.#sync = new SyncPhase(this.#context, this.#rebalance);
    this.#administration = new GroupAdministration(
      this.#context,
      this.#groups,
      this.#offsets,
      this.#operations,
      this.#log,
    );
    this.#expiry = new OffsetExpiry(
      this.#context,
      this.#groups,
      this.#offsets,
      this.#operations,
      this.#administration,
    );
  }

  load(): void {
    new GroupLoader(this.#context, this.#groups, this.#offsets, this.#rebalance, this.#log).load();
    this.#expiry.start();
  }

  close(): void {
    this.#isClosed = true;
    this.#expiry.stop();
    for (const group of this.#groups.all()) {
      group.cancelTimers();
      for (const member of group.members()) {
        member.awaitingJoin?.answer(joinError(errorCodes.COORDINATOR_NOT_AVAILABLE));
        member.awaitingSync?.answer(syncError(errorCodes.COORDINATOR_NOT_AVAILABLE));
      }
    }
  }

  storeGroup(group: Group, assignments?: ReadonlyMap<string, Buffer>): ErrorCode {
    try {
      this.#log.append(group.groupId, [groupRecord(group, assignments)]);
      return errorCodes.NONE;
    } catch (error) {
      return coordinatorErrorCode(error, this.#context.logger);
    }
  }

  // --- membership --------------------------------------------------------------------------------

  joinGroup(request: JoinRequest, client: GroupClient): JoinResult | Promise<JoinResult> {
    const { groupId, memberId, sessionTimeoutMs } = request;
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#context.config;
    if (this.#isClosed) return joinError(errorCodes.COORDINATOR_NOT_AVAILABLE, memberId);
    // Nobody would hear the answer, but the group would wait for the member.
    if (client.isClosed) return joinError(errorCodes.UNKNOWN_MEMBER_ID, memberId);
    if (groupId === '') return joinError(errorCodes.INVALID_GROUP_ID, memberId);
    if (sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs) {
      return joinError(errorCodes.INVALID_SESSION_TIMEOUT, memberId);
    }
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      if (memberId !== '') return joinError(errorCodes.UNKNOWN_MEMBER_ID, memberId);
      const created = this.#create(groupId);
      if (typeof created === 'number') return joinError(created, memberId);
      group = created;
    }
    return this.#join.join(group, request, client);
  }

  /** A new group is stored at once, though it is empty, so that it is there after a restart. */
  #create(groupId: string): Group | ErrorCode {
    if (this.#groups.isFull) return this.#refuseGroup(groupId);
    const group = this.#groups.getOrCreate(groupId);
    const errorCode = this.storeGroup(group);
    if (errorCode === errorCodes.NONE) return group;
    this.#groups.remove(group);
    return errorCode;
  }

  #refuseGroup(groupId: string): ErrorCode {
    this.#context.logger.error({ groupId }, 'there are too many groups; delete some to make room');
    return errorCodes.POLICY_VIOLATION;
  }

  syncGroup(request: SyncRequest, client: GroupClient): SyncResult | Promise<SyncResult> {
    if (this.#isClosed) return syncError(errorCodes.COORDINATOR_NOT_AVAILABLE);
    if (client.isClosed) return syncError(errorCodes.UNKNOWN_MEMBER_ID);
    if (request.groupId === '') return syncError(errorCodes.INVALID_GROUP_ID);
    const group = this.#groups.get(request.groupId);
    if (group === undefined) return syncError(errorCodes.UNKNOWN_MEMBER_ID);
    return this.#sync.sync(group, request, client);
  }

  heartbeat(request: HeartbeatRequest): ErrorCode {
    const { groupId, memberId, groupInstanceId, generationId } = request;
    if (groupId === '') return errorCodes.INVALID_GROUP_ID;
    const group = this.#groups.get(groupId);
    if (group === undefined) return errorCodes.UNKNOWN_MEMBER_ID;
    const errorCode = generationError(group, memberId, groupInstanceId, generationId);
    const member = group.member(memberId);
    if (errorCode !== errorCodes.NONE || member === undefined) return errorCode;
    member.session.set(member.sessionTimeoutMs);
    return group.state === 'PreparingRebalance'
      ? errorCodes.REBALANCE_IN_PROGRESS
      : errorCodes.NONE;
  }

  leaveGroup(groupId: string, members: readonly LeavingMember[]): LeaveResult {
    if (groupId === '') return { errorCode: errorCodes.INVALID_GROUP_ID, members: [] };
    const group = this.#groups.get(groupId);
    if (group !== undefined) return leave(this.#rebalance, group, members);
    return {
      errorCode: errorCodes.NONE,
      members: members.map(({ memberId, groupInstanceId }) => ({
        memberId,
        groupInstanceId,
        errorCode: errorCodes.UNKNOWN_MEMBER_ID,
      })),
    };
  }

  // --- offsets -----------------------------------------------------------------------------------

  /** Kafka takes commits for the empty group id, too. */
  commitOffsets(request: CommitRequest): readonly TopicResult[] {
    const { groupId, generationId, topics } = request;
    const group = this.#groups.get(groupId);
    if (group !== undefined) return this.#operations.commit(group, request);
    if (generationId >= 0) {
      return failAll(
        topics,
        request.supportsGroupIdNotFound
          ? errorCodes.GROUP_ID_NOT_FOUND
          : errorCodes.ILLEGAL_GENERATION,
      );
    }
    if (this.#groups.isFull) return failAll(topics, this.#refuseGroup(groupId));
    const simple = this.#groups.getOrCreate(groupId);
    const results = this.#operations.commit(simple, request);
    // Without an offset in the log there would be nothing left of it after a restart.
    if (this.#offsets.ofGroup(groupId) === undefined) this.#groups.remove(simple);
    return results;
  }

  commitTransactionalOffsets(request: TransactionalCommitRequest): readonly TopicResult[] {
    const { groupId, generationId, topics } = request;
    const group = this.#groups.get(groupId);
    if (group !== undefined) return this.#operations.commitInTransaction(group, request);
    if (generationId >= 0) return failAll(topics, errorCodes.ILLEGAL_GENERATION);
    if (this.#groups.isFull) return failAll(topics, this.#refuseGroup(groupId));
    const simple = this.#groups.getOrCreate(groupId);
    const results = this.#operations.commitInTransaction(simple, request);
    if (!this.#offsets.hasOpenTransaction(groupId)) this.#groups.remove(simple);
    return results;
  }

  offsetsPartitionOf(groupId: string): number | undefined {
    return this.#log.partitionOf(groupId);
  }

  completeTransaction(producerId: bigint, offsetsPartition: number, isCommit: boolean): void {
    this.#offsets.endTransaction(
      producerId,
      isCommit,
      (groupId) => this.#log.partitionOf(groupId) === offsetsPartition,
    );
  }

  flushIfDue(groupId: string): Promise<ErrorCode> | undefined {
    try {
      return this.#log.flushIfDue(groupId)?.then(
        () => errorCodes.NONE,
        (error: unknown) => coordinatorErrorCode(error, this.#context.logger),
      );
    } catch (error) {
      return Promise.resolve(coordinatorErrorCode(error, this.#context.logger));
    }
  }

  fetchOffsets(
    groupId: string,
    topics: OffsetQuery,
    requireStable: boolean,
  ): readonly FetchedTopic[] {
    return this.#operations.fetch(groupId, topics, requireStable);
  }

  deleteOffsets(
    groupId: string,
    topics: readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[],
  ): { readonly errorCode: ErrorCode; readonly topics: readonly TopicResult[] } {
    if (groupId === '') return { errorCode: errorCodes.INVALID_GROUP_ID, topics: [] };
    const group = this.#groups.get(groupId);
    if (group === undefined) return { errorCode: errorCodes.GROUP_ID_NOT_FOUND, topics: [] };
    return this.#operations.delete(group, topics);
  }

  onTopicDeleted(topic: string): void {
    for (const group of this.#groups.all()) {
      const partitions = this.#offsets
        .partitionsOf(group.groupId)
        .filter((one) => one.topic === topic);
      if (partitions.length === 0) continue;
      const errorCode = this.#operations.deletePartitions(group.groupId, partitions);
      if (errorCode === errorCodes.NONE) continue;
      this.#context.logger.warn(
        { groupId: group.groupId, topic, errorCode },
        'offsets of a deleted topic could not be removed',
      );
    }
  }

  // --- administration ----------------------------------------------------------------------------

  describeGroup(groupId: string): DescribedGroup | undefined {
    return this.#administration.describe(groupId);
  }

  listGroups(
    statesFilter: readonly string[],
    typesFilter: readonly string[],
  ): readonly ListedGroup[] {
    return this.#administration.list(statesFilter, typesFilter);
  }

  deleteGroups(
    groupIds: readonly string[],
  ): readonly { readonly groupId: string; readonly errorCode: ErrorCode }[] {
    return groupIds.map((groupId) => ({
      groupId,
      errorCode: this.#administration.delete(groupId),
    }));
  }
}
