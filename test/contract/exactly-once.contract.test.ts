/** Applications that process exactly once, on both brokers, while records fail and instances come and go. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  readTopic,
  serdes,
  StreamsBuilder,
  TimeoutError,
  TopicWriter,
  type KafkaStreams,
} from '@millrace/runtime';
import { expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
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
  const apps = applicationsOn(broker);

  /** Counts by the word behind the key, through a repartition topic; some records fail once. */
  function start(name: string, store: string): Promise<KafkaStreams> {
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
    return apps.start(builder.build(), {
      'application.id': name,
      'processing.guarantee': 'exactly_once_v2',
      'dsl.store.suppliers.class': store,
      'statestore.cache.max.bytes': 0,
      'linger.ms': 5,
      'state.dir': temporaryDirectory(),
    });
  }

  async function written(topic: string): Promise<Map<string, number[]>> {
    const counts = new Map<string, number[]>();
    for await (const some of readTopic(apps.client, { topic, key: text, value: serdes.long() })) {
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
      await apps.createTopics([`${name}-in`, `${name}-out`], PARTITIONS);
      const writer = await TopicWriter.open(apps.client, {
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
        counts = await written(`${name}-out`);
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
