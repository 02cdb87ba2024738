import type {
  AdminPort,
  FetcherOptions,
  FetchPort,
  GroupOptions,
  GroupPort,
  NewTopic,
  ProducerOptions,
  ProducerPort,
  StreamsClient,
  TopicDescription,
  TopicPartition,
  TransactionalProducerOptions,
  TransactionalProducerPort,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { FakeCluster } from './fake-cluster.ts';
import { FakeFetcher } from './fake-fetcher.ts';
import { FakeMember } from './fake-group.ts';
import { FakeProducer } from './fake-producer.ts';
import { FakeTransactionalProducer } from './fake-transactional-producer.ts';

/** The whole client in memory. What it opened is there to be looked at and to be disturbed. */
export class FakeClient implements StreamsClient {
  readonly cluster: FakeCluster;
  readonly fetchers: FakeFetcher[] = [];
  readonly producers: FakeProducer[] = [];
  readonly transactionalProducers: FakeTransactionalProducer[] = [];
  readonly members: FakeMember[] = [];
  isClosed = false;

  constructor(cluster: FakeCluster) {
    this.cluster = cluster;
  }

  group(options: GroupOptions): GroupPort {
    const member = new FakeMember(this.cluster.group(options.groupId));
    this.members.push(member);
    return member;
  }

  fetcher(options: FetcherOptions): FetchPort {
    const fetcher = new FakeFetcher(this.cluster, options);
    this.fetchers.push(fetcher);
    return fetcher;
  }

  producer(options: ProducerOptions): ProducerPort {
    const producer = new FakeProducer(this.cluster, options);
    this.producers.push(producer);
    return producer;
  }

  transactionalProducer(options: TransactionalProducerOptions): TransactionalProducerPort {
    const producer = new FakeTransactionalProducer(this.cluster, options);
    this.transactionalProducers.push(producer);
    return producer;
  }

  admin(): AdminPort {
    return new FakeAdmin(this.cluster);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

export class FakeAdmin implements AdminPort {
  readonly #cluster: FakeCluster;

  constructor(cluster: FakeCluster) {
    this.#cluster = cluster;
  }

  describeTopics(topics: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    const found = new Map<string, TopicDescription>();
    for (const topic of topics) {
      const partitionCount = this.#cluster.partitionCount(topic);
      if (partitionCount === undefined) continue;
      found.set(topic, { topic, topicId: this.#cluster.topicId(topic), partitionCount });
    }
    return Promise.resolve(found);
  }

  listTopics(): Promise<readonly string[]> {
    return Promise.resolve(this.#cluster.topicNames());
  }

  createTopics(topics: readonly NewTopic[]): Promise<void> {
    for (const topic of topics) this.#cluster.create(topic);
    return Promise.resolve();
  }

  async deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: bigint })[],
  ): Promise<ReadonlyMap<string, bigint | Error>> {
    this.#cluster.deleteRequests.push(
      offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset })),
    );
    await this.#cluster.onDeleteRecords?.();
    return new Map(
      offsets.map(({ topic, partition, offset }) => {
        const log = this.#cluster.log(topic, partition);
        log.deleteUpTo(offset);
        return [topicPartitionKey(topic, partition), log.logStartOffset];
      }),
    );
  }

  describeTopicConfigs(topic: string): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(this.#cluster.topicConfigs.get(topic) ?? new Map<string, string>());
  }
}
