/** Debian's kcat, which is librdkafka, as a client of the embedded broker and of Kafka 4.4. */
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { Kcat, type KcatRecord, missingForKcat, runKcat } from '../support/kcat.ts';
import { storedBatches } from './stored-batches.ts';

const DEADLINE = { timeout: 15_000, interval: 50 };
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
const SESSION_TIMEOUT_MS = '1000';
const missing = missingForKcat();
const config = {
  'group.min.session.timeout.ms': SESSION_TIMEOUT_MS,
  'offsets.topic.num.partitions': '3',
  'transaction.state.log.num.partitions': '3',
};
const name = missing === null ? 'kcat' : `kcat (${missing})`;

describeOnBothBrokers(
  name,
  (broker) => {
    const test = it.skipIf(missing !== null);
    let admin: Admin;
    const started: Kcat[] = [];

    beforeAll(async () => {
      admin = new Kafka({
        brokers: [broker().bootstrapServers],
        logLevel: logLevel.NOTHING,
      }).admin();
      await admin.connect();
    });
    afterEach(async () => {
      await Promise.all(started.splice(0).map((member) => member.stop()));
    });
    afterAll(() => admin.disconnect());

    const kcat = (args: readonly string[], input = ''): Promise<Kcat> =>
      runKcat(broker().bootstrapServers, args, input);

    async function newTopic(numPartitions = 1): Promise<string> {
      const topic = unique('topic');
      await admin.createTopics({ topics: [{ topic, numPartitions }] });
      return topic;
    }

    async function readAll(topic: string, ...args: string[]): Promise<readonly KcatRecord[]> {
      const run = await kcat(['-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-J', ...args]);
      return run.records;
    }

    /** A member of a group; it says which partitions it has, and what it reads. */
    function join(groupId: string, topic: string, ...args: string[]): Kcat {
      const member = new Kcat(broker().bootstrapServers, [
        ...['-G', groupId, topic, '-J', '-u'],
        ...['-X', 'auto.offset.reset=earliest', '-X', 'heartbeat.interval.ms=200'],
        ...['-X', `session.timeout.ms=${SESSION_TIMEOUT_MS}`],
        // Else it does not look at what the broker says of rebalances for so long.
        ...['-X', 'fetch.wait.max.ms=100', ...args],
      ]);
      started.push(member);
      return member;
    }

    const produce = (topic: string, values: readonly string[], ...args: string[]): Promise<Kcat> =>
      kcat(['-P', '-t', topic, ...args], `${values.join('\n')}\n`);

    test.each(CODECS)('produces and consumes with headers and nulls: %s', async (codec) => {
      const topic = await newTopic();
      // Else librdkafka keeps a batch uncompressed that compression has made larger.
      const long = 'v'.repeat(1_000);
      await kcat(
        [
          ...['-P', '-t', topic, '-z', codec, '-K', ':', '-Z', '-X', 'linger.ms=100'],
          ...['-H', 'a=1', '-H', 'a=2', '-H', 'null', '-H', 'empty='],
        ],
        `key:${long}\nno value:\n:no key\n`,
      );
      const headers = ['a', '1', 'a', '2', 'null', null, 'empty', ''];
      expect(await readAll(topic)).toMatchObject([
        { partition: 0, offset: 0, tstype: 'create', key: 'key', payload: long, headers },
        { offset: 1, key: 'no value', payload: null, headers },
        { offset: 2, key: null, payload: 'no key', headers },
      ]);
      expect(storedBatches(broker().dataDir, `${topic}-0`)).toMatchObject([
        { codec, recordCount: 3 },
      ]);
    });

    test('produces idempotently, and to the partition that it is told', async () => {
      const topic = await newTopic(2);
      const values = Array.from({ length: 1_000 }, (_, index) => String(index));
      await produce(topic, values, '-p', '1', '-X', 'enable.idempotence=true');
      const records = await readAll(topic);
      expect(records.map(({ payload }) => payload)).toEqual(values);
      expect(records.at(-1)).toMatchObject({ partition: 1, offset: 999 });
      const [batch] = storedBatches(broker().dataDir, `${topic}-1`);
      expect(batch).toMatchObject({ isIdempotent: true, isTransactional: false });
    });

    test('creates a topic by producing to it, lists it, and finds offsets by time', async () => {
      const topic = unique('made');
      await produce(topic, ['a', 'b']);
      const [listed] = (await kcat(['-L', '-J', '-t', topic])).lines;
      expect(JSON.parse(listed as string)).toMatchObject({
        controllerid: 1,
        brokers: [{ id: 1, name: broker().bootstrapServers }],
        topics: [{ topic, partitions: [{ partition: 0, leader: 1, isrs: [{ id: 1 }] }] }],
      });
      const offsetAt = async (timestamp: string): Promise<readonly string[]> =>
        (await kcat(['-Q', '-t', `${topic}:0:${timestamp}`])).lines;
      expect(await offsetAt('1')).toEqual([`${topic} [0] offset 0`]);
      expect(await offsetAt('-1')).toEqual([`${topic} [0] offset 2`]);
    });

    test.each(['range', 'cooperative-sticky'])(
      'shares a topic in a group: %s',
      async (assignor) => {
        const topic = await newTopic(4);
        const groupId = unique('group');
        const strategy = ['-X', `partition.assignment.strategy=${assignor}`];
        const one = join(groupId, topic, ...strategy);
        await expect.poll(() => one.assignment, DEADLINE).toEqual(['0', '1', '2', '3']);
        const two = join(groupId, topic, ...strategy);
        await expect.poll(() => two.assignment.length, DEADLINE).toBe(2);
        await Promise.all(
          [0, 1, 2, 3].map((partition) =>
            produce(topic, [`a${partition}`, `b${partition}`], '-p', String(partition)),
          ),
        );
        await expect.poll(() => one.records.length, DEADLINE).toBe(4);
        await expect.poll(() => two.records.length, DEADLINE).toBe(4);
        const { groups } = await admin.describeGroups([groupId]);
        expect(groups[0]).toMatchObject({ state: 'Stable', protocol: assignor });
        expect(groups[0]?.members).toHaveLength(2);

        // It commits when it leaves, and another goes on there.
        await two.stop();
        await expect
          .poll(async () => (await admin.describeGroups([groupId])).groups[0]?.members.length)
          .toBe(1);
        await one.stop();
        await produce(topic, ['later'], '-p', '2');
        const next = join(groupId, topic, ...strategy);
        await expect.poll(() => next.records, DEADLINE).toMatchObject([{ payload: 'later' }]);
        expect(
          (await admin.fetchOffsets({ groupId, topics: [topic] }))[0]?.partitions,
        ).toHaveLength(4);
      },
    );

    test('157: reads on, and misses nothing, while members come and go and commits fail', async () => {
      const topic = await newTopic(4);
      const groupId = unique('group');
      const commitAllTheTime = ['-X', 'auto.commit.interval.ms=10'];
      const one = join(groupId, topic, ...commitAllTheTime);
      await expect.poll(() => one.assignment.length, DEADLINE).toBe(4);
      const producer = new Kcat(broker().bootstrapServers, ['-P', '-t', topic, '-p', '-1']);
      let sent = 0;
      const feeding = setInterval(() => {
        for (let i = 0; i < 5; i++) producer.write(`${sent++}\n`);
      }, 10);
      for (let round = 0; round < 2; round++) {
        const other = join(groupId, topic, ...commitAllTheTime);
        await expect.poll(() => other.records.length, DEADLINE).toBeGreaterThan(0);
        await other.stop();
        const soFar = one.records.length;
        await expect.poll(() => one.records.length, DEADLINE).toBeGreaterThan(soFar);
      }
      clearInterval(feeding);
      await producer.finish();
      const read = (): number =>
        new Set(started.flatMap((member) => member.records.map(({ payload }) => payload))).size;
      await expect.poll(read, DEADLINE).toBe(sent);
    });

    test('163: takes over from a member that has died, when its session is over', async () => {
      const topic = await newTopic(2);
      const groupId = unique('group');
      const one = join(groupId, topic);
      await expect.poll(() => one.assignment, DEADLINE).toEqual(['0', '1']);
      const two = join(groupId, topic);
      await expect.poll(() => two.assignment.length, DEADLINE).toBe(1);
      two.signal('SIGKILL');
      await expect.poll(() => one.assignment, DEADLINE).toEqual(['0', '1']);
    });

    test('commits a transaction with the end of its input, and aborts it when it is stopped', async () => {
      const topic = await newTopic();
      const transactional = ['-X', `transactional.id=${unique('id')}`, '-X', 'linger.ms=0'];
      await produce(topic, ['one', 'two'], ...transactional);
      const stopped = new Kcat(broker().bootstrapServers, ['-P', '-t', topic, ...transactional]);
      started.push(stopped);
      // It reads its input by the kilobyte.
      stopped.write('aborted\n'.repeat(1_000));
      const uncommitted = (): Promise<readonly KcatRecord[]> =>
        readAll(topic, '-X', 'isolation.level=read_uncommitted');
      await expect.poll(async () => (await uncommitted()).length, DEADLINE).toBeGreaterThan(2);
      await stopped.stop();
      await produce(topic, ['three'], ...transactional);
      const values = (await readAll(topic)).map(({ payload }) => payload);
      expect(values).toEqual(['one', 'two', 'three']);
      expect((await uncommitted()).map(({ payload }) => payload)).toContain('aborted');
      expect(storedBatches(broker().dataDir, `${topic}-0`)).toContainEqual(
        expect.objectContaining({ isTransactional: true }),
      );
    });

    test('143: reads a record that is larger than its limits', async () => {
      const topic = await newTopic();
      const large = 'x'.repeat(50_000);
      await produce(topic, [large, 'small']);
      const limits = ['-X', 'fetch.message.max.bytes=1000', '-X', 'fetch.max.bytes=1000'];
      const records = await readAll(topic, ...limits, '-X', 'message.max.bytes=1000');
      expect(records.map(({ payload }) => payload)).toEqual([large, 'small']);
    });
  },
  config,
);
