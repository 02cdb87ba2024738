/**
 * Internal topics that are deleted while their application runs (KAFKA-10357): on brokers that make a
 * missing topic anew when they are asked for it (auto.create.topics.enable, the default of both).
 */
import {
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type KafkaStreams,
  type StreamsConfigInput,
  type StreamsError,
} from '@millrace/runtime';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const text = serdes.string();
const PARTITIONS = 4;
const KEYS = 20;
const POLL = { timeout: 30_000, interval: 100 };
/** A missing topic is waited for, for half a minute. */
const GRACE_POLL = { timeout: 50_000, interval: 200 };
const CLOSED_WITHIN_MS = 10_000;

describeOnBothBrokers('an internal topic that is deleted', (broker) => {
  const apps = applicationsOn(broker);
  let admin: Admin;
  beforeAll(async () => {
    const brokers = broker().bootstrapServers.split(',');
    admin = new Kafka({ clientId: 'deletes', brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  afterAll(() => admin.disconnect());

  const createTopics = (name: string): Promise<void> =>
    apps.createTopics([`${name}-in`, `${name}-out`], PARTITIONS);

  /** Counts by value: through a repartition topic, into a store with a changelog. */
  function start(name: string, config: StreamsConfigInput): Promise<KafkaStreams> {
    const builder = new StreamsBuilder();
    builder
      .stream(`${name}-in`, { key: text, value: text })
      .groupBy((_key, value) => value, { name: 'by-value', key: text, value: text })
      .count({ store: 'counts' })
      .toStream()
      .to(`${name}-out`, { key: text, value: serdes.long() });
    return apps.start(builder.build(), {
      'application.id': name,
      'statestore.cache.max.bytes': 0,
      'commit.interval.ms': 100,
      'linger.ms': 5,
      'heartbeat.interval.ms': 300,
      'state.dir': temporaryDirectory(),
      ...config,
    });
  }

  /** One record of each of the values that are counted. */
  async function write(name: string): Promise<void> {
    const writer = await TopicWriter.open(apps.client, {
      topic: `${name}-in`,
      key: text,
      value: text,
    });
    for (let i = 0; i < KEYS; i++) {
      writer.send(String(i % 3), `value-${String(i)}`, { timestamp: Date.now() });
    }
    await writer.close();
  }

  /** The counts that came out, in order. */
  async function counted(name: string): Promise<number[]> {
    const counts: number[] = [];
    const topic = `${name}-out`;
    for await (const some of readTopic(apps.client, { topic, key: text, value: serdes.long() })) {
      for (const { value } of some) counts.push(value ?? 0);
    }
    return counts.sort((a, b) => a - b);
  }

  const each = (...counts: number[]): number[] =>
    counts.flatMap((count) => Array.from({ length: KEYS }, () => count));

  async function close(...closed: readonly KafkaStreams[]): Promise<void> {
    const startedAt = performance.now();
    await Promise.all(closed.map((streams) => streams.close()));
    expect(performance.now() - startedAt).toBeLessThan(CLOSED_WITHIN_MS);
  }

  const guarantees: readonly StreamsConfigInput[] = [
    { 'processing.guarantee': 'at_least_once', 'dsl.store.suppliers.class': 'inMemory' },
    { 'processing.guarantee': 'exactly_once_v2', 'dsl.store.suppliers.class': 'rocksDB' },
  ];
  const topics = [
    // What was counted is still known.
    { suffix: 'by-value-repartition', countsAfterwards: [1, 2] },
    // It begins anew.
    { suffix: 'counts-changelog', countsAfterwards: [1, 1] },
  ] as const;
  const cases = guarantees.flatMap((config) =>
    topics.map((topic) => ({ ...topic, config, guarantee: config['processing.guarantee'] })),
  );

  it.each(cases)(
    '$suffix, $guarantee: all instances stop at the next rebalance and name it, and a restart goes on',
    async ({ suffix, countsAfterwards, config }) => {
      const name = unique('deleted');
      const topic = `${name}-${suffix}`;
      await createTopics(name);
      const first = await start(name, config);
      await write(name);
      await expect.poll(() => counted(name), POLL).toEqual(each(1));
      await admin.deleteTopics({ topics: [topic] });
      const second = await start(name, config);
      await expect.poll(() => [first.state, second.state], POLL).toEqual(['ERROR', 'ERROR']);
      // The leader looked for it, or the one that had used it met it first and has told the other.
      for (const { failure } of [first, second]) {
        expect(['TOPIC_MISCONFIGURED', 'TOPIC_MISSING', 'APPLICATION_SHUTDOWN']).toContain(
          (failure as StreamsError).code,
        );
        expect(failure?.message).toContain(topic);
      }
      expect((first.failure as StreamsError).code).not.toBe('APPLICATION_SHUTDOWN');
      expect(await apps.client.admin().listTopics()).not.toContain(topic);
      await close(first, second);
      expect(await counted(name)).toEqual(each(1));

      const again = await start(name, config);
      await expect.poll(() => again.state, POLL).toBe('RUNNING');
      await write(name);
      await expect.poll(() => counted(name), POLL).toEqual(each(...countsAfterwards));
      const described = await apps.client.admin().describeTopics([topic]);
      expect(described.get(topic)?.partitionCount).toBe(PARTITIONS);
      await close(again);
    },
    90_000,
  );

  it('and made anew by somebody else ends the application, too', async () => {
    const name = unique('anew');
    const topic = `${name}-by-value-repartition`;
    await createTopics(name);
    const streams = await start(name, {});
    await write(name);
    await expect.poll(() => counted(name), POLL).toEqual(each(1));
    await admin.deleteTopics({ topics: [topic] });
    await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS }] });
    await expect.poll(() => streams.state, POLL).toBe('ERROR');
    expect((streams.failure as StreamsError).code).toBe('TOPIC_MISSING');
    expect(streams.failure?.message).toContain(`Internal topic ${topic} was deleted and made anew`);
    await close(streams);
  }, 60_000);

  it('is not made anew by who writes to it or reads from it: without a rebalance the application stops, too', async () => {
    await Promise.all(
      cases.map(async ({ suffix, config }) => {
        const name = unique('gone');
        const topic = `${name}-${suffix}`;
        await createTopics(name);
        const streams = await start(name, config);
        await write(name);
        await expect.poll(() => counted(name), POLL).toEqual(each(1));
        await admin.deleteTopics({ topics: [topic] });
        await write(name);
        const what = `${suffix}, ${String(config['processing.guarantee'])}`;
        await expect.poll(() => `${what}: ${streams.state}`, GRACE_POLL).toBe(`${what}: ERROR`);
        const failure = streams.failure as StreamsError;
        expect(failure.message).toContain(topic);
        expect(failure.code).toBe('TOPIC_MISSING');
        expect(await apps.client.admin().listTopics()).not.toContain(topic);
        await close(streams);
      }),
    );
  }, 120_000);
});
