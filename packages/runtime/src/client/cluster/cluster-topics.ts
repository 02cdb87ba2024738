import { errorCodes, ZERO_UUID } from '@millrace/protocol';
import type { MetadataResponse } from '@millrace/protocol';
import { TimeoutError } from '../../errors.ts';
import type { StreamsError } from '../../errors.ts';
import { apiUses } from '../apis.ts';
import { brokerError } from '../broker-errors.ts';
import { TOPIC_VISIBLE_POLL_MS } from '../limits.ts';
import type { NewTopic } from '../ports.ts';
import { outcomeOf, withDetail } from './cluster-calls.ts';
import type { ClusterCalls } from './cluster-calls.ts';

export interface ClusterPartition {
  readonly partition: number;
  /** Node id; -1: there is none now. */
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly inSyncReplicas: readonly number[];
}

export interface ClusterTopic {
  readonly topic: string;
  /** Null if the brokers have none (before 2.8). */
  readonly topicId: string | null;
  readonly isInternal: boolean;
  /** By partition number. */
  readonly partitions: readonly ClusterPartition[];
}

/** Per topic what went wrong, or null. */
export type TopicOutcomes = ReadonlyMap<string, StreamsError | null>;

/** Topics from the outside. A topic that fails takes nothing from the others. */
export class ClusterTopics {
  readonly #calls: ClusterCalls;

  constructor(calls: ClusterCalls) {
    this.#calls = calls;
  }

  /** All topics that this client may see, internal ones too, by name. */
  async list(): Promise<ClusterTopic[]> {
    const topics = await this.#calls.retry('list topics', () => this.#describe(null));
    return [...topics.values()].sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }

  /** Missing topics are absent from the answer. */
  describe(topics: readonly string[]): Promise<ReadonlyMap<string, ClusterTopic>> {
    if (topics.length === 0) return Promise.resolve(new Map());
    return this.#calls.retry('describe topics', () => this.#describe(topics));
  }

  /**
   * Resolves when brokers tell of the new topics and their leaders, so that the next call finds them.
   * A partition count of -1 is the broker's default. With `validateOnly` nothing is created: the
   * brokers only say what is wrong.
   */
  async create(
    topics: readonly NewTopic[],
    { validateOnly = false }: { readonly validateOnly?: boolean } = {},
  ): Promise<TopicOutcomes> {
    const { requestTimeoutMs } = this.#calls.context;
    const outcomes = await this.#calls.retry('create topics', async () => {
      const response = await this.#calls.send(
        await this.#calls.controller(),
        apiUses.createTopics,
        {
          topics: topics.map(({ topic, partitionCount, replicationFactor, config }) => ({
            name: topic,
            numPartitions: partitionCount,
            replicationFactor,
            configs: [...config].map(([name, value]) => ({ name, value })),
          })),
          timeoutMs: requestTimeoutMs,
          validateOnly,
        },
      );
      return new Map(
        response.topics.map(({ name, errorCode, errorMessage }) => {
          const text = withDetail(`Topic ${name} cannot be created`, errorMessage);
          return [name, outcomeOf(errorCode, text, { topic: name })];
        }),
      );
    });
    if (!validateOnly) {
      await this.#waitUntil('see new topics', succeeded(outcomes), (found) =>
        found.every((each) => each?.partitions.every(({ leader }) => leader >= 0) === true),
      );
    }
    return outcomes;
  }

  /** Resolves when brokers do not tell of the topics any more. */
  async delete(topics: readonly string[]): Promise<TopicOutcomes> {
    const { requestTimeoutMs } = this.#calls.context;
    const outcomes = await this.#calls.retry('delete topics', async () => {
      const response = await this.#calls.send(
        await this.#calls.controller(),
        apiUses.deleteTopics,
        { topicNames: [...topics], timeoutMs: requestTimeoutMs },
      );
      return new Map(
        response.responses.map(({ name, errorCode, errorMessage }) => {
          const topic = name ?? '';
          const text = withDetail(`Topic ${topic} cannot be deleted`, errorMessage);
          return [topic, outcomeOf(errorCode, text, { topic })];
        }),
      );
    });
    await this.#waitUntil('see topics gone', succeeded(outcomes), (found) =>
      found.every((each) => each === undefined),
    );
    return outcomes;
  }

  /** Sets the partition count, which can only grow (KIP-195). Resolves when brokers tell of it. */
  async extend(
    topic: string,
    partitionCount: number,
    { validateOnly = false }: { readonly validateOnly?: boolean } = {},
  ): Promise<StreamsError | null> {
    const { requestTimeoutMs } = this.#calls.context;
    const outcome = await this.#calls.retry(`add partitions to ${topic}`, async () => {
      const response = await this.#calls.send(
        await this.#calls.controller(),
        apiUses.createPartitions,
        {
          topics: [{ name: topic, count: partitionCount, assignments: null }],
          timeoutMs: requestTimeoutMs,
          validateOnly,
        },
      );
      let refusal: StreamsError | null = null;
      for (const { errorCode, errorMessage } of response.results) {
        const text = `Topic ${topic} cannot have ${partitionCount} partitions`;
        refusal ??= outcomeOf(errorCode, withDetail(text, errorMessage), { topic });
      }
      return refusal;
    });
    if (outcome === null && !validateOnly) {
      await this.#waitUntil('see new partitions', [topic], ([found]) => {
        const partitions = found?.partitions ?? [];
        return partitions.length >= partitionCount && partitions.every(({ leader }) => leader >= 0);
      });
    }
    return outcome;
  }

  /** What the controller has done, brokers tell a moment later. */
  async #waitUntil(
    what: string,
    topics: readonly string[],
    isDone: (found: readonly (ClusterTopic | undefined)[]) => boolean,
  ): Promise<void> {
    if (topics.length === 0) return;
    const { clock, sleeper, timeoutMs } = this.#calls.context;
    const startedAt = clock.monotonicMs();
    for (;;) {
      const described = await this.describe(topics);
      if (isDone(topics.map((topic) => described.get(topic)))) return;
      if (clock.monotonicMs() - startedAt > timeoutMs) {
        throw new TimeoutError(`Could not ${what} within ${timeoutMs} ms: ${topics.join(', ')}`);
      }
      await sleeper.sleep(TOPIC_VISIBLE_POLL_MS);
    }
  }

  async #describe(topics: readonly string[] | null): Promise<Map<string, ClusterTopic>> {
    const found = new Map<string, ClusterTopic>();
    const response = await this.#calls.metadata(topics);
    for (const topic of response.topics) {
      const { name, errorCode } = topic;
      if (name === null || errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION) continue;
      if (errorCode === errorCodes.INVALID_TOPIC_EXCEPTION) continue;
      if (topic.partitions.length > 0) {
        found.set(name, toClusterTopic(name, topic));
      } else if (topics !== null) {
        throw brokerError(errorCode, `Topic ${name} cannot be described`, { topic: name });
      }
    }
    return found;
  }
}

function succeeded(outcomes: TopicOutcomes): string[] {
  return [...outcomes].flatMap(([topic, error]) => (error === null ? [topic] : []));
}

function toClusterTopic(
  name: string,
  { topicId, isInternal, partitions }: MetadataResponse['topics'][number],
): ClusterTopic {
  return {
    topic: name,
    topicId: topicId === ZERO_UUID ? null : topicId,
    isInternal,
    partitions: partitions
      .map(({ partitionIndex, leaderId, replicaNodes, isrNodes }) => ({
        partition: partitionIndex,
        leader: leaderId,
        replicas: replicaNodes,
        inSyncReplicas: isrNodes,
      }))
      .sort((a, b) => a.partition - b.partition),
  };
}
