/** kafkajs 2.2.4 as it is, as a client of this broker. */
import {
  Kafka,
  logLevel,
  CompressionTypes,
  ConfigResourceTypes,
  type Admin,
  type Consumer,
} from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from './embedded-broker.ts';
import { startBroker } from './start-broker.ts';

let broker: EmbeddedBroker;
let kafka: Kafka;
let admin: Admin;

beforeAll(async () => {
  broker = await startBroker({
    inProcess: true,
    config: { 'offsets.topic.num.partitions': 3 },
  });
  kafka = new Kafka({
    clientId: 'test',
    brokers: [broker.bootstrapServers],
    logLevel: logLevel.NOTHING,
    retry: { retries: 3 },
  });
  admin = kafka.admin();
  await admin.connect();
});

afterAll(async () => {
  await admin.disconnect();
  await broker.close();
});

/** Reads until `count` records have come. */
async function consume(
  consumer: Consumer,
  count: number,
): Promise<
  {
    partition: number;
    offset: string;
    key: string | null;
    value: string | null;
    headers: unknown;
  }[]
> {
  const records: Awaited<ReturnType<typeof consume>> = [];
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ partition, message }) => {
          records.push({
            partition,
            offset: message.offset,
            key: message.key?.toString() ?? null,
            value: message.value?.toString() ?? null,
            headers: message.headers,
          });
          if (records.length === count) resolve();
        },
      })
      .catch(reject);
  });
  return records;
}

describe('kafkajs', () => {
  it('creates, describes, alters and deletes topics', async () => {
    expect(
      await admin.createTopics({
        topics: [
          {
            topic: 'jobs',
            numPartitions: 2,
            configEntries: [{ name: 'retention.ms', value: '5000' }],
          },
          { topic: 'with-defaults' },
        ],
      }),
    ).toBe(true);
    expect((await admin.listTopics()).sort()).toEqual(['jobs', 'with-defaults']);
    const { topics } = await admin.fetchTopicMetadata({ topics: ['jobs'] });
    expect(topics[0]!.partitions.map(({ leader }) => leader)).toEqual([1, 1]);
    await admin.createPartitions({ topicPartitions: [{ topic: 'jobs', count: 4 }] });
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: 'jobs',
          configEntries: [{ name: 'retention.ms', value: '6000' }],
        },
      ],
    });
    const { resources } = await admin.describeConfigs({
      includeSynonyms: true,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: 'jobs',
          configNames: ['retention.ms', 'segment.ms'],
        },
      ],
    });
    expect(resources[0]!.configEntries).toMatchObject([
      { configName: 'retention.ms', configValue: '6000', isDefault: false },
      { configName: 'segment.ms', isDefault: true },
    ]);
    await admin.deleteTopics({ topics: ['jobs', 'with-defaults'] });
    expect(await admin.listTopics()).toEqual([]);
    const cluster = await admin.describeCluster();
    expect(cluster).toMatchObject({
      controller: 1,
      clusterId: broker.clusterId,
      brokers: [{ nodeId: 1, host: '127.0.0.1', port: broker.port }],
    });
  });

  it.each([
    ['plain', false, CompressionTypes.None],
    ['idempotent', true, CompressionTypes.GZIP],
  ])(
    'produces (%s) and consumes, headers and nulls included',
    async (name, idempotent, compression) => {
      const topic = `records-${name}`;
      await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
      const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false });
      await producer.connect();
      for (let i = 0; i < 3; i++) {
        await producer.send({
          topic,
          compression,
          messages: [
            { key: `k${i}`, value: `v${i}`, headers: { h: ['one', 'two'] } },
            { key: null, value: `n${i}` },
            { key: `t${i}`, value: null },
          ],
        });
      }
      await producer.disconnect();
      const consumer = kafka.consumer({ groupId: `readers-${name}` });
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      const records = await consume(consumer, 9);
      expect(records.map(({ offset }) => Number(offset))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
      expect(records.slice(3, 6)).toMatchObject([
        { key: 'k1', value: 'v1', headers: { h: [Buffer.from('one'), Buffer.from('two')] } },
        { key: null, value: 'n1' },
        { key: 't1', value: null },
      ]);
      await consumer.disconnect();
    },
  );

  it('goes on where its group has committed', async () => {
    const topic = 'committed';
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
    const producer = kafka.producer();
    await producer.connect();
    const send = (...values: string[]) =>
      producer.send({ topic, messages: values.map((value) => ({ value })) });
    await send('a', 'b');
    const groupId = 'committers';
    const read = async (count: number): Promise<(string | null)[]> => {
      const consumer = kafka.consumer({ groupId });
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      const records = await consume(consumer, count);
      await consumer.disconnect();
      return records.map(({ value }) => value);
    };
    expect(await read(2)).toEqual(['a', 'b']);
    await send('c');
    expect(await read(1)).toEqual(['c']);
    expect(await admin.fetchOffsets({ groupId, topics: [topic] })).toMatchObject([
      { topic, partitions: [{ partition: 0, offset: '3' }] },
    ]);
    await producer.disconnect();
  });

  it('deletes records: low and high move, the next offset goes on (kafkajs 987)', async () => {
    const topic = 'purged';
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages: [{ value: 'a' }, { value: 'b' }] });
    // Its admin client finds a leader only for topics that it has been asked about before.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
    expect(await admin.fetchTopicOffsets(topic)).toMatchObject([
      { low: '2', high: '2', offset: '2' },
    ]);
    const sent = await producer.send({ topic, messages: [{ value: 'c' }] });
    expect(sent[0]).toMatchObject({ baseOffset: '2', errorCode: 0 });
    await producer.disconnect();
  });

  it('creates a topic by producing to it', async () => {
    const producer = kafka.producer();
    await producer.connect();
    const sent = await producer.send({ topic: 'made-by-itself', messages: [{ value: 'x' }] });
    expect(sent[0]).toMatchObject({ errorCode: 0, baseOffset: '0' });
    await producer.disconnect();
  });

  it('is told that a batch is too large', async () => {
    const topic = 'small';
    await admin.createTopics({
      topics: [{ topic, configEntries: [{ name: 'max.message.bytes', value: '1000' }] }],
    });
    const producer = kafka.producer();
    await producer.connect();
    await expect(
      producer.send({ topic, messages: [{ value: Buffer.alloc(2000) }] }),
    ).rejects.toMatchObject({ type: 'MESSAGE_TOO_LARGE' });
    await producer.disconnect();
  });
});
