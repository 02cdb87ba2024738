import { errorCodes } from '@millrace/protocol';
import {
  RebalanceInProgressError,
  StreamsError,
  TaskMigratedError,
  TimeoutError,
} from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { brokerError } from './broker-errors.ts';
import type { Coordinator } from './coordinator.ts';
import { isCoordinatorMoved, isMembershipLost } from './error-codes.ts';
import { ConnectionError, MissingTopicError } from './errors.ts';
import { API_TIMEOUT_MS, MISSING_TOPIC_ANSWER_MS } from './limits.ts';
import { topicPartitionKey } from './ports.ts';
import type {
  GroupMetadata,
  OffsetAndMetadata,
  OffsetsToCommit,
  TopicPartition,
  TopicPartitionKey,
} from './ports.ts';
import type { Sleeper } from './sleeper.ts';
import type { Transport } from './transport.ts';

export interface GroupOffsetsContext {
  readonly transport: Transport;
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleeper: Sleeper;
  readonly requestTimeoutMs: number;
}

/** Offsets of a group: committed as one member of one generation, read by anyone. */
export class GroupOffsets {
  readonly #context: GroupOffsetsContext;

  constructor(context: GroupOffsetsContext) {
    this.#context = context;
  }

  /**
   * A topic that the coordinator does not know may just have been created there: it is waited for as long
   * as any other call waits, not for as long as a coordinator.
   *
   * @throws RebalanceInProgressError, TaskMigratedError, MissingTopicError, TimeoutError, AuthorizationError, BrokerError
   */
  async commit(offsets: OffsetsToCommit, metadata: GroupMetadata): Promise<void> {
    if (offsets.size === 0) return;
    const { groupId, generation, memberId, groupInstanceId } = metadata;
    const topics = byTopic(offsets.values());
    const { clock } = this.#context;
    const missingUntil = clock.monotonicMs() + MISSING_TOPIC_ANSWER_MS;
    await this.#retry(`commit offsets of group ${groupId}`, async () => {
      const response = await this.#send((nodeId, timeoutMs) =>
        this.#context.transport.send(
          nodeId,
          groupInstanceId === null ? apiUses.offsetCommit : apiUses.offsetCommitStatic,
          {
            groupId,
            generationIdOrMemberEpoch: generation,
            memberId,
            groupInstanceId,
            topics: [...topics].map(([name, ofTopic]) => ({
              name,
              partitions: ofTopic.map(({ partition, offset, metadata: committedMetadata }) => ({
                partitionIndex: partition,
                committedOffset: offset,
                committedMetadata,
              })),
            })),
          },
          { timeoutMs },
        ),
      );
      for (const { name, partitions } of response.topics) {
        for (const { partitionIndex, errorCode } of partitions) {
          if (errorCode === errorCodes.NONE) continue;
          const isMissing = errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
          if (isMissing && clock.monotonicMs() > missingUntil) {
            throw new MissingTopicError(
              `The offset of ${name}-${partitionIndex} was not committed for group ${groupId}: there is no such topic; was it deleted?`,
              { context: { group: groupId, topic: name, partition: partitionIndex } },
            );
          }
          throw this.#commitError(errorCode, name, partitionIndex, metadata);
        }
      }
    });
  }

  /** @throws TimeoutError, AuthorizationError, BrokerError */
  async committed(
    groupId: string,
    partitions: readonly TopicPartition[],
    requireStable: boolean,
  ): Promise<Map<TopicPartitionKey, OffsetAndMetadata>> {
    const found = new Map<TopicPartitionKey, OffsetAndMetadata>();
    if (partitions.length === 0) return found;
    const topics = byTopic(partitions);
    await this.#retry(`read committed offsets of group ${groupId}`, async () => {
      found.clear();
      const response = await this.#send((nodeId, timeoutMs) =>
        this.#context.transport.send(
          nodeId,
          apiUses.offsetFetch,
          (version) => ({
            groupId,
            topics: [...topics].map(([name, ofTopic]) => ({
              name,
              partitionIndexes: ofTopic.map(({ partition }) => partition),
            })),
            ...(version >= 7 ? { requireStable } : {}),
          }),
          { timeoutMs },
        ),
      );
      this.#throwUnlessNone(response.errorCode, `Group ${groupId} does not tell its offsets`, {
        group: groupId,
      });
      for (const { name, partitions: ofTopic } of response.topics) {
        for (const { partitionIndex, committedOffset, metadata, errorCode } of ofTopic) {
          const text = `Group ${groupId} does not tell its offset of ${name}-${partitionIndex}`;
          const context = { group: groupId, topic: name, partition: partitionIndex };
          this.#throwUnlessNone(errorCode, text, context);
          if (committedOffset < 0n) continue;
          found.set(topicPartitionKey(name, partitionIndex), {
            offset: committedOffset,
            metadata: metadata ?? '',
          });
        }
      }
    });
    return found;
  }

  async #send<T>(request: (nodeId: number, timeoutMs: number) => Promise<T>): Promise<T> {
    const { coordinator, requestTimeoutMs } = this.#context;
    const nodeId = await coordinator.find();
    try {
      return await request(nodeId, requestTimeoutMs);
    } catch (error) {
      if (error instanceof ConnectionError || error instanceof TimeoutError) coordinator.forget();
      throw error;
    }
  }

  #throwUnlessNone(
    code: number,
    text: string,
    context: Readonly<Record<string, string | number>>,
  ): void {
    if (code === errorCodes.NONE) return;
    if (isCoordinatorMoved(code)) this.#context.coordinator.forget();
    throw brokerError(code, text, context);
  }

  #commitError(
    code: number,
    topic: string,
    partition: number,
    { groupId, generation, memberId }: GroupMetadata,
  ): StreamsError {
    const context = { group: groupId, topic, partition, generation, member: memberId };
    const who = `member ${memberId} of group ${groupId} in generation ${generation}`;
    if (code === errorCodes.REBALANCE_IN_PROGRESS) {
      return new RebalanceInProgressError(
        `The group rebalances: nothing was committed for ${who}`,
        { context },
      );
    }
    if (isMembershipLost(code)) {
      const { message } = brokerError(code, `The commit of ${who} was refused`, context);
      return new TaskMigratedError(message, { context });
    }
    if (isCoordinatorMoved(code)) this.#context.coordinator.forget();
    return brokerError(code, `The offset of ${topic}-${partition} was not committed`, context);
  }

  async #retry(what: string, attempt: () => Promise<void>): Promise<void> {
    const { clock, random, sleeper } = this.#context;
    const startedAt = clock.monotonicMs();
    const backoff = new Backoff(random);
    for (;;) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (error instanceof RebalanceInProgressError) throw error;
        if (!(error instanceof StreamsError) || !error.retriable) throw error;
        if (clock.monotonicMs() - startedAt > API_TIMEOUT_MS) {
          throw new TimeoutError(
            `Could not ${what} within ${API_TIMEOUT_MS} ms: ${error.message}`,
            {
              cause: error,
            },
          );
        }
        await sleeper.sleep(backoff.next());
      }
    }
  }
}

/** Partitions as requests have them: by topic. */
export function byTopic<T extends TopicPartition>(partitions: Iterable<T>): Map<string, T[]> {
  const topics = new Map<string, T[]>();
  for (const each of partitions) {
    const ofTopic = topics.get(each.topic);
    if (ofTopic === undefined) topics.set(each.topic, [each]);
    else ofTopic.push(each);
  }
  return topics;
}
