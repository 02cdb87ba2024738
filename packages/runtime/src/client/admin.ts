import type { Logger } from 'pino';
import { errorCodes, ZERO_UUID } from '@millrace/protocol';
import { InvariantError, StreamsError, TimeoutError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { brokerError } from './broker-errors.ts';
import { isLeadershipError } from './error-codes.ts';
import { MissingTopicError } from './errors.ts';
import { API_TIMEOUT_MS, TOPIC_VISIBLE_POLL_MS } from './limits.ts';
import { topicPartitionKey } from './ports.ts';
import type {
  AdminPort,
  NewTopic,
  TopicDescription,
  TopicPartition,
  TopicPartitionKey,
} from './ports.ts';
import type { Sleeper } from './sleeper.ts';
import { ANY_NODE } from './transport.ts';
import type { Transport } from './transport.ts';

export interface AdminContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sleeper: Sleeper;
  readonly requestTimeoutMs: number;
  /** Longest time of one call, retries included; default `default.api.timeout.ms`. */
  readonly apiTimeoutMs?: number;
}

/** `ConfigResource.Type.TOPIC`. */
const TOPIC_RESOURCE = 2;

interface DescribedTopic {
  readonly errorCode: number;
  readonly topicId: string;
  /** Node ids by partition; -1: no leader. */
  readonly leaders: readonly number[];
}

interface Described {
  readonly controllerId: number;
  readonly topics: ReadonlyMap<string, DescribedTopic>;
}

type RecordsOffset = TopicPartition & { readonly offset: bigint };

/** Topic administration. Every call retries what may be retried, up to `default.api.timeout.ms`. */
export class Admin implements AdminPort {
  readonly #context: AdminContext;
  readonly #apiTimeoutMs: number;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#apiTimeoutMs = context.apiTimeoutMs ?? API_TIMEOUT_MS;
  }

  async describeTopics(topics: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    const found = new Map<string, TopicDescription>();
    if (topics.length === 0) return found;
    return this.#retry('describe topics', async () => {
      const described = await this.#describe(topics);
      for (const [topic, { errorCode, leaders, topicId }] of described.topics) {
        if (leaders.length > 0) {
          const id = topicId === ZERO_UUID ? null : topicId;
          found.set(topic, { topic, topicId: id, partitionCount: leaders.length });
        } else if (errorCode !== errorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
          throw brokerError(errorCode, `Topic ${topic} cannot be described`, { topic });
        }
      }
      return found;
    });
  }

  async listTopics(): Promise<readonly string[]> {
    return this.#retry('list topics', async () => {
      const { transport, requestTimeoutMs } = this.#context;
      const response = await transport.send(
        ANY_NODE,
        apiUses.metadata,
        { topics: null, allowAutoTopicCreation: false },
        { timeoutMs: requestTimeoutMs },
      );
      transport.setNodes(response.brokers);
      return response.topics.flatMap(({ name, errorCode, isInternal }) =>
        name === null || isInternal || errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION
          ? []
          : [name],
      );
    });
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    const open = new Map(topics.map((topic) => [topic.topic, topic]));
    if (open.size === 0) return;
    await this.#retry('create topics', async () => {
      await this.#create(open);
    });
    await this.#retry('wait for created topics', () => this.#waitUntilVisible([...topics]));
  }

  async deleteRecords(
    offsets: readonly RecordsOffset[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint | Error>> {
    const results = new Map<TopicPartitionKey, bigint | Error>();
    if (offsets.length === 0) return results;
    const open = new Map(
      offsets.map((each) => [topicPartitionKey(each.topic, each.partition), each]),
    );
    try {
      await this.#retry('delete records', () => this.#deleteOpen(open, results));
    } catch (error) {
      // One partition's failure touches no other: what is still open gets this error.
      const failure = asError(error);
      for (const key of open.keys()) if (!results.has(key)) results.set(key, failure);
    }
    return results;
  }

  async describeTopicConfigs(topic: string): Promise<ReadonlyMap<string, string>> {
    return this.#retry(`describe the configs of ${topic}`, async () => {
      const response = await this.#context.transport.send(
        ANY_NODE,
        apiUses.describeConfigs,
        {
          resources: [
            { resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: null },
          ],
        },
        { timeoutMs: this.#context.requestTimeoutMs },
      );
      const configs = new Map<string, string>();
      for (const result of response.results) {
        if (result.errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
          throw new MissingTopicError(`Topic ${topic} does not exist`, { context: { topic } });
        }
        if (result.errorCode !== errorCodes.NONE) {
          const text = `The configs of topic ${topic} cannot be described`;
          throw brokerError(result.errorCode, withDetail(text, result.errorMessage), { topic });
        }
        for (const { name, value } of result.configs) if (value !== null) configs.set(name, value);
      }
      return configs;
    });
  }

  async #describe(topics: readonly string[]): Promise<Described> {
    const { transport, requestTimeoutMs } = this.#context;
    const response = await transport.send(
      ANY_NODE,
      apiUses.metadata,
      { topics: topics.map((name) => ({ name })), allowAutoTopicCreation: false },
      { timeoutMs: requestTimeoutMs },
    );
    transport.setNodes(response.brokers);
    const found = new Map<string, DescribedTopic>();
    for (const { name, topicId, errorCode, partitions } of response.topics) {
      if (name === null) continue;
      const leaders = partitions.map(() => -1);
      for (const { partitionIndex, leaderId } of partitions) {
        if (partitionIndex >= 0 && partitionIndex < leaders.length) {
          leaders[partitionIndex] = leaderId;
        }
      }
      found.set(name, { errorCode, topicId, leaders });
    }
    return { controllerId: response.controllerId, topics: found };
  }

  /** Takes out of `open` what exists now. */
  async #create(open: Map<string, NewTopic>): Promise<void> {
    const { transport, requestTimeoutMs } = this.#context;
    const { controllerId } = await this.#describe([]);
    const response = await transport.send(
      controllerId >= 0 ? controllerId : ANY_NODE,
      apiUses.createTopics,
      {
        topics: [...open.values()].map(({ topic, partitionCount, replicationFactor, config }) => ({
          name: topic,
          numPartitions: partitionCount,
          replicationFactor,
          configs: [...config].map(([name, value]) => ({ name, value })),
        })),
        timeoutMs: requestTimeoutMs,
      },
      { timeoutMs: requestTimeoutMs },
    );
    let failure: StreamsError | null = null;
    for (const { name, errorCode, errorMessage } of response.topics) {
      if (errorCode === errorCodes.NONE || errorCode === errorCodes.TOPIC_ALREADY_EXISTS) {
        open.delete(name);
        continue;
      }
      const text = withDetail(`Topic ${name} cannot be created`, errorMessage);
      const error = brokerError(errorCode, text, { topic: name });
      if (failure === null || !error.retriable) failure = error;
    }
    if (failure !== null) throw failure;
  }

  /** Returns once brokers tell a leader for every partition, so that the first use finds them. */
  async #waitUntilVisible(topics: readonly NewTopic[]): Promise<void> {
    const names = topics.map(({ topic }) => topic);
    const startedAt = this.#context.clock.monotonicMs();
    for (;;) {
      const described = await this.#describe(names);
      const isVisible = names.every((name) => {
        const leaders = described.topics.get(name)?.leaders ?? [];
        return leaders.length > 0 && leaders.every((leader) => leader >= 0);
      });
      if (isVisible) return;
      if (this.#context.clock.monotonicMs() - startedAt > this.#apiTimeoutMs) {
        throw new TimeoutError(
          `Topics ${names.join(', ')} were created but have no leaders after ${this.#apiTimeoutMs} ms`,
        );
      }
      await this.#context.sleeper.sleep(TOPIC_VISIBLE_POLL_MS);
    }
  }

  async #deleteOpen(
    open: Map<TopicPartitionKey, RecordsOffset>,
    results: Map<TopicPartitionKey, bigint | Error>,
  ): Promise<void> {
    const described = await this.#describe([...new Set([...open.values()].map((o) => o.topic))]);
    const byLeader = new Map<number, RecordsOffset[]>();
    let failure: Error | null = null;
    for (const [key, each] of open) {
      const topic = described.topics.get(each.topic);
      const leader = topic?.leaders[each.partition] ?? -1;
      if (leader >= 0) {
        const asked = byLeader.get(leader);
        if (asked === undefined) byLeader.set(leader, [each]);
        else asked.push(each);
        continue;
      }
      const isMissing = topic === undefined || topic.leaders.length <= each.partition;
      const code = isMissing
        ? topic?.errorCode || errorCodes.UNKNOWN_TOPIC_OR_PARTITION
        : errorCodes.LEADER_NOT_AVAILABLE;
      const error = deleteError(code, each);
      if (!isMissing) failure = error;
      else settle(open, results, key, error);
    }
    const failures = await Promise.all(
      [...byLeader].map(([leader, asked]) => this.#deleteAt(leader, asked, open, results)),
    );
    failure = failures.find((each) => each !== null) ?? failure;
    if (failure !== null) throw failure;
  }

  /** Returns the error of what is worth another try. */
  async #deleteAt(
    leader: number,
    asked: readonly RecordsOffset[],
    open: Map<TopicPartitionKey, RecordsOffset>,
    results: Map<TopicPartitionKey, bigint | Error>,
  ): Promise<Error | null> {
    const { transport, requestTimeoutMs } = this.#context;
    const topics = new Map<string, { partitionIndex: number; offset: bigint }[]>();
    for (const { topic, partition, offset } of asked) {
      const partitions = topics.get(topic) ?? [];
      partitions.push({ partitionIndex: partition, offset });
      topics.set(topic, partitions);
    }
    let response;
    try {
      response = await transport.send(
        leader,
        apiUses.deleteRecords,
        {
          topics: [...topics].map(([name, partitions]) => ({ name, partitions })),
          timeoutMs: requestTimeoutMs,
        },
        { timeoutMs: requestTimeoutMs },
      );
    } catch (error) {
      if (error instanceof StreamsError && error.retriable) return error;
      const failure = asError(error);
      for (const { topic, partition } of asked) {
        settle(open, results, topicPartitionKey(topic, partition), failure);
      }
      return null;
    }
    let retriable: Error | null = null;
    for (const { name, partitions } of response.topics) {
      for (const { partitionIndex, errorCode, lowWatermark } of partitions) {
        const key = topicPartitionKey(name, partitionIndex);
        const each = open.get(key);
        if (each === undefined) continue;
        if (errorCode === errorCodes.NONE) {
          settle(open, results, key, lowWatermark);
          continue;
        }
        const error = deleteError(errorCode, each);
        if (error.retriable || isLeadershipError(errorCode)) retriable = error;
        else settle(open, results, key, error);
      }
    }
    return retriable;
  }

  async #retry<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { clock, random, sleeper } = this.#context;
    const startedAt = clock.monotonicMs();
    const backoff = new Backoff(random);
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StreamsError) || !error.retriable) throw error;
        const elapsedMs = clock.monotonicMs() - startedAt;
        if (elapsedMs > this.#apiTimeoutMs) {
          throw new TimeoutError(
            `Could not ${what} within ${this.#apiTimeoutMs} ms: ${error.message}`,
            {
              cause: error,
            },
          );
        }
        this.#context.logger.debug({ err: error }, `could not ${what}; trying again`);
        await sleeper.sleep(backoff.next());
      }
    }
  }
}

function settle(
  open: Map<TopicPartitionKey, RecordsOffset>,
  results: Map<TopicPartitionKey, bigint | Error>,
  key: TopicPartitionKey,
  result: bigint | Error,
): void {
  open.delete(key);
  results.set(key, result);
}

function deleteError(code: number, { topic, partition, offset }: RecordsOffset): StreamsError {
  const text = `Records of ${topic}-${partition} before offset ${offset} cannot be deleted`;
  return brokerError(code, text, { topic, partition, offset });
}

function withDetail(text: string, detail: string | null): string {
  return detail === null || detail === '' ? text : `${text} (${detail})`;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new InvariantError(String(error));
}
