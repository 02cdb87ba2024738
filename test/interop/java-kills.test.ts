/** Kafka's own Java clients while the embedded broker is killed under them and comes back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { missingForJava } from '../support/kafka/jars.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { JavaClients } from './java-clients.ts';

const DEADLINE = { timeout: 15_000, interval: 50 };
const missing = missingForJava();
const title = 'Java clients over kill -9 of the broker';

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  let broker: BrokerProcess;
  let java: JavaClients;

  beforeAll(async () => {
    broker = await BrokerProcess.start({ dataDir: temporaryDirectory() });
    java = new JavaClients(broker.bootstrapServers);
  }, 60_000);

  afterAll(async () => {
    await java.close();
    await broker.close();
  }, 60_000);

  async function killAndRestart(): Promise<void> {
    await broker.kill();
    await broker.restart();
  }

  it('an idempotent producer loses, repeats and reorders nothing', async () => {
    const topic = 'idempotent';
    await java.admin('createTopic', { topic });
    const producer = await java.producer();
    await producer.startStretch(topic);
    for (let round = 0; round < 3; round++) {
      const before = await producer.acknowledged();
      await expect.poll(() => producer.acknowledged(), DEADLINE).toBeGreaterThan(before + 200);
      await killAndRestart();
    }
    const { sent, failures } = await producer.endStretch();
    await producer.close();
    expect(failures).toEqual([]);
    const consumer = await java.consumer();
    await consumer.assign(`${topic}-0`);
    const records = await consumer.records(sent);
    await consumer.close();
    expect(records.map(({ value }) => Number(value))).toEqual(
      Array.from({ length: sent }, (_, index) => index),
    );
  }, 60_000);

  it('an open transaction can be committed, or aborted', async () => {
    const topic = 'transactional';
    await java.admin('createTopic', { topic });
    const producer = await java.producer({ 'transactional.id': 'over-kills' });
    await producer.initTransactions();
    const send = (value: string): Promise<unknown> => producer.send([{ topic, value }]);
    for (const end of ['commit', 'abort'] as const) {
      await producer.begin();
      await send(`before the kill, then ${end}`);
      await killAndRestart();
      await send(`after the kill, then ${end}`);
      await producer[end]();
    }
    await producer.begin();
    await send('last');
    await producer.commit();
    await producer.close();
    const consumer = await java.consumer({ 'isolation.level': 'read_committed' });
    await consumer.assign(`${topic}-0`);
    const records = await consumer.records(3);
    await consumer.close();
    expect(records.map(({ value }) => value)).toEqual([
      'before the kill, then commit',
      'after the kill, then commit',
      'last',
    ]);
  }, 60_000);

  it('a group keeps its members, its generation and its offsets', async () => {
    const topic = 'grouped';
    await java.admin('createTopic', { topic, partitions: 2 });
    const producer = await java.producer();
    const send = (value: string): Promise<unknown> =>
      producer.send([0, 1].map((partition) => ({ topic, partition, value })));
    const consumer = await java.consumer({
      'group.id': 'over-kills',
      // When no broker is there it else forgets all topics and joins again because it knows them again.
      'metadata.recovery.strategy': 'none',
    });
    await consumer.subscribe(topic);
    await send('before');
    expect(await consumer.records(2)).toHaveLength(2);
    await consumer.commit();
    const group = await consumer.group();
    await killAndRestart();
    await send('after');
    const records = await consumer.records(2);
    expect(records.map(({ value }) => value)).toEqual(['after', 'after']);
    const partitions = [`${topic}-0`, `${topic}-1`];
    expect(await consumer.committed(...partitions)).toEqual(
      Object.fromEntries(partitions.map((partition) => [partition, 1])),
    );
    await expect.poll(() => consumer.group(), DEADLINE).toEqual(group);
    await consumer.commit();
    await consumer.close();
    await producer.close();
  }, 60_000);
});
