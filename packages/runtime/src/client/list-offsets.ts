import { errorCodes } from '@millrace/protocol';
import { StreamsError, TimeoutError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { brokerError, topicOf } from './broker-errors.ts';
import { isLeadershipError } from './error-codes.ts';
import { MissingTopicError } from './errors.ts';
import { API_TIMEOUT_MS, MISSING_TOPIC_ANSWER_MS, NEW_LEADER_BACKOFF_MIN_MS } from './limits.ts';
import type { Metadata } from './metadata.ts';
import { topicPartitionKey } from './ports.ts';
import type { IsolationLevel, TopicPartition, TopicPartitionKey } from './ports.ts';
import type { Sleeper } from './sleeper.ts';
import type { Transport } from './transport.ts';

/** Timestamps that mean an end of the log. */
export const EARLIEST_TIMESTAMP = -2n;
export const LATEST_TIMESTAMP = -1n;

export interface OffsetQuery extends TopicPartition {
  /** Epoch ms, or one of the two above. */
  readonly timestamp: bigint;
}

export interface ListOffsetsContext {
  readonly transport: Transport;
  readonly metadata: Metadata;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleeper: Sleeper;
  readonly requestTimeoutMs: number;
}

export const isolationLevels = { read_uncommitted: 0, read_committed: 1 } as const;

/**
 * Asks each leader for offsets, following leader moves. -1n: no record has that timestamp or a later one.
 *
 * @throws TimeoutError after `default.api.timeout.ms`, MissingTopicError, AuthorizationError, ShutdownError
 */
export async function listOffsets(
  context: ListOffsetsContext,
  queries: readonly OffsetQuery[],
  isolationLevel: IsolationLevel,
): Promise<Map<TopicPartitionKey, bigint>> {
  const { metadata, clock, sleeper } = context;
  const offsets = new Map<TopicPartitionKey, bigint>();
  const open = new Map<TopicPartitionKey, OffsetQuery>();
  for (const query of queries) open.set(topicPartitionKey(query.topic, query.partition), query);
  if (open.size === 0) return offsets;
  metadata.track(queries.map(topicOf));
  const startedAt = clock.monotonicMs();
  const backoff = new Backoff(context.random, NEW_LEADER_BACKOFF_MIN_MS);
  let lastError: Error | null = null;

  for (;;) {
    const answers = await Promise.all(
      [...byLeader(metadata, open.values())].map(([leader, asked]) =>
        askLeader(context, leader, asked, isolationLevel, offsets).catch(retriableOnly),
      ),
    );
    lastError = answers.find((answer) => answer !== null) ?? lastError;
    for (const key of offsets.keys()) open.delete(key);
    if (open.size === 0) return offsets;

    const elapsedMs = clock.monotonicMs() - startedAt;
    if (elapsedMs > API_TIMEOUT_MS) throw timedOut([...open.keys()], lastError);
    if (lastError !== null || backoff.failureCount > 0) await sleeper.sleep(backoff.next());
    else backoff.next();
    lastError = (await metadata.update().then(noError, retriableOnly)) ?? lastError;
    if (elapsedMs > MISSING_TOPIC_ANSWER_MS) throwIfMissing(metadata, open.values());
  }
}

function byLeader(metadata: Metadata, queries: Iterable<OffsetQuery>): Map<number, OffsetQuery[]> {
  const leaders = new Map<number, OffsetQuery[]>();
  for (const query of queries) {
    const leader = metadata.leader(query.topic, query.partition)?.leader;
    if (leader === undefined) continue;
    const asked = leaders.get(leader);
    if (asked === undefined) leaders.set(leader, [query]);
    else asked.push(query);
  }
  return leaders;
}

function throwIfMissing(metadata: Metadata, queries: Iterable<OffsetQuery>): void {
  for (const { topic, partition } of queries) {
    const known = metadata.topic(topic);
    if (known !== undefined && partition < known.partitions.length) continue;
    // No answer yet, or one with an error that passes, does not say that there is none.
    const error = metadata.topicError(topic);
    if (known === undefined && error !== errorCodes.UNKNOWN_TOPIC_OR_PARTITION) continue;
    throw new MissingTopicError(
      `There is no partition ${topic}-${partition}; create the topic, or check its name and the cluster`,
      { context: { topic, partition } },
    );
  }
}

function noError(): null {
  return null;
}

/** Puts what the leader knows into `offsets`; returns what is worth another try. */
async function askLeader(
  { transport, requestTimeoutMs, metadata }: ListOffsetsContext,
  leader: number,
  asked: readonly OffsetQuery[],
  isolationLevel: IsolationLevel,
  offsets: Map<TopicPartitionKey, bigint>,
): Promise<Error | null> {
  const topics = new Map<string, OffsetQuery[]>();
  for (const query of asked) {
    const ofTopic = topics.get(query.topic);
    if (ofTopic === undefined) topics.set(query.topic, [query]);
    else ofTopic.push(query);
  }
  const response = await transport.send(
    leader,
    apiUses.listOffsets,
    {
      replicaId: -1,
      isolationLevel: isolationLevels[isolationLevel],
      topics: [...topics].map(([name, ofTopic]) => ({
        name,
        partitions: ofTopic.map(({ topic, partition, timestamp }) => ({
          partitionIndex: partition,
          currentLeaderEpoch: metadata.leader(topic, partition)?.leaderEpoch ?? -1,
          timestamp,
        })),
      })),
    },
    { timeoutMs: requestTimeoutMs },
  );
  let failure: Error | null = null;
  for (const { name, partitions } of response.topics) {
    for (const { partitionIndex, errorCode, offset } of partitions) {
      if (errorCode === errorCodes.NONE) {
        offsets.set(topicPartitionKey(name, partitionIndex), offset);
        continue;
      }
      const error = brokerError(
        errorCode,
        `The offsets of ${name}-${partitionIndex} are not known`,
        {
          topic: name,
          partition: partitionIndex,
        },
      );
      if (!isLeadershipError(errorCode) && !error.retriable) throw error;
      failure = error;
    }
  }
  return failure;
}

function retriableOnly(error: unknown): Error {
  if (error instanceof StreamsError && error.retriable) return error;
  throw error;
}

function timedOut(keys: readonly string[], cause: Error | null): TimeoutError {
  return new TimeoutError(
    `No offsets of ${keys.join(', ')} within ${API_TIMEOUT_MS} ms; are the leaders of these partitions up?`,
    { cause: cause ?? undefined },
  );
}
