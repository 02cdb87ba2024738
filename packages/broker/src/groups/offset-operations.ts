import { errorCodes } from '@millrace/protocol';
import { coordinatorErrorCode } from '../coordinators/coordinator-errors.ts';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import { offsetRecord } from './group-records.ts';
import type {
  CommitRequest,
  ErrorCode,
  FetchedOffset,
  FetchedTopic,
  OffsetQuery,
  PartitionResult,
  TopicResult,
  TransactionalCommitRequest,
} from './group-service.ts';
import type { OffsetsLog, TransactionalProducer } from './offsets-log.ts';
import type { CommittedOffset, OffsetStore } from './offsets.ts';
import { generationError } from './validate-member.ts';

/** What commits need to know of topics. */
export interface CommittableTopics {
  hasPartition(topic: string, partition: number): boolean;
  /** 22 characters; the zero id where there is no such topic. */
  topicId(topic: string): string;
}

type TopicPartitions = readonly {
  readonly name: string;
  readonly partitionIndexes: readonly number[];
}[];

/** As a retention time: the broker's own counts. */
const BROKERS_RETENTION = -1n;

interface PendingCommit {
  readonly topic: string;
  readonly partition: number;
  readonly committed: Omit<CommittedOffset, 'logOffset'>;
}

/** Commit, fetch and delete offsets of groups that are known to exist. */
export class OffsetOperations {
  readonly #context: GroupContext;
  readonly #topics: CommittableTopics;
  readonly #offsets: OffsetStore;
  readonly #log: OffsetsLog;

  constructor(
    context: GroupContext,
    topics: CommittableTopics,
    offsets: OffsetStore,
    log: OffsetsLog,
  ) {
    this.#context = context;
    this.#topics = topics;
    this.#offsets = offsets;
    this.#log = log;
  }

  /** The commit counts, for restarts and for readers, once it is appended, and not before. */
  commit(group: Group, request: CommitRequest): readonly TopicResult[] {
    const errorCode = commitError(group, request);
    if (errorCode !== errorCodes.NONE) return failAll(request.topics, errorCode);
    if (group.state === 'Stable' || group.state === 'PreparingRebalance') {
      const member = group.member(request.memberId);
      member?.session.set(member.sessionTimeoutMs);
    }
    return this.#write(group.groupId, request.topics, request.retentionTimeMs);
  }

  /** The same, pending until the transaction ends. */
  commitInTransaction(group: Group, request: TransactionalCommitRequest): readonly TopicResult[] {
    const errorCode = transactionalCommitError(group, request);
    if (errorCode !== errorCodes.NONE) return failAll(request.topics, errorCode);
    return this.#write(group.groupId, request.topics, BROKERS_RETENTION, request);
  }

  #write(
    groupId: string,
    topics: CommitRequest['topics'],
    retentionTimeMs: bigint,
    transaction?: TransactionalProducer,
  ): readonly TopicResult[] {
    const commits: PendingCommit[] = [];
    const results = topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map((partition) => {
        const { partitionIndex } = partition;
        const partitionError = this.#partitionError(name, partition);
        if (partitionError === errorCodes.NONE) {
          commits.push(this.#pendingCommit(name, partition, retentionTimeMs));
        }
        return { partitionIndex, errorCode: partitionError };
      }),
    }));
    if (commits.length === 0) return results;
    const appendError = this.#append(groupId, commits, transaction);
    if (appendError === errorCodes.NONE) return results;
    return results.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map((result) =>
        result.errorCode === errorCodes.NONE ? { ...result, errorCode: appendError } : result,
      ),
    }));
  }

  #partitionError(
    topic: string,
    partition: CommitRequest['topics'][number]['partitions'][number],
  ): ErrorCode {
    if (!this.#topics.hasPartition(topic, partition.partitionIndex)) {
      return errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    }
    const metadata = partition.committedMetadata;
    return metadata !== null && metadata.length > this.#context.config.offsetMetadataMaxBytes
      ? errorCodes.OFFSET_METADATA_TOO_LARGE
      : errorCodes.NONE;
  }

  #pendingCommit(
    topic: string,
    partition: CommitRequest['topics'][number]['partitions'][number],
    retentionTimeMs: bigint,
  ): PendingCommit {
    const now = this.#context.clock.now();
    return {
      topic,
      partition: partition.partitionIndex,
      committed: {
        offset: partition.committedOffset,
        leaderEpoch: partition.committedLeaderEpoch,
        metadata: partition.committedMetadata ?? '',
        commitTimestamp: now,
        expireTimestamp: expiryOf(now, retentionTimeMs),
        topicId: this.#topics.topicId(topic),
      },
    };
  }

  #append(
    groupId: string,
    commits: readonly PendingCommit[],
    transaction?: TransactionalProducer,
  ): ErrorCode {
    let baseOffset: bigint;
    try {
      baseOffset = this.#log.append(
        groupId,
        commits.map(({ topic, partition, committed }) =>
          offsetRecord(groupId, topic, partition, committed),
        ),
        transaction && {
          producerId: transaction.producerId,
          producerEpoch: transaction.producerEpoch,
        },
      );
    } catch (error) {
      return coordinatorErrorCode(error, this.#context.logger);
    }
    for (const [index, { topic, partition, committed }] of commits.entries()) {
      const offset = { ...committed, logOffset: baseOffset + BigInt(index) };
      if (transaction === undefined) this.#offsets.commit(groupId, topic, partition, offset);
      else {
        const { producerId } = transaction;
        this.#offsets.commitInTransaction(producerId, groupId, topic, partition, offset);
      }
    }
    return errorCodes.NONE;
  }

  fetch(groupId: string, query: OffsetQuery, requireStable: boolean): readonly FetchedTopic[] {
    const offsets = this.#offsets.ofGroup(groupId);
    const fetched = (topic: string, partition: number): FetchedOffset =>
      requireStable && this.#offsets.hasPending(groupId, topic, partition)
        ? fetchedOffset(partition, undefined, errorCodes.UNSTABLE_OFFSET_COMMIT)
        : fetchedOffset(partition, offsets?.get(topic, partition), errorCodes.NONE);
    const topics: TopicPartitions =
      query ??
      [...(offsets?.topics() ?? [])].map(([name, partitions]) => ({
        name,
        partitionIndexes: [...partitions.keys()],
      }));
    return topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partition) => fetched(name, partition)),
    }));
  }

  /** KIP-496: offsets of topics that the group still reads stay. */
  delete(
    group: Group,
    topics: TopicPartitions,
  ): { readonly errorCode: ErrorCode; readonly topics: readonly TopicResult[] } {
    if (group.state !== 'Empty' && !group.usesConsumerProtocol) {
      return { errorCode: errorCodes.NON_EMPTY_GROUP, topics: [] };
    }
    const toDelete: { topic: string; partition: number }[] = [];
    const results = topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex) => {
        let errorCode: ErrorCode = errorCodes.NONE;
        if (!this.#topics.hasPartition(name, partitionIndex)) {
          errorCode = errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
        } else if (group.isSubscribedTo(name)) {
          errorCode = errorCodes.GROUP_SUBSCRIBED_TO_TOPIC;
        } else if (this.#has(group.groupId, name, partitionIndex)) {
          toDelete.push({ topic: name, partition: partitionIndex });
        }
        return { partitionIndex, errorCode };
      }),
    }));
    const errorCode = this.deletePartitions(group.groupId, toDelete);
    return { errorCode, topics: errorCode === errorCodes.NONE ? results : [] };
  }

  #has(groupId: string, topic: string, partition: number): boolean {
    return (
      this.#offsets.ofGroup(groupId)?.get(topic, partition) !== undefined ||
      this.#offsets.hasPending(groupId, topic, partition)
    );
  }

  /** Writes tombstones; on an error those of the batches before are gone. */
  deletePartitions(
    groupId: string,
    partitions: readonly { readonly topic: string; readonly partition: number }[],
  ): ErrorCode {
    let done = 0;
    try {
      this.#log.appendMany(
        groupId,
        partitions.map(({ topic, partition }) => offsetRecord(groupId, topic, partition, null)),
        (count) => {
          for (const { topic, partition } of partitions.slice(done, count)) {
            this.#offsets.remove(groupId, topic, partition);
          }
          done = count;
        },
      );
      return errorCodes.NONE;
    } catch (error) {
      return coordinatorErrorCode(error, this.#context.logger);
    }
  }
}

/**
 * Who may commit: a member of this generation, and, while the group is empty, anybody without one (a
 * client that assigns partitions by itself, an administrator).
 */
function commitError(group: Group, request: CommitRequest): ErrorCode {
  const { generationId, memberId, groupInstanceId } = request;
  if (generationId < 0 && group.state === 'Empty') return errorCodes.NONE;
  if (generationId < 0 && memberId === '' && groupInstanceId === null) {
    return errorCodes.UNKNOWN_MEMBER_ID;
  }
  const errorCode = generationError(group, memberId, groupInstanceId, generationId);
  if (errorCode !== errorCodes.NONE) return errorCode;
  // The generation is right, but the member does not know yet what it has been assigned.
  return group.state === 'CompletingRebalance' ? errorCodes.REBALANCE_IN_PROGRESS : errorCodes.NONE;
}

/**
 * The same for a transaction's commit, except that producers from before KIP-447 say nothing of the
 * member, and that the member may still be waiting for its assignment.
 */
function transactionalCommitError(group: Group, request: TransactionalCommitRequest): ErrorCode {
  const { generationId, memberId, groupInstanceId } = request;
  if (generationId < 0 && group.state === 'Empty') return errorCodes.NONE;
  if (generationId < 0 && memberId === '' && groupInstanceId === null) return errorCodes.NONE;
  return generationError(group, memberId, groupInstanceId, generationId);
}

/** Any retention that a client can write has an expiry that can be stored. */
function expiryOf(now: number, retentionTimeMs: bigint): number {
  if (retentionTimeMs === -1n) return -1;
  return Math.min(Math.max(now + Number(retentionTimeMs), 0), Number.MAX_SAFE_INTEGER);
}

/** The same code for every partition of a request. */
export function failAll(
  topics: CommitRequest['topics'],
  errorCode: ErrorCode,
): readonly TopicResult[] {
  return topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex }): PartitionResult => ({
      partitionIndex,
      errorCode,
    })),
  }));
}

function fetchedOffset(
  partitionIndex: number,
  committed: CommittedOffset | undefined,
  errorCode: ErrorCode,
): FetchedOffset {
  return {
    partitionIndex,
    committedOffset: committed?.offset ?? -1n,
    committedLeaderEpoch: committed?.leaderEpoch ?? -1,
    metadata: committed?.metadata ?? '',
    errorCode,
  };
}
