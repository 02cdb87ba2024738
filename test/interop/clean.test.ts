/** `millrace clean` on a real Kafka's log directory, between a kill -9 of it and its next start. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { missingForJava } from '../support/kafka/jars.ts';
import { startKafka, type RunningKafka } from '../support/kafka/start-kafka.ts';

const TOPIC = 'compacted';
const KEYS = 50;
const RECORDS = 500;
const CHECKPOINT_MS = 200;
const missing = missingForJava();
const title = "a real Kafka's log directory";

function digestOf(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(directory, name)))
        .digest('hex'),
    ]),
  );
}

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  let kafka: RunningKafka;
  let client: Kafka;

  beforeAll(async () => {
    const config = {
      'log.cleaner.backoff.ms': '3600000',
      'replica.high.watermark.checkpoint.interval.ms': String(CHECKPOINT_MS),
    };
    kafka = await startKafka({ config });
    client = new Kafka({ brokers: [kafka.bootstrapServers], logLevel: logLevel.NOTHING });
  }, 120_000);

  afterAll(() => kafka.close());

  async function produce(from: number, to: number): Promise<void> {
    const producer = client.producer({ idempotent: true });
    await producer.connect();
    for (let i = from; i < to; i++) {
      const messages = [
        { key: `k${String(i % KEYS)}`, value: `${String(i)} ${'x'.repeat(10_000)}` },
      ];
      await producer.send({ topic: TOPIC, messages });
    }
    await producer.disconnect();
  }

  /** The last value of every key, and how many records there were, up to `end`. */
  async function consume(end: number): Promise<{ table: Map<string, string>; count: number }> {
    const consumer = client.consumer({
      groupId: `g${String(Math.random())}`,
      maxWaitTimeInMs: 100,
    });
    await consumer.connect();
    await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
    const table = new Map<string, string>();
    let count = 0;
    await new Promise<void>((resolve, reject) => {
      const eachMessage = ({
        message,
      }: {
        message: { key: Buffer | null; value: Buffer | null; offset: string };
      }): Promise<void> => {
        count++;
        table.set(message.key?.toString() ?? '', message.value?.toString().split(' ')[0] ?? '');
        if (Number(message.offset) === end - 1) resolve();
        return Promise.resolve();
      };
      consumer.run({ eachMessage }).catch(reject);
    });
    await consumer.disconnect();
    return { table, count };
  }

  it(
    'is refused while Kafka runs, is cleaned after a kill, and Kafka goes on with it',
    { timeout: 120_000 },
    async () => {
      const admin = client.admin();
      await admin.connect();
      const configEntries = Object.entries({
        'cleanup.policy': 'compact',
        'segment.bytes': '1048576',
      }).map(([name, value]) => ({ name, value }));
      await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 1, configEntries }] });
      await admin.disconnect();
      await produce(0, RECORDS);
      const before = await consume(RECORDS);
      expect(before.count).toBe(RECORDS);

      const dir = kafka.dataDir(1);
      const running = await runHere(['clean', '--dir', dir, '--dry-run']);
      expect(running.code).toBe(1);
      expect(running.err).toMatch(new RegExp(`is locked by process ${String(kafka.pid(1))}`));

      await sleep(5 * CHECKPOINT_MS);
      await kafka.kill(1);
      const metadata = digestOf(join(dir, '__cluster_metadata-0'));
      const ids = readFileSync(join(dir, 'meta.properties'), 'utf8');
      const args = ['clean', '--dir', dir, '--config', 'cleanup.policy=compact', TOPIC];
      const rehearsed = await runHere([...args, '--dry-run', '--json']);
      expect({ code: rehearsed.code, err: rehearsed.err }).toMatchObject({ code: 0 });
      const told = JSON.parse(rehearsed.out) as { wouldRemove: { records: number } };
      expect(told.wouldRemove.records).toBeGreaterThan(RECORDS / 2);
      const cleaned = await runHere([...args, '--json']);
      expect(cleaned.code).toBe(0);
      expect(JSON.parse(cleaned.out)).toMatchObject({ cleaned: { passes: 1 }, error: null });
      expect(digestOf(join(dir, '__cluster_metadata-0'))).toEqual(metadata);
      expect(readFileSync(join(dir, 'meta.properties'), 'utf8')).toBe(ids);
      const dump = await runHere(['dump-log', join(dir, `${TOPIC}-0`), '--verify', '--damage']);
      expect({ code: dump.code, err: dump.err }).toEqual({ code: 0, err: '' });

      await kafka.restart(1);
      const after = await consume(RECORDS);
      expect(after.table).toEqual(before.table);
      expect(after.count).toBe(RECORDS - told.wouldRemove.records);
      await produce(RECORDS, RECORDS + 1);
      expect((await consume(RECORDS + 1)).table.get('k0')).toBe(String(RECORDS));
    },
  );
});
