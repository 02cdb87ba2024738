/** @platformatic/kafka as a client of the embedded broker and of Kafka 4.4. */
import zlib from 'node:zlib';
import {
  Admin,
  Consumer,
  type Message,
  MessagesStreamFallbackModes,
  MessagesStreamModes,
  Producer,
  stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { storedBatches } from './stored-batches.ts';

const DEADLINE = { timeout: 15_000, interval: 50 };
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
// It takes zstd from Node, which has it from version 22.15 on.
const hasZstd = 'zstdCompressSync' in zlib;

type StringMessage = Message<string, string, string, string>;
type StringConsumer = Consumer<string, string, string, string>;
type StringProducer = Producer<string, string, string, string>;

interface Closable {
  close(force: boolean): Promise<void>;
}

interface Member {
  readonly consumer: StringConsumer;
  readonly read: StringMessage[];
}

/** Also when it still has streams open. */
const close = (client: Closable): Promise<void> => client.close(true);

describeOnBothBrokers(
  '@platformatic/kafka',
  (broker) => {
    let admin: Admin;
    const opened: Closable[] = [];

    const connection = (): { clientId: string; bootstrapBrokers: string[] } => ({
      clientId: unique('client'),
      bootstrapBrokers: [broker().bootstrapServers],
    });

    beforeAll(() => {
      admin = new Admin(connection());
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(close));
    });
    afterAll(() => admin.close());

    function newProducer(options: object = {}): StringProducer {
      const producer = new Producer({
        ...connection(),
        serializers: stringSerializers,
        ...options,
      });
      opened.push(producer);
      return producer;
    }

    async function newTopic(partitions = 1): Promise<string> {
      const topic = unique('topic');
      await admin.createTopics({ topics: [topic], partitions, replicas: 1 });
      return topic;
    }

    /** A member of a group that gathers what it reads, from the beginning or from where the group is. */
    async function join(groupId: string, topic: string): Promise<Member> {
      const consumer = new Consumer({
        ...connection(),
        groupId,
        deserializers: stringDeserializers,
        autocommit: false,
        heartbeatInterval: 200,
        maxWaitTime: 100,
      });
      opened.push(consumer);
      const read: StringMessage[] = [];
      const stream = await consumer.consume({
        topics: [topic],
        mode: MessagesStreamModes.COMMITTED,
        fallbackMode: MessagesStreamFallbackModes.EARLIEST,
      });
      stream.on('data', (message) => read.push(message));
      return { consumer, read };
    }

    const assigned = ({ consumer }: Member): number[] =>
      (consumer.assignments ?? []).flatMap(({ partitions }) => partitions).sort();

    /** Commits the offsets that come after what it has read. */
    const commit = ({ consumer, read }: Member): Promise<void> =>
      consumer.commit({
        offsets: read.map(({ topic, partition, offset }) => ({
          topic,
          partition,
          offset: offset + 1n,
          leaderEpoch: 0,
        })),
      });

    it.for(CODECS)('produces and consumes with headers: %s', async (codec, { skip }) => {
      skip(codec === 'zstd' && !hasZstd, 'this Node has no zstd');
      const topic = await newTopic();
      const producer = newProducer();
      const messages = Array.from({ length: 20 }, (_, index) => ({
        topic,
        key: `key ${index}`,
        value: 'v'.repeat(200),
        headers: { a: '1', empty: '' },
      }));
      const sent = await producer.send({ messages, compression: codec, acks: -1 });
      expect(sent.offsets).toEqual([{ topic, partition: 0, offset: 0n }]);
      const { read } = await join(unique('group'), topic);
      await expect.poll(() => read.length, DEADLINE).toBe(20);
      expect(read.map(({ offset, key }) => [offset, key])).toEqual(
        messages.map(({ key }, index) => [BigInt(index), key]),
      );
      expect(read[7]).toMatchObject({ value: 'v'.repeat(200), partition: 0 });
      expect([...(read[7] as StringMessage).headers]).toEqual([
        ['a', '1'],
        ['empty', ''],
      ]);
      expect(storedBatches(broker().dataDir, `${topic}-0`)).toMatchObject([
        { codec, recordCount: 20 },
      ]);
    });

    it('produces idempotently', async () => {
      const topic = await newTopic();
      const producer = newProducer({ idempotent: true });
      for (let round = 0; round < 3; round++) {
        await producer.send({ messages: [{ topic, value: `${round}` }] });
      }
      const { read } = await join(unique('group'), topic);
      await expect.poll(() => read.map(({ value }) => value), DEADLINE).toEqual(['0', '1', '2']);
      expect(storedBatches(broker().dataDir, `${topic}-0`)).toMatchObject([
        { isIdempotent: true },
        { isIdempotent: true },
        { isIdempotent: true },
      ]);
    });

    it('shares a topic in a group, commits, and goes on there', async () => {
      const topic = await newTopic(4);
      const groupId = unique('group');
      const one = await join(groupId, topic);
      await expect.poll(() => assigned(one), DEADLINE).toEqual([0, 1, 2, 3]);
      const two = await join(groupId, topic);
      await expect.poll(() => assigned(two).length, DEADLINE).toBe(2);
      await expect.poll(() => assigned(one).length, DEADLINE).toBe(2);
      const producer = newProducer();
      const send = (value: string): Promise<unknown> =>
        producer.send({
          messages: [0, 1, 2, 3].map((partition) => ({ topic, partition, value })),
        });
      await send('first');
      await expect.poll(() => two.read.length, DEADLINE).toBe(2);
      // A fetch that was under way while it lost partitions may have brought it their records, too.
      await expect.poll(() => one.read.length, DEADLINE).toBeGreaterThanOrEqual(2);
      const partitions = [...one.read, ...two.read].map(({ partition }) => partition);
      expect(new Set(partitions)).toEqual(new Set([0, 1, 2, 3]));
      await commit(one);
      await commit(two);
      await close(two.consumer);
      await expect.poll(() => assigned(one), DEADLINE).toEqual([0, 1, 2, 3]);
      await close(one.consumer);
      await send('second');
      const next = await join(groupId, topic);
      await expect.poll(() => next.read.length, DEADLINE).toBe(4);
      expect(next.read.map(({ value }) => value)).toEqual(Array(4).fill('second'));
    });

    it('commits and aborts transactions, with the offsets of a group', async () => {
      const [input, output] = [await newTopic(), await newTopic()];
      const groupId = unique('group');
      await newProducer().send({ messages: [{ topic: input, value: 'x' }] });
      const member = await join(groupId, input);
      await expect.poll(() => member.read.length, DEADLINE).toBe(1);
      const producer = newProducer({ idempotent: true, transactionalId: unique('id') });
      const run = async (end: 'commit' | 'abort'): Promise<void> => {
        const transaction = await producer.beginTransaction();
        await transaction.addConsumer(member.consumer);
        await transaction.send({ messages: [{ topic: output, value: end }] });
        await transaction.addOffset(member.read[0] as StringMessage);
        await transaction[end]();
      };
      const committed = async (): Promise<unknown> => {
        const [group] = await admin.listConsumerGroupOffsets({
          groups: [{ groupId, topics: [{ name: input, partitionIndexes: [0] }] }],
          requireStable: true,
        });
        return group?.topics[0]?.partitions[0]?.committedOffset;
      };
      await run('abort');
      expect(await committed()).toBe(-1n);
      await run('commit');
      expect(await committed()).toBe(1n);
      const { read } = await join(unique('group'), output);
      await expect.poll(() => read.map(({ value }) => value), DEADLINE).toEqual(['commit']);
    });

    it('administers topics, records and groups', async () => {
      const topic = unique('topic');
      const [created] = await admin.createTopics({
        topics: [topic],
        partitions: 2,
        replicas: 1,
        configs: [{ name: 'retention.ms', value: '5000' }],
      });
      expect(created).toMatchObject({ name: topic, partitions: 2, replicas: 1 });
      expect(created?.configuration['retention.ms']).toBe('5000');
      expect(await admin.listTopics()).toContain(topic);
      await admin.createPartitions({
        topics: [{ name: topic, count: 3, assignments: [{ brokerIds: [1] }] }],
      });
      await expect
        .poll(async () => {
          const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true });
          return topics.get(topic)?.partitionsCount;
        }, DEADLINE)
        .toBe(3);

      const producer = newProducer();
      await producer.send({
        messages: ['a', 'b', 'c'].map((value) => ({ topic, partition: 0, value })),
      });
      await admin.deleteRecords({
        topics: [{ name: topic, partitions: [{ partition: 0, offset: 2n }] }],
      });
      const listed = await admin.listOffsets({
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -2n }] }],
      });
      expect(listed[0]?.partitions[0]?.offset).toBe(2n);

      const groupId = unique('group');
      const member = await join(groupId, topic);
      await expect.poll(() => member.read.length, DEADLINE).toBe(1);
      await commit(member);
      expect((await admin.listGroups()).get(groupId)).toMatchObject({ protocolType: 'consumer' });
      const described = (await admin.describeGroups({ groups: [groupId] })).get(groupId);
      expect(described).toMatchObject({ state: 'STABLE', protocol: 'roundrobin' });
      expect(described?.members.size).toBe(1);
      await close(member.consumer);
      const [offsets] = await admin.listConsumerGroupOffsets({ groups: [groupId] });
      expect(offsets?.topics).toMatchObject([
        { name: topic, partitions: [{ partitionIndex: 0, committedOffset: 3n }] },
      ]);
      await admin.deleteGroups({ groups: [groupId] });
      expect((await admin.listGroups()).has(groupId)).toBe(false);
      await admin.deleteTopics({ topics: [topic] });
      await expect.poll(() => admin.listTopics(), DEADLINE).not.toContain(topic);
    });
  },
  { 'offsets.topic.num.partitions': '3', 'transaction.state.log.num.partitions': '3' },
);
