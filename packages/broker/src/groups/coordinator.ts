import type { Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { coordinatorErrorCode } from './coordinator-errors.ts';
import { findExpired } from './expiry.ts';
import type { Group } from './group.ts';
import type { GroupConfig } from './group-config.ts';
import type { GroupContext, GroupStore } from './group-context.ts';
import { groupRecord, groupTombstone } from './group-records.ts';
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
} from './group-service.ts';
import { GroupTable } from './group-table.ts';
import { JoinPhase } from './join.ts';
import { leave } from './leave.ts';
import { EXPIRY_SLICE_GROUPS } from './limits.ts';
import { GroupLoader } from './loader.ts';
import { OffsetsLog, type OffsetsTopic } from './offsets-log.ts';
import { failAll, OffsetOperations, type CommittableTopics } from './offset-operations.ts';
import { OffsetStore } from './offsets.ts';
import { Rebalance } from './rebalance.ts';
import { joinError, syncError } from './results.ts';
import { SyncPhase } from './sync.ts';
import { Delay } from './timers.ts';
import { generationError } from './validate-member.ts';

export interface GroupCoordinatorOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: GroupConfig;
  readonly topics: CommittableTopics;
  readonly offsetsTopic: OffsetsTopic;
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
  readonly #expiryDelay: Delay;

  constructor(options: GroupCoordinatorOptions) {
    const { clock, logger, config, topics, offsetsTopic, newUuid } = options;
    this.#context = { clock, logger, config, newUuid, store: this };
    this.#groups = new GroupTable(clock);
    this.#log = new OffsetsLog(offsetsTopic, clock, config.offsetsLoadBufferBytes);
    this.#operations = new OffsetOperations(this.#context, topics, this.#offsets, this.#log);
    this.#rebalance = new Rebalance(this.#context);
    this.#join = new JoinPhase(this.#context, this.#rebalance);
    this.#sync = new SyncPhase(this.#context, this.#rebalance);
    this.#expiryDelay = new Delay(clock);
  }

  load(): void {
    new GroupLoader(this.#context, this.#groups, this.#offsets, this.#rebalance).load(this.#log);
    this.#scheduleExpiry();
  }

  close(): void {
    this.#expiryDelay.cancel();
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
    const group = this.#groups.get(groupId);
    if (group === undefined) return undefined;
    const protocolName = group.state === 'Stable' ? group.protocolName : null;
    return {
      groupId,
      groupState: group.state,
      protocolType: group.protocolType ?? '',
      protocolData: protocolName ?? '',
      members: [...group.members()].map((member) => member.describe(protocolName)),
    };
  }

  listGroups(
    statesFilter: readonly string[],
    typesFilter: readonly string[],
  ): readonly ListedGroup[] {
    const states = new Set(statesFilter.map((state) => state.trim().toLowerCase()));
    const types = new Set(typesFilter.map((type) => type.trim().toLowerCase()));
    if (types.size > 0 && !types.has('classic')) return [];
    const listed: ListedGroup[] = [];
    for (const { groupId, protocolType, state } of this.#groups.all()) {
      if (states.size > 0 && !states.has(state.toLowerCase())) continue;
      listed.push({
        groupId,
        protocolType: protocolType ?? '',
        groupState: state,
        groupType: 'classic',
      });
    }
    return listed;
  }

  deleteGroups(
    groupIds: readonly string[],
  ): readonly { readonly groupId: string; readonly errorCode: ErrorCode }[] {
    return groupIds.map((groupId) => {
      const group = this.#groups.get(groupId);
      if (group === undefined) return { groupId, errorCode: errorCodes.GROUP_ID_NOT_FOUND };
      if (group.state !== 'Empty') return { groupId, errorCode: errorCodes.NON_EMPTY_GROUP };
      return { groupId, errorCode: this.#delete(group) };
    });
  }

  /** The group's own tombstone comes last: until it is written, whatever is left of it can be deleted again. */
  #delete(group: Group): ErrorCode {
    const { groupId } = group;
    const errorCode = this.#operations.deletePartitions(
      groupId,
      this.#offsets.partitionsOf(groupId),
    );
    if (errorCode !== errorCodes.NONE) return errorCode;
    try {
      this.#log.append(groupId, [groupTombstone(groupId)]);
    } catch (error) {
      return coordinatorErrorCode(error, this.#context.logger);
    }
    this.#groups.remove(group);
    this.#context.logger.info({ groupId }, 'group is deleted');
    return errorCodes.NONE;
  }

  // --- expiry ------------------------------------------------------------------------------------

  #scheduleExpiry(): void {
    this.#expiryDelay.start(this.#context.config.offsetsRetentionCheckIntervalMs, () => {
      this.#expire([...this.#groups.all()], 0);
    });
  }

  /** A slice of the groups per turn of the loop. */
  #expire(groups: readonly Group[], start: number): void {
    const end = Math.min(start + EXPIRY_SLICE_GROUPS, groups.length);
    for (const group of groups.slice(start, end)) this.#expireGroup(group);
    if (end === groups.length) {
      this.#scheduleExpiry();
      return;
    }
    this.#expiryDelay.start(0, () => {
      this.#expire(groups, end);
    });
  }

  #expireGroup(group: Group): void {
    const { config, clock, logger } = this.#context;
    const { groupId } = group;
    if (this.#groups.get(groupId) !== group) return;
    const { partitions, isAll } = findExpired(group, this.#offsets, config, clock.now());
    if (partitions.length > 0) {
      const errorCode = this.#operations.deletePartitions(groupId, partitions);
      if (errorCode !== errorCodes.NONE) return;
      logger.info({ groupId, offsets: partitions.length }, 'offsets have expired');
    }
    // Someone who was given a member id is about to come back with it.
    if (isAll && group.state === 'Empty' && group.pendingMembers.size === 0) this.#delete(group);
  }
}
