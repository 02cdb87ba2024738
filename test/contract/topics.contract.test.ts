/** Topics and their configs: creation, metadata, alteration, deletion. */
import {
  AlterConfigs,
  ApiVersions,
  CreatePartitions,
  CreateTopics,
  DeleteTopics,
  DescribeCluster,
  DescribeConfigs,
  errorCodes,
  IncrementalAlterConfigs,
  Metadata,
} from '@millrace/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { RawClient } from '../support/raw-client.ts';

const TOPIC = 2;
const SET = 0;
const DELETE = 1;
const APPEND = 2;
const SUBTRACT = 3;
const DYNAMIC_TOPIC_CONFIG = 1;
const DEFAULT_CONFIG = 5;

describeOnBothBrokers('topics', (broker) => {
  let client: RawClient;
  beforeAll(async () => {
    client = await RawClient.connect(broker().bootstrapServers);
  });
  afterAll(() => client.close());

  interface NewTopic {
    readonly name: string;
    readonly numPartitions?: number;
    readonly replicationFactor?: number;
    readonly configs?: Record<string, string>;
  }

  async function create(topic: NewTopic, validateOnly = false) {
    const { topics } = await client.send(CreateTopics, 7, {
      topics: [
        {
          name: topic.name,
          numPartitions: topic.numPartitions ?? 1,
          replicationFactor: topic.replicationFactor ?? 1,
          configs: Object.entries(topic.configs ?? {}).map(([name, value]) => ({ name, value })),
        },
      ],
      timeoutMs: 10_000,
      validateOnly,
    });
    const answer = topics[0];
    if (answer === undefined) throw new Error('no answer');
    return answer;
  }

  async function metadata(names: string[] | null, allowAutoTopicCreation = false) {
    return client.send(Metadata, 12, {
      topics: names === null ? null : names.map((name) => ({ name })),
      allowAutoTopicCreation,
    });
  }

  /** Kafka's controller knows of a change a little before its brokers do. */
  async function eventually<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
    for (let i = 0; ; i++) {
      const answer = await ask();
      if (holds(answer) || i === 100) return answer;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function configs(name: string, keys: string[] | null = null) {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [{ resourceType: TOPIC, resourceName: name, configurationKeys: keys }],
      includeSynonyms: true,
    });
    // Empty where the broker has not heard of a new topic yet.
    if (results[0]?.errorCode !== errorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
      expect(results[0]?.errorCode).toBe(0);
    }
    return new Map(results[0]?.configs.map((config) => [config.name, config]));
  }

  it('serves the versions that its clients need', async () => {
    const answer = await client.send(ApiVersions, 3, {
      clientSoftwareName: 'x',
      clientSoftwareVersion: '1',
    });
    expect(answer.errorCode).toBe(0);
    const ranges = new Map(answer.apiKeys.map((api) => [api.apiKey, api]));
    // Key → a version that kafkajs, librdkafka or the Java client of 4.x uses.
    const needed: Record<number, number> = {
      0: 9,
      1: 12,
      2: 7,
      3: 12,
      8: 8,
      9: 8,
      10: 4,
      11: 9,
      12: 4,
      13: 5,
      14: 5,
      18: 3,
      19: 7,
      20: 6,
      21: 2,
      22: 4,
      32: 4,
      37: 3,
      44: 1,
      60: 0,
    };
    for (const [key, version] of Object.entries(needed)) {
      const range = ranges.get(Number(key));
      expect(range, `api ${key}`).toBeDefined();
      expect(range?.minVersion).toBeLessThanOrEqual(version);
      expect(range?.maxVersion).toBeGreaterThanOrEqual(version);
    }
    // librdkafka turns compression off when Produce does not begin at 0.
    expect(ranges.get(0)?.minVersion).toBe(0);
  });

  it('creates, shows and deletes a topic', async () => {
    const name = unique('topic');
    const created = await create({ name, numPartitions: 3, configs: { 'retention.ms': '-1' } });
    expect(created).toMatchObject({ errorCode: 0, numPartitions: 3, replicationFactor: 1 });
    expect(created.configs?.find((c) => c.name === 'retention.ms')).toMatchObject({
      value: '-1',
      configSource: DYNAMIC_TOPIC_CONFIG,
    });
    const shown = await eventually(
      () => metadata([name]),
      (answer) => answer.topics[0]?.errorCode === 0,
    );
    expect(shown.topics[0]?.topicId).toBe(created.topicId);
    expect(shown.topics[0]?.partitions.map((p) => p.partitionIndex).sort()).toEqual([0, 1, 2]);
    for (const partition of shown.topics[0]?.partitions ?? []) {
      expect(partition.leaderId).toBe(shown.brokers[0]?.nodeId);
      expect(partition.isrNodes).toEqual([partition.leaderId]);
    }
    const remove = async () =>
      (await client.send(DeleteTopics, 6, { topics: [{ name }], timeoutMs: 10_000 })).responses[0];
    expect(await remove()).toMatchObject({ name, errorCode: 0 });
    const gone = await eventually(
      () => metadata([name]),
      (answer) => answer.topics[0]?.errorCode !== 0,
    );
    expect(gone.topics[0]?.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    expect((await remove())?.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    // A topic of the same name is another topic.
    expect((await create({ name })).topicId).not.toBe(created.topicId);
  });

  it('refuses what cannot be created, and says why', async () => {
    const name = unique('topic');
    await create({ name });
    expect((await create({ name })).errorCode).toBe(errorCodes.TOPIC_ALREADY_EXISTS);
    for (const bad of ['', '.', '..', 'a/b', 'x'.repeat(250), 'späne']) {
      expect((await create({ name: bad })).errorCode, bad).toBe(errorCodes.INVALID_TOPIC_EXCEPTION);
    }
    const other = unique('topic');
    expect((await create({ name: other, numPartitions: 0 })).errorCode).toBe(
      errorCodes.INVALID_PARTITIONS,
    );
    expect((await create({ name: other, replicationFactor: 2 })).errorCode).toBe(
      errorCodes.INVALID_REPLICATION_FACTOR,
    );
    expect((await create({ name: other, configs: { 'no.such.config': '1' } })).errorCode).toBe(
      errorCodes.INVALID_CONFIG,
    );
    expect((await create({ name: other, configs: { 'retention.ms': 'soon' } })).errorCode).toBe(
      errorCodes.INVALID_CONFIG,
    );
    // `a.b` and `a_b` would be one name in metrics.
    const dotted = unique('a.b');
    await create({ name: dotted });
    await eventually(
      () => metadata([dotted]),
      (answer) => answer.topics[0]?.errorCode === 0,
    );
    expect((await create({ name: dotted.replace('.', '_') })).errorCode).toBe(
      errorCodes.INVALID_TOPIC_EXCEPTION,
    );
  });

  it('only validates when asked to', async () => {
    const name = unique('topic');
    expect((await create({ name, numPartitions: -1, replicationFactor: -1 }, true)).errorCode).toBe(
      0,
    );
    expect((await metadata([name])).topics[0]?.errorCode).toBe(
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    );
  });

  it('creates a topic for a client that allows it', async () => {
    const name = unique('auto');
    await metadata([name], true);
    const shown = await eventually(
      () => metadata([name]),
      (answer) => answer.topics[0]?.errorCode === 0,
    );
    expect(shown.topics[0]?.partitions).toHaveLength(1);
  });

  it('lists all topics for null and none for an empty list', async () => {
    const name = unique('topic');
    await create({ name });
    const all = await eventually(
      () => metadata(null),
      (answer) => answer.topics.some((topic) => topic.name === name),
    );
    expect(all.topics.map((topic) => topic.name)).toContain(name);
    const none = await metadata([]);
    expect(none.topics).toEqual([]);
    expect(none.brokers).toHaveLength(1);
    expect(none.controllerId).toBe(none.brokers[0]?.nodeId);
  });

  it('adds partitions, but takes none away', async () => {
    const name = unique('topic');
    await create({ name, numPartitions: 2 });
    const grow = async (count: number) =>
      (
        await client.send(CreatePartitions, 3, {
          topics: [{ name, count, assignments: null }],
          timeoutMs: 10_000,
          validateOnly: false,
        })
      ).results[0]?.errorCode;
    expect(await grow(4)).toBe(0);
    const shown = await eventually(
      () => metadata([name]),
      (answer) => answer.topics[0]?.partitions.length === 4,
    );
    expect(shown.topics[0]?.partitions).toHaveLength(4);
    expect(await grow(4)).toBe(errorCodes.INVALID_PARTITIONS);
    expect(await grow(3)).toBe(errorCodes.INVALID_PARTITIONS);
  });

  it('describes configs with their sources', async () => {
    const name = unique('topic');
    await create({ name, configs: { 'segment.bytes': '2097152' } });
    const described = await eventually(
      () => configs(name, ['segment.bytes', 'cleanup.policy', 'min.compaction.lag.ms']),
      (answer) => answer.size === 3,
    );
    expect([...described.keys()].sort()).toEqual([
      'cleanup.policy',
      'min.compaction.lag.ms',
      'segment.bytes',
    ]);
    expect(described.get('segment.bytes')).toMatchObject({
      value: '2097152',
      configSource: DYNAMIC_TOPIC_CONFIG,
      readOnly: false,
    });
    expect(described.get('cleanup.policy')).toMatchObject({
      value: 'delete',
      configSource: DEFAULT_CONFIG,
    });
    const missing = await client.send(DescribeConfigs, 4, {
      resources: [
        { resourceType: TOPIC, resourceName: unique('missing'), configurationKeys: null },
      ],
    });
    expect(missing.results[0]?.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
  });

  it('alters configs one by one, with append and subtract on lists', async () => {
    const name = unique('topic');
    await create({ name, configs: { 'retention.ms': '1000' } });
    const alter = async (operations: [string, number, string | null][]) =>
      (
        await client.send(IncrementalAlterConfigs, 1, {
          resources: [
            {
              resourceType: TOPIC,
              resourceName: name,
              configs: operations.map(([config, configOperation, value]) => ({
                name: config,
                configOperation,
                value,
              })),
            },
          ],
          validateOnly: false,
        })
      ).responses[0]?.errorCode;
    const value = async (key: string, expected: string) =>
      (
        await eventually(
          () => configs(name, [key]),
          (answer) => answer.get(key)?.value === expected,
        )
      ).get(key)?.value;

    expect(await alter([['cleanup.policy', APPEND, 'compact']])).toBe(0);
    expect(await value('cleanup.policy', 'delete,compact')).toBe('delete,compact');
    expect(await alter([['cleanup.policy', SUBTRACT, 'delete']])).toBe(0);
    expect(await value('cleanup.policy', 'compact')).toBe('compact');
    expect(
      await alter([
        ['retention.ms', SET, '2000'],
        ['max.message.bytes', SET, '5000'],
      ]),
    ).toBe(0);
    expect(await value('retention.ms', '2000')).toBe('2000');
    expect(await alter([['retention.ms', DELETE, null]])).toBe(0);
    expect(await value('retention.ms', '604800000')).toBe('604800000');
    expect(await alter([['retention.ms', SET, 'soon']])).toBe(errorCodes.INVALID_CONFIG);
    expect(await alter([['no.such.config', SET, '1']])).toBe(errorCodes.INVALID_CONFIG);
    // All of one resource or nothing.
    expect(
      await alter([
        ['max.message.bytes', SET, '6000'],
        ['segment.bytes', SET, 'x'],
      ]),
    ).toBe(errorCodes.INVALID_CONFIG);
    expect(await value('max.message.bytes', '5000')).toBe('5000');
  });

  it('replaces all configs with the older request', async () => {
    const name = unique('topic');
    await create({ name, configs: { 'retention.ms': '1000', 'max.message.bytes': '5000' } });
    const { responses } = await client.send(AlterConfigs, 2, {
      resources: [
        {
          resourceType: TOPIC,
          resourceName: name,
          configs: [{ name: 'retention.ms', value: '2000' }],
        },
      ],
      validateOnly: false,
    });
    expect(responses[0]?.errorCode).toBe(0);
    const described = await eventually(
      () => configs(name, ['retention.ms', 'max.message.bytes']),
      (answer) => answer.get('retention.ms')?.value === '2000',
    );
    expect(described.get('retention.ms')?.value).toBe('2000');
    expect(described.get('max.message.bytes')?.configSource).toBe(DEFAULT_CONFIG);
  });

  it('describes its cluster', async () => {
    const answer = await client.send(DescribeCluster, 0, {});
    expect(answer.errorCode).toBe(0);
    expect(answer.clusterId).toBe((await metadata([])).clusterId);
    expect(answer.brokers).toHaveLength(1);
  });
});
