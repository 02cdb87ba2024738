/** kafkajs 2.2.4 as a client of the embedded broker and of Kafka 4.4: producer, consumer, admin, transactions. */
import {
  type Admin,
  CompressionTypes,
  ConfigResourceTypes,
  type Consumer,
  Kafka,
  type KafkaMessage,
  logLevel,
  type Producer,
} from 'kafkajs';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { storedBatches } from './stored-batches.ts';

const DEADLINE = { timeout: 15_000, interval: 50 };

interface Reader {
  readonly consumer: Consumer;
  readonly read: KafkaMessage[];
}

describeOnBothBrokers(
  'kafkajs',
  (broker) => {
    let kafka: Kafka;
    let admin: Admin;
    const opened: (Producer | Consumer)[] = [];

    beforeAll(async () => {
      kafka = new Kafka({
        brokers: [broker().bootstrapServers],
        logLevel: logLevel.NOTHING,
        retry: { initialRetryTime: 50, retries: 10 },
      });
      admin = kafka.admin();
      await admin.connect();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((client) => client.disconnect()));
    });
    afterAll(() => admin.disconnect());

    async function newTopic(
      numPartitions = 1,
      configs: Record<string, string> = {},
    ): Promise<string> {
      const topic = unique('topic');
      const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
      await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }] });
      return topic;
    }

    async function newProducer(options: object = {}): Promise<Producer> {
      const producer = kafka.producer({ allowAutoTopicCreation: false, ...options });
      opened.push(producer);
      await producer.connect();
      return producer;
    }

    const newTransactional = (transactionalId = unique('id')): Promise<Producer> =>
      newProducer({ idempotent: true, maxInFlightRequests: 1, transactionalId });

    /** Reads a topic from the beginning, in a group of its own unless it is told which. */
    async function read(topic: string, options: object = {}): Promise<Reader> {
      const consumer = kafka.consumer({
        groupId: unique('group'),
        maxWaitTimeInMs: 100,
        heartbeatInterval: 200,
        ...options,
      });
      opened.push(consumer);
      const messages: KafkaMessage[] = [];
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        eachMessage: ({ message }) => {
          messages.push(message);
          return Promise.resolve();
        },
      });
      return { consumer, read: messages };
    }

    const valuesOf = ({ read: messages }: Reader): (string | null)[] =>
      messages.map(({ value }) => value?.toString() ?? null);

    const committed = async (groupId: string, topic: string): Promise<string | undefined> =>
      (await admin.fetchOffsets({ groupId, topics: [topic] }))[0]?.partitions[0]?.offset;

    it.each([
      ['plain', {}, CompressionTypes.None],
      ['gzip', {}, CompressionTypes.GZIP],
      ['idempotent', { idempotent: true }, CompressionTypes.None],
    ])('produces and consumes: %s', async (_, options, compression) => {
      const topic = await newTopic();
      const producer = await newProducer(options);
      const headers = { list: ['one', 'two'], empty: '' };
      const messages = Array.from({ length: 50 }, (_, index) => ({ value: `v${index}`, headers }));
      for (let round = 0; round < 3; round++) await producer.send({ topic, compression, messages });
      const reader = await read(topic);
      await expect.poll(() => reader.read.length, DEADLINE).toBe(150);
      expect(reader.read.map(({ offset }) => offset)).toEqual(
        Array.from({ length: 150 }, (_, offset) => String(offset)),
      );
      expect(reader.read[149]).toMatchObject({
        value: Buffer.from('v49'),
        headers: { list: [Buffer.from('one'), Buffer.from('two')], empty: Buffer.alloc(0) },
      });
      expect(storedBatches(broker().dataDir, `${topic}-0`)[2]).toMatchObject({
        codec: compression === CompressionTypes.GZIP ? 'gzip' : 'none',
        isIdempotent: 'idempotent' in options,
      });
    });

    it('139: knows an empty key or value from none', async () => {
      const topic = await newTopic();
      const producer = await newProducer();
      await producer.send({
        topic,
        messages: [
          { key: '', value: '0' },
          { key: null, value: '' },
          { key: '0', value: null },
        ],
      });
      const reader = await read(topic);
      await expect.poll(() => reader.read.length, DEADLINE).toBe(3);
      expect(
        reader.read.map(({ key, value }) => [key?.toString() ?? null, value?.toString() ?? null]),
      ).toEqual([
        ['', '0'],
        [null, ''],
        ['0', null],
      ]);
    });

    it('106: deletes all records, and the next offset goes on', async () => {
      const topic = await newTopic();
      const producer = await newProducer();
      await producer.send({ topic, messages: [{ value: 'a' }, { value: 'b' }] });
      // Its admin client knows leaders only of topics that it was asked about before.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
      expect(await admin.fetchTopicOffsets(topic)).toMatchObject([{ low: '2', high: '2' }]);
      const [sent] = await producer.send({ topic, messages: [{ value: 'c' }] });
      expect(sent).toMatchObject({ errorCode: 0, baseOffset: '2' });
      const reader = await read(topic);
      await expect.poll(() => valuesOf(reader), DEADLINE).toEqual(['c']);
    });

    it('143: reads a batch that is larger than its limits', async () => {
      const topic = await newTopic();
      const producer = await newProducer();
      await producer.send({ topic, messages: [{ value: 'x'.repeat(50_000) }] });
      await producer.send({ topic, messages: [{ value: 'small' }] });
      const reader = await read(topic, { maxBytes: 1_000, maxBytesPerPartition: 1_000 });
      await expect
        .poll(() => reader.read.map(({ value }) => value?.length), DEADLINE)
        .toEqual([50_000, 5]);
    });

    it('administers topics and their configs', async () => {
      const topic = await newTopic(2, { 'retention.ms': '5000' });
      expect(await admin.listTopics()).toContain(topic);
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
      await expect
        .poll(
          async () =>
            (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions.length,
        )
        .toBe(3);
      await admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: ConfigResourceTypes.TOPIC,
            name: topic,
            configEntries: [{ name: 'retention.ms', value: '6000' }],
          },
        ],
      });
      const configNames = ['retention.ms', 'segment.ms'];
      const described = async (): Promise<unknown> =>
        (
          await admin.describeConfigs({
            includeSynonyms: false,
            resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames }],
          })
        ).resources[0]?.configEntries;
      await expect.poll(described, DEADLINE).toMatchObject([
        { configName: 'retention.ms', configValue: '6000', isDefault: false },
        { configName: 'segment.ms', configValue: '604800000', isDefault: true },
      ]);
      await admin.deleteTopics({ topics: [topic] });
      await expect.poll(() => admin.listTopics(), DEADLINE).not.toContain(topic);
      const { brokers, controller } = await admin.describeCluster();
      expect([controller, brokers.length]).toEqual([1, 1]);
    });

    it('resets the offsets of a group, and reads on from there', async () => {
      const topic = await newTopic();
      const groupId = unique('group');
      const producer = await newProducer();
      const messages = ['a', 'b', 'c'].map((value) => ({ value }));
      await producer.send({ topic, messages });
      const first = await read(topic, { groupId });
      await expect.poll(() => valuesOf(first), DEADLINE).toEqual(['a', 'b', 'c']);
      await first.consumer.disconnect();
      expect(await committed(groupId, topic)).toBe('3');
      await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '1' }] });
      const second = await read(topic, { groupId });
      await expect.poll(() => valuesOf(second), DEADLINE).toEqual(['b', 'c']);
      await second.consumer.disconnect();
      await admin.deleteGroups([groupId]);
      expect((await admin.listGroups()).groups.map((group) => group.groupId)).not.toContain(
        groupId,
      );
    });

    it('commits and aborts transactions, and passes what is aborted, also at the end of the log', async () => {
      const topic = await newTopic();
      const groupId = unique('group');
      const producer = await newTransactional();
      const send = async (value: string, end: 'commit' | 'abort'): Promise<void> => {
        const transaction = await producer.transaction();
        await transaction.send({ topic, messages: [{ value }, { value }] });
        await transaction[end]();
      };
      await send('aborted', 'abort');
      await send('one', 'commit');
      await send('aborted', 'abort');
      const reader = await read(topic, { groupId });
      await expect.poll(() => valuesOf(reader), DEADLINE).toEqual(['one', 'one']);
      await send('aborted', 'abort');
      await send('two', 'commit');
      await expect.poll(() => valuesOf(reader), DEADLINE).toEqual(['one', 'one', 'two', 'two']);
      const dirty = await read(topic, { readUncommitted: true });
      await expect.poll(() => dirty.read.length, DEADLINE).toBe(10);
      expect(storedBatches(broker().dataDir, `${topic}-0`)).toHaveLength(5);
    });

    it('commits the offsets of a group in a transaction, or not', async () => {
      const topic = await newTopic();
      const output = await newTopic();
      const consumerGroupId = unique('group');
      const producer = await newTransactional();
      const run = async (offset: string, end: 'commit' | 'abort'): Promise<void> => {
        const transaction = await producer.transaction();
        await transaction.send({ topic: output, messages: [{ value: end }] });
        await transaction.sendOffsets({
          consumerGroupId,
          topics: [{ topic, partitions: [{ partition: 0, offset }] }],
        });
        await transaction[end]();
      };
      await run('7', 'abort');
      expect(await committed(consumerGroupId, topic)).toBe('-1');
      await run('5', 'commit');
      await expect.poll(() => committed(consumerGroupId, topic), DEADLINE).toBe('5');
      const reader = await read(output);
      await expect.poll(() => valuesOf(reader), DEADLINE).toEqual(['commit']);
    });

    it('is fenced by a producer of the same transactional id', async () => {
      const topic = await newTopic();
      const transactionalId = unique('id');
      const zombie = await newTransactional(transactionalId);
      const open = await zombie.transaction();
      await open.send({ topic, messages: [{ value: 'of the zombie' }] });
      const successor = await newTransactional(transactionalId);
      const transaction = await successor.transaction();
      await transaction.send({ topic, messages: [{ value: 'of the successor' }] });
      await transaction.commit();
      await expect(open.commit()).rejects.toMatchObject({ name: 'KafkaJSProtocolError' });
      const reader = await read(topic);
      await expect.poll(() => valuesOf(reader), DEADLINE).toEqual(['of the successor']);
    });
  },
  { 'offsets.topic.num.partitions': '3', 'transaction.state.log.num.partitions': '3' },
);
