import {
  ConsumerProtocolAssignment,
  ConsumerProtocolSubscription,
  decodeVersioned,
  errorCodes,
  ProtocolError,
} from '@millrace/protocol';
import type { DescribeGroupsResponse, ListGroupsResponse } from '@millrace/protocol';
import { StreamsError } from '../../errors.ts';
import { apiUses } from '../apis.ts';
import { brokerError } from '../broker-errors.ts';
import { Coordinator } from '../coordinator.ts';
import { isCoordinatorMoved } from '../error-codes.ts';
import { topicPartitionKey } from '../ports.ts';
import type { OffsetAndMetadata, TopicPartition, TopicPartitionKey } from '../ports.ts';
import { byTopic } from './cluster-calls.ts';
import type { ClusterCalls } from './cluster-calls.ts';

export interface GroupListing {
  readonly groupId: string;
  /** `consumer` of clients that subscribe; empty of a group that only commits. */
  readonly protocolType: string;
  /** Kafka's word, such as `Stable` or `Empty`; null from brokers before 2.6. */
  readonly state: string | null;
  /** `classic`, `consumer`, `share`, `streams`; null from brokers before 3.7. */
  readonly type: string | null;
}

export interface GroupMemberDescription {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  /** Null: it is not in the format of Kafka's consumers. */
  readonly partitions: readonly TopicPartition[] | null;
  /** What its assignor added to the subscription and to the assignment; empty: nothing. */
  readonly userData: { readonly subscription: Buffer; readonly assignment: Buffer };
}

export interface GroupDescription {
  readonly groupId: string;
  /** `Dead` of a group that does not exist, or that is of another type than `classic`. */
  readonly state: string;
  readonly protocolType: string;
  /** How partitions are assigned, such as `range`. */
  readonly protocol: string;
  readonly members: readonly GroupMemberDescription[];
}

/** Stands in the broker's log. */
const REMOVAL_REASON = 'removed by an administrator';

type CommittedOffset = TopicPartition & OffsetAndMetadata;

/** Groups from the outside: nothing here joins one. */
export class ClusterGroups {
  readonly #calls: ClusterCalls;
  readonly #coordinators = new Map<string, Coordinator>();

  constructor(calls: ClusterCalls) {
    this.#calls = calls;
  }

  /** All groups of all brokers, by id. */
  list(): Promise<GroupListing[]> {
    return this.#calls.retry('list groups', async () => {
      const { brokers } = await this.#calls.metadata([]);
      const answers = await Promise.all(brokers.map(({ nodeId }) => this.#listAt(nodeId)));
      const groups = new Map(answers.flat().map((group) => [group.groupId, group]));
      return [...groups.values()].sort((a, b) => (a.groupId < b.groupId ? -1 : 1));
    });
  }

  describe(groupId: string): Promise<GroupDescription> {
    return this.#calls.retry(`describe group ${groupId}`, async () => {
      const response = await this.#atCoordinator(groupId, (nodeId) =>
        this.#calls.send(nodeId, apiUses.describeGroups, { groups: [groupId] }),
      );
      const [group] = response.groups;
      const code = group?.errorCode ?? errorCodes.UNKNOWN_SERVER_ERROR;
      this.#throwUnlessNone(groupId, code, `Group ${groupId} cannot be described`);
      return toDescription(group as DescribeGroupsResponse['groups'][number]);
    });
  }

  /** Every offset that the group has committed. */
  offsets(groupId: string): Promise<ReadonlyMap<TopicPartitionKey, CommittedOffset>> {
    return this.#calls.retry(`read the offsets of group ${groupId}`, async () => {
      const response = await this.#atCoordinator(groupId, (nodeId) =>
        this.#calls.send(nodeId, apiUses.offsetFetch, { groupId, topics: null }),
      );
      const text = `Group ${groupId} does not tell its offsets`;
      this.#throwUnlessNone(groupId, response.errorCode, text);
      const found = new Map<TopicPartitionKey, CommittedOffset>();
      for (const { name, partitions } of response.topics) {
        for (const { partitionIndex, committedOffset, metadata, errorCode } of partitions) {
          this.#throwUnlessNone(groupId, errorCode, `${text} of ${name}-${partitionIndex}`);
          if (committedOffset < 0n) continue;
          found.set(topicPartitionKey(name, partitionIndex), {
            topic: name,
            partition: partitionIndex,
            offset: committedOffset,
            metadata: metadata ?? '',
          });
        }
      }
      return found;
    });
  }

  /**
   * Sets offsets of a group that has no members; the brokers refuse it for one that has
   * (UNKNOWN_MEMBER_ID). Per partition what went wrong, or null.
   */
  alterOffsets(
    groupId: string,
    offsets: readonly CommittedOffset[],
  ): Promise<ReadonlyMap<TopicPartitionKey, StreamsError | null>> {
    const topics = byTopic(offsets);
    return this.#calls.retry(`alter the offsets of group ${groupId}`, async () => {
      const response = await this.#atCoordinator(groupId, (nodeId) =>
        this.#calls.send(nodeId, apiUses.offsetCommit, {
          groupId,
          generationIdOrMemberEpoch: -1,
          memberId: '',
          topics: [...topics].map(([name, ofTopic]) => ({
            name,
            partitions: ofTopic.map(({ partition, offset, metadata }) => ({
              partitionIndex: partition,
              committedOffset: offset,
              committedMetadata: metadata,
            })),
          })),
        }),
      );
      const outcomes = new Map<TopicPartitionKey, StreamsError | null>();
      for (const { name, partitions } of response.topics) {
        for (const { partitionIndex, errorCode } of partitions) {
          const text = `The offset of ${name}-${partitionIndex} was not set for group ${groupId}`;
          const error = this.#error(groupId, errorCode, text);
          if (error?.retriable === true) throw error;
          outcomes.set(topicPartitionKey(name, partitionIndex), error);
        }
      }
      return outcomes;
    });
  }

  /**
   * Those of the partitions of which an open transaction holds an offset that is not decided yet
   * (KIP-447). It is decided by the transaction's end, at the latest when its time is over.
   */
  pendingOffsets(
    groupId: string,
    partitions: readonly TopicPartition[],
  ): Promise<readonly TopicPartition[]> {
    if (partitions.length === 0) return Promise.resolve([]);
    const topics = byTopic(partitions);
    return this.#calls.retry(`read the pending offsets of group ${groupId}`, async () => {
      const response = await this.#atCoordinator(groupId, (nodeId) =>
        this.#calls.send(nodeId, apiUses.stableOffsetFetch, {
          groupId,
          topics: [...topics].map(([name, ofTopic]) => ({
            name,
            partitionIndexes: ofTopic.map(({ partition }) => partition),
          })),
          requireStable: true,
        }),
      );
      const text = `Group ${groupId} does not tell its offsets`;
      this.#throwUnlessNone(groupId, response.errorCode, text);
      const pending: TopicPartition[] = [];
      for (const { name, partitions: ofTopic } of response.topics) {
        for (const { partitionIndex: partition, errorCode } of ofTopic) {
          if (errorCode === errorCodes.UNSTABLE_OFFSET_COMMIT) {
            pending.push({ topic: name, partition });
          } else {
            this.#throwUnlessNone(groupId, errorCode, `${text} of ${name}-${partition}`);
          }
        }
      }
      return pending;
    });
  }

  /**
   * Takes members out of a group of the classic type, as if they had left. One that still lives joins
   * again. Members that are gone already are no error.
   */
  removeMembers(
    groupId: string,
    members: readonly Pick<GroupMemberDescription, 'memberId' | 'groupInstanceId'>[],
  ): Promise<void> {
    return this.#calls.retry(`remove the members of group ${groupId}`, async () => {
      const response = await this.#atCoordinator(groupId, (nodeId) =>
        this.#calls.send(nodeId, apiUses.removeMembers, {
          groupId,
          members: members.map(({ memberId, groupInstanceId }) => ({
            memberId,
            groupInstanceId,
            reason: REMOVAL_REASON,
          })),
        }),
      );
      const text = `Group ${groupId} does not let its members be removed`;
      this.#throwUnlessNone(groupId, response.errorCode, text);
      for (const { memberId, errorCode } of response.members) {
        if (errorCode === errorCodes.UNKNOWN_MEMBER_ID) continue;
        const ofMember = `Member ${memberId} of group ${groupId} was not removed`;
        this.#throwUnlessNone(groupId, errorCode, ofMember);
      }
    });
  }

  async #listAt(nodeId: number): Promise<GroupListing[]> {
    const response = await this.#calls.send(nodeId, apiUses.listGroups, {});
    if (response.errorCode !== errorCodes.NONE) {
      const text = `Broker ${nodeId} does not list its groups`;
      throw brokerError(response.errorCode, text, { node: nodeId });
    }
    return response.groups.map(toListing);
  }

  async #atCoordinator<T>(groupId: string, request: (nodeId: number) => Promise<T>): Promise<T> {
    const { transport, requestTimeoutMs } = this.#calls.context;
    let coordinator = this.#coordinators.get(groupId);
    if (coordinator === undefined) {
      coordinator = new Coordinator(transport, 'group', groupId, requestTimeoutMs);
      this.#coordinators.set(groupId, coordinator);
    }
    try {
      return await request(await coordinator.find());
    } catch (error) {
      if (error instanceof StreamsError && error.retriable) coordinator.forget();
      throw error;
    }
  }

  #throwUnlessNone(groupId: string, code: number, text: string): void {
    const error = this.#error(groupId, code, text);
    if (error !== null) throw error;
  }

  #error(groupId: string, code: number, text: string): StreamsError | null {
    if (code === errorCodes.NONE) return null;
    if (isCoordinatorMoved(code)) this.#coordinators.get(groupId)?.forget();
    return brokerError(code, text, { group: groupId });
  }
}

function toListing({
  groupId,
  protocolType,
  groupState,
  groupType,
}: ListGroupsResponse['groups'][number]): GroupListing {
  return {
    groupId,
    protocolType,
    state: groupState === '' ? null : groupState,
    type: groupType === '' ? null : groupType.toLowerCase(),
  };
}

function toDescription(group: DescribeGroupsResponse['groups'][number]): GroupDescription {
  const { groupId, groupState, protocolType, protocolData, members } = group;
  return {
    groupId,
    state: groupState,
    protocolType,
    protocol: protocolData,
    members: members.map((member) => {
      const isConsumer = protocolType === 'consumer';
      const subscription = isConsumer ? subscriptionOf(member.memberMetadata) : NOTHING;
      const assignment = isConsumer ? assignmentOf(member.memberAssignment) : null;
      return {
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        partitions: assignment === null ? null : assignment.partitions,
        userData: { subscription, assignment: assignment?.userData ?? NOTHING },
      };
    }),
  };
}

const NOTHING = Buffer.alloc(0);
const newerAsNewest = { newerAsNewest: true };

/** Null: it is not in the format of Kafka's consumers. */
function assignmentOf(
  assignment: Buffer,
): { readonly partitions: TopicPartition[]; readonly userData: Buffer } | null {
  if (assignment.length === 0) return { partitions: [], userData: NOTHING };
  try {
    const { body } = decodeVersioned(ConsumerProtocolAssignment, assignment, newerAsNewest);
    return {
      partitions: body.assignedPartitions.flatMap(({ topic, partitions }) =>
        partitions.map((partition) => ({ topic, partition })),
      ),
      userData: body.userData ?? NOTHING,
    };
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}

/** The user data of a subscription; none while the group rebalances. */
function subscriptionOf(metadata: Buffer): Buffer {
  if (metadata.length === 0) return NOTHING;
  try {
    const { body } = decodeVersioned(ConsumerProtocolSubscription, metadata, newerAsNewest);
    return body.userData ?? NOTHING;
  } catch (error) {
    if (error instanceof ProtocolError) return NOTHING;
    throw error;
  }
}
