import {
  ConsumerProtocolAssignment,
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
    members: members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      partitions: protocolType === 'consumer' ? assignedTo(member.memberAssignment) : null,
    })),
  };
}

function assignedTo(assignment: Buffer): TopicPartition[] | null {
  if (assignment.length === 0) return [];
  try {
    const { body } = decodeVersioned(ConsumerProtocolAssignment, assignment, {
      newerAsNewest: true,
    });
    return body.assignedPartitions.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition })),
    );
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}
