/** Applications that process exactly once, on both brokers, while records fail and instances come and go. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  KafkaStreams,
  readTopic,
  serdes,
  silentLogger,
  StreamsBuilder,
  TimeoutError,
  TopicWriter,
  type StreamsClient,
} from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const text = serdes.string();
const PARTITIONS = 4;
const RECORDS = 20_000;
const KEYS = 500;
/** Each instance fails once on every one of them. */
const FAILING_EVERY = 331;
/** Another instance comes when so many records were sent, and goes after a while, the shortest first. */
const VISITS = new Map([300, 600, 900, 1_200].map((stayMs, i) => [(i + 1) * 4_000, stayMs]));
const DEADLINE_MS = 60_000;

describeOnBothBrokers('exactly once', (broker) => {
  const clients: StreamsClient[] = [];
  const applications: KafkaStreams[] = [];
  afterEach(async () => {
    await Promise.all(applications.splice(0).map((streams) => streams.close()));
    await Promise.all(clients.splice(0).map((client) => client.close(5_000)));
  });

  function open(): StreamsClient {
    const config = { 'bootstrap.servers': broker().bootstrapServers };
    const client = connect(config, { logger: silentLogger() });
    clients.push(client);
    return client;
  }

  /** Counts by the word behind the key, through a repartition topic; some records fail once. */
  async function start(name: string, store: string): Promise<KafkaStreams> {
    const failing = new Set<string>();
    for (let i = 5; i < RECORDS; i += FAILING_EVERY) failing.add(`key-${String(i)}`);
    const builder = new StreamsBuilder();
    builder
      .stream(`${name}-in`, { key: text, value: text })
      .peek((key) => {
        if (failing.delete(key)) throw new TimeoutError('somebody else is slow');
      })
      .selectKey((_key, value) => value)
      .groupByKey({ key: text, value: text })
      .count({ store: 'counts' })
      .toStream()
      .to(`${name}-out`, { key: text, value: serdes.long() });
    const streams = new KafkaStreams(
      builder.build(),
      {
        'bootstrap.servers': broker().bootstrapServers,
        'application.id': name,
        'processing.guarantee': 'exactly_once_v2',
        'dsl.store.suppliers.class': store,
        'statestore.cache.max.bytes': 0,
        'linger.ms': 5,
        'state.dir': temporaryDirectory(),
      },
      { logger: silentLogger() },
    );
    applications.push(streams);
    await streams.start();
    return streams;
  }

  async function written(client: StreamsClient, topic: string): Promise<Map<string, number[]>> {
    const counts = new Map<string, number[]>();
    for await (const some of readTopic(client, { topic, key: text, value: serdes.long() })) {
      for (const { key, value } of some) {
        const word = key ?? '';
        counts.set(word, [...(counts.get(word) ?? []), value ?? 0]);
      }
    }
    return counts;
  }

  it.each(['inMemory', 'persistent'])(
    'counts each record once while records fail and a second instance comes and goes: %s',
    { timeout: 2 * DEADLINE_MS },
    async (store) => {
      const name = unique('once');
      const client = open();
      await client.admin().createTopics(
        ['in', 'out'].map((topic) => ({
          topic: `${name}-${topic}`,
          partitionCount: PARTITIONS,
          replicationFactor: -1,
          config: new Map([['retention.ms', '-1']]),
        })),
      );
      const writer = await TopicWriter.open(client, {
        topic: `${name}-in`,
        key: text,
        value: text,
      });
      const first = await start(name, store);
      for (let i = 0; i < RECORDS; i++) {
        const word = `word-${String((i * 7_919) % KEYS)}`;
        writer.send(`key-${String(i)}`, word, { timestamp: Date.now() });
        const stayMs = VISITS.get(i);
        if (stayMs !== undefined) {
          const second = await start(name, store);
          await sleep(stayMs);
          await second.close();
        }
        if (writer.isFull) await writer.drained();
      }
      await writer.close();

      const deadline = performance.now() + DEADLINE_MS;
      let counts = new Map<string, number[]>();
      let total = 0;
      while (total < RECORDS && performance.now() < deadline) {
        await sleep(200);
        counts = await written(client, `${name}-out`);
        total = [...counts.values()].reduce((sum, { length }) => sum + length, 0);
      }
      expect(first.state).toBe('RUNNING');
      const each = Array.from({ length: RECORDS / KEYS }, (_, i) => i + 1);
      expect(counts.size).toBe(KEYS);
      const wrong = [...counts].filter(([, found]) => found.join() !== each.join());
      expect(wrong).toEqual([]);
    },
  );
});
