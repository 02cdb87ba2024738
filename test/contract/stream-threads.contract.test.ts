/** Groups of stream threads on both brokers: who joins, who leaves, and what the others notice of it. */
import {
  ApplicationShutdownError,
  AssignmentVersionError,
  ProcessingError,
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type KafkaStreams,
  type KafkaStreamsOptions,
  type StreamsConfigInput,
} from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';

const text = serdes.string();
const PARTITIONS = 4;
const POLL = { timeout: 30_000, interval: 100 };
const TEST_MS = 60_000;
const POISON = 'poison';

describeOnBothBrokers('the stream threads of an application', (broker) => {
  const apps = applicationsOn(broker);

  const createTopics = (name: string): Promise<void> =>
    apps.createTopics([`${name}-in`, `${name}-out`], PARTITIONS);

  /** Counts by key. */
  function start(
    name: string,
    config: StreamsConfigInput = {},
    options?: KafkaStreamsOptions,
  ): Promise<KafkaStreams> {
    const builder = new StreamsBuilder();
    builder
      .stream(`${name}-in`, { key: text, value: text })
      .peek((_key, value) => {
        if (value === POISON) throw new Error('poisoned');
      })
      .groupByKey({ key: text, value: text })
      .count({ store: 'counts' })
      .toStream()
      .to(`${name}-out`, { key: text, value: serdes.long() });
    const common = {
      'application.id': name,
      'dsl.store.suppliers.class': 'inMemory',
      'statestore.cache.max.bytes': 0,
      'commit.interval.ms': 200,
      'linger.ms': 5,
      'heartbeat.interval.ms': 300,
    };
    return apps.start(builder.build(), { ...common, ...config }, options);
  }

  /** Two instances that share the tasks; if one fails all are to stop. */
  async function startTwo(
    name: string,
    configs: readonly StreamsConfigInput[],
    common: StreamsConfigInput = {},
  ): Promise<[KafkaStreams, KafkaStreams]> {
    const uncaughtExceptionHandler = (): 'shutdown-application' => 'shutdown-application';
    const options: KafkaStreamsOptions = { uncaughtExceptionHandler };
    const first = await start(name, { ...common, ...configs[0] }, options);
    const second = await start(name, { ...common, ...configs[1] }, options);
    await expect
      .poll(() => [first.state, second.state, ...taskCounts(first), ...taskCounts(second)], POLL)
      .toEqual(['RUNNING', 'RUNNING', 2, 2]);
    return [first, second];
  }

  async function poison(name: string): Promise<void> {
    const topic = `${name}-in`;
    const writer = await TopicWriter.open(apps.client, { topic, key: text, value: text });
    writer.send('key', POISON, { timestamp: Date.now() });
    await writer.close();
  }

  async function write(name: string, count: number): Promise<void> {
    const writer = await TopicWriter.open(apps.client, {
      topic: `${name}-in`,
      key: text,
      value: text,
    });
    for (let i = 0; i < count; i++) {
      writer.send(`key-${String(i % 20)}`, String(i), { timestamp: Date.now() });
    }
    await writer.close();
  }

  /** How often each count came out, by count; with each record counted once all are equal. */
  async function counted(name: string): Promise<number[]> {
    const counts: number[] = [];
    const topic = `${name}-out`;
    for await (const some of readTopic(apps.client, { topic, key: text, value: serdes.long() })) {
      for (const { value } of some) counts.push(value ?? 0);
    }
    return counts.sort((a, b) => a - b);
  }

  const expected = (perKey: number): number[] =>
    Array.from({ length: 20 * perKey }, (_, i) => Math.floor(i / 20) + 1);

  const taskCounts = (streams: KafkaStreams): number[] =>
    streams.threads().map(({ tasks }) => tasks.length);

  it(
    'come and go while it runs, without loss or repetition, and pause',
    async () => {
      const name = unique('threads');
      await createTopics(name);
      const streams = await start(name, { 'processing.guarantee': 'exactly_once_v2' });
      await expect.poll(() => streams.state, POLL).toBe('RUNNING');
      await write(name, 20);
      streams.addStreamThread();
      streams.addStreamThread();
      await write(name, 20);
      await expect.poll(() => taskCounts(streams).sort(), POLL).toEqual([1, 1, 2]);
      await write(name, 20);
      expect(await streams.removeStreamThread()).toMatch(/-StreamThread-3$/);
      await write(name, 20);
      await expect.poll(() => taskCounts(streams), POLL).toEqual([2, 2]);
      await expect.poll(() => streams.state, POLL).toBe('RUNNING');
      await expect.poll(() => counted(name), POLL).toEqual(expected(4));

      streams.pause();
      await write(name, 20);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(await counted(name)).toEqual(expected(4));
      streams.resume();
      await expect.poll(() => counted(name), POLL).toEqual(expected(5));
    },
    TEST_MS,
  );

  it(
    'keep their tasks over a restart if they are static, and nobody else notices',
    async () => {
      const name = unique('static');
      await createTopics(name);
      const withId = (id: string): StreamsConfigInput => ({
        'group.instance.id': id,
        'session.timeout.ms': 30_000,
      });
      const stays = await start(name, withId('stays'));
      const restarts = await start(name, withId('restarts'));
      await expect.poll(() => [taskCounts(stays), taskCounts(restarts)], POLL).toEqual([[2], [2]]);
      await expect.poll(() => stays.state, POLL).toBe('RUNNING');
      const states: string[] = [];
      const watch = stays.state$.subscribe(({ state }) => states.push(state));
      const tasks = (streams: KafkaStreams): string[] =>
        streams.threads().flatMap((thread) => thread.tasks.map(({ taskId }) => taskId));
      const before = tasks(restarts);
      await restarts.close();
      await write(name, 20);
      const again = await start(name, withId('restarts'));
      await expect.poll(() => counted(name), POLL).toEqual(expected(1));
      expect(tasks(again)).toEqual(before);
      expect(states).toEqual(['RUNNING']);
      watch.unsubscribe();

      // Removed for good, it leaves at once, and its tasks are the other one's.
      await again.removeStreamThread();
      await expect.poll(() => taskCounts(stays), POLL).toEqual([PARTITIONS]);
    },
    TEST_MS,
  );

  it.each(['at_least_once', 'exactly_once_v2'])(
    'all stop when the handler of one of them says so (%s)',
    async (guarantee) => {
      const name = unique('stopped');
      await createTopics(name);
      const common = { 'processing.guarantee': guarantee };
      const [first, second] = await startTwo(name, [{}, {}], common);
      await poison(name);
      await expect.poll(() => [first.state, second.state], POLL).toEqual(['ERROR', 'ERROR']);
      const failures = [first.failure, second.failure];
      // One alone: the other one is told before it could be given what made the first one fail.
      expect(failures.filter((failure) => failure instanceof ProcessingError)).toHaveLength(1);
      const told = failures.find((failure) => failure instanceof ApplicationShutdownError);
      expect(told?.message).toContain('poisoned');
      const group = await apps.client.cluster(10_000).groups.describe(name);
      expect(group.members).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'run again after they were told to stop, also if they are static',
    async () => {
      const name = unique('again');
      await createTopics(name);
      const ids = ['one', 'two'].map(
        // The broker remembers static members, and what they were told, for as long as this.
        (id): StreamsConfigInput => ({ 'group.instance.id': id, 'session.timeout.ms': 45_000 }),
      );
      const before = await startTwo(name, ids);
      await poison(name);
      await expect.poll(() => before.map(({ state }) => state), POLL).toEqual(['ERROR', 'ERROR']);
      const again = await startTwo(name, ids, { 'processing.exception.handler': 'continue' });
      await write(name, 20);
      await expect.poll(() => counted(name), POLL).toEqual(expected(1));
      expect(again.map(({ state }) => state)).toEqual(['RUNNING', 'RUNNING']);
    },
    TEST_MS,
  );

  it(
    'are refused clearly by a group of other consumers, and refuse these',
    async () => {
      const name = unique('mixed');
      await createTopics(name);
      const kafka = new Kafka({
        clientId: 'other',
        brokers: broker().bootstrapServers.split(','),
        logLevel: logLevel.NOTHING,
      });
      const join = async (retries: number): Promise<ReturnType<typeof kafka.consumer>> => {
        const consumer = kafka.consumer({
          groupId: name,
          // It does not end before its last fetch is answered.
          maxWaitTimeInMs: 100,
          retry: { retries },
        });
        await consumer.connect();
        await consumer.subscribe({ topics: [`${name}-in`] });
        return consumer;
      };
      // Kafka has no coordinator yet for a while.
      const consumer = await join(20);
      const joined = new Promise((resolve) => consumer.on('consumer.group_join', resolve));
      await consumer.run({ eachMessage: () => Promise.resolve() });
      await joined;
      const refused = await start(name);
      await expect.poll(() => refused.state, POLL).toBe('ERROR');
      expect(refused.failure).toBeInstanceOf(AssignmentVersionError);
      expect(refused.failure?.message).toContain(
        `Group ${name} does not let us join: INCONSISTENT_GROUP_PROTOCOL`,
      );
      expect(refused.failure?.message).toContain('give this application another application.id');
      await consumer.disconnect();

      const streams = await start(name);
      await expect.poll(() => streams.state, POLL).toBe('RUNNING');
      const late = await join(0);
      const crashed = new Promise<string>((resolve) =>
        late.on('consumer.crash', ({ payload }) => {
          resolve(payload.error.message);
        }),
      );
      await late.run({ eachMessage: () => Promise.resolve() });
      expect(await crashed).toMatch(/incompatible with those of existing members/);
      await late.disconnect();
      expect(streams.state).toBe('RUNNING');
    },
    TEST_MS,
  );
});
