/** kafkajs 2.2.4 as it is: its transactional producer, and its consumer, which reads committed records. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, type Admin, type Consumer, type Producer } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from './embedded-broker.ts';
import { startBroker } from './start-broker.ts';

const config = {
  'offsets.topic.num.partitions': 3,
  'transaction.state.log.num.partitions': 3,
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': 100,
};

let root: string;
let broker: EmbeddedBroker;
let kafka: Kafka;
let admin: Admin;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kafkajs-transactions-'));
  broker = await startBroker({ inProcess: true, dataDir: join(root, 'data'), config });
  kafka = clientOf(broker);
  admin = kafka.admin();
  await admin.connect();
});

afterAll(async () => {
  await admin.disconnect();
  await broker.close();
  rmSync(root, { recursive: true, force: true });
});

function clientOf({ bootstrapServers }: EmbeddedBroker): Kafka {
  return new Kafka({
    clientId: 'test',
    brokers: [bootstrapServers],
    logLevel: logLevel.NOTHING,
    retry: { retries: 5, initialRetryTime: 20 },
  });
}

async function producerOf(
  transactionalId: string,
  client = kafka,
  transactionTimeout = 60_000,
): Promise<Producer> {
  const producer = client.producer({
    transactionalId,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout,
  });
  await producer.connect();
  return producer;
}

/** Collects what a consumer sees; the list grows as records come. */
async function reader(
  topic: string,
  groupId: string,
  readUncommitted = false,
  client = kafka,
): Promise<{ readonly seen: string[]; readonly consumer: Consumer }> {
  const consumer = client.consumer({ groupId, readUncommitted, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const seen: string[] = [];
  await consumer.run({
    eachMessage: ({ message }) => {
      seen.push(String(message.value));
      return Promise.resolve();
    },
  });
  return { seen, consumer };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (await condition()) return;
    await sleep(20);
  }
  throw new Error('it did not come about');
}

const message = (value: string) => ({ value });

describe('kafkajs', () => {
  it('commits and aborts over several topics; readers of committed records see whole transactions', async () => {
    await admin.createTopics({ topics: [{ topic: 'one', numPartitions: 2 }, { topic: 'two' }] });
    const producer = await producerOf('writer');
    const committed = await reader('one', 'committed');
    const uncommitted = await reader('one', 'uncommitted', true);
    for (const [round, isCommit] of [true, false, false, true, true].entries()) {
      const transaction = await producer.transaction();
      await transaction.send({
        topic: 'one',
        messages: [
          { partition: 0, value: `${round}a` },
          { partition: 1, value: `${round}b` },
        ],
      });
      await transaction.send({ topic: 'two', messages: [message(`${round}c`)] });
      await until(() => uncommitted.seen.includes(`${round}b`));
      expect(committed.seen).not.toContain(`${round}a`);
      await (isCommit ? transaction.commit() : transaction.abort());
    }
    await until(() => committed.seen.length >= 6);
    await until(() => uncommitted.seen.length >= 10);
    expect(committed.seen.sort()).toEqual(['0a', '0b', '3a', '3b', '4a', '4b']);
    await committed.consumer.disconnect();
    await uncommitted.consumer.disconnect();
    const other = await reader('two', 'other');
    await until(() => other.seen.length >= 3);
    expect(other.seen).toEqual(['0c', '3c', '4c']);
    await other.consumer.disconnect();
    await producer.disconnect();
  });

  it('shows nothing of a slow abort, twenty times (streamnative/kop 1283)', async () => {
    const topic = 'slow-aborts';
    await admin.createTopics({ topics: [{ topic }] });
    const producer = await producerOf('slow');
    const { seen, consumer } = await reader(topic, 'slow-readers');
    for (let i = 0; i < 20; i++) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [message(`aborted ${i}`)] });
      await sleep(20);
      await transaction.abort();
    }
    const last = await producer.transaction();
    await last.send({ topic, messages: [message('committed')] });
    await last.commit();
    await until(() => seen.length > 0);
    expect(seen).toEqual(['committed']);
    await consumer.disconnect();
    await producer.disconnect();
  });

  it('sends its offsets with the transaction, and empty ones end too (kafkajs 1388)', async () => {
    const [input, output] = ['numbers', 'doubled'];
    await admin.createTopics({ topics: [{ topic: input }, { topic: output }] });
    const source = kafka.producer();
    await source.connect();
    await source.send({ topic: input, messages: [1, 2, 3, 4].map((n) => message(String(n))) });
    const producer = await producerOf('doubler');
    const committedOffset = async (): Promise<string | undefined> => {
      const [found] = await admin.fetchOffsets({ groupId: 'doublers', topics: [input] });
      return found?.partitions[0]?.offset;
    };
    const read = async (upTo: number, isCommit: boolean): Promise<void> => {
      const consumer = kafka.consumer({ groupId: 'doublers', maxWaitTimeInMs: 100 });
      await consumer.connect();
      await consumer.subscribe({ topic: input, fromBeginning: true });
      await new Promise<void>((resolve, reject) => {
        consumer
          .run({
            autoCommit: false,
            eachBatchAutoResolve: false,
            eachBatch: async ({ batch }) => {
              const taken = batch.messages.filter(({ offset }) => Number(offset) < upTo);
              if (taken.length === 0) return;
              const transaction = await producer.transaction();
              await transaction.send({
                topic: output,
                messages: taken.map(({ value }) => message(String(Number(value) * 2))),
              });
              await transaction.sendOffsets({
                consumerGroupId: 'doublers',
                topics: [{ topic: input, partitions: [{ partition: 0, offset: String(upTo) }] }],
              });
              await (isCommit ? transaction.commit() : transaction.abort());
              resolve();
            },
          })
          .catch(reject);
      });
      await consumer.disconnect();
    };
    await read(2, true);
    expect(await committedOffset()).toBe('2');
    await read(4, false);
    expect(await committedOffset()).toBe('2');
    await read(4, true);
    expect(await committedOffset()).toBe('4');
    const { seen, consumer } = await reader(output, 'doubled-readers');
    await until(() => seen.length >= 4);
    expect(seen).toEqual(['2', '4', '6', '8']);
    await consumer.disconnect();
    for (const end of ['commit', 'abort'] as const) {
      const transaction = await producer.transaction();
      await transaction[end]();
    }
    await producer.disconnect();
    await source.disconnect();
  });

  it('with the same transactional id takes over, and the former one is fenced (iceberg-kafka-connect 200)', async () => {
    const topic = 'taken-over';
    await admin.createTopics({ topics: [{ topic }] });
    const zombie = await producerOf('same');
    const open = await zombie.transaction();
    await open.send({ topic, messages: [message('zombie')] });
    const successor = await producerOf('same');
    const transaction = await successor.transaction();
    await transaction.send({ topic, messages: [message('successor')] });
    await expect(open.send({ topic, messages: [message('late')] })).rejects.toMatchObject({
      type: 'INVALID_PRODUCER_EPOCH',
    });
    await expect(open.commit()).rejects.toMatchObject({ type: 'INVALID_PRODUCER_EPOCH' });
    await transaction.commit();
    const { seen, consumer } = await reader(topic, 'takeover-readers');
    await until(() => seen.length > 0);
    expect(seen).toEqual(['successor']);
    await consumer.disconnect();
    await zombie.disconnect();
    await successor.disconnect();
  });

  it('that forgets its transaction does not hold up readers beyond its timeout', async () => {
    const topic = 'forgotten';
    await admin.createTopics({ topics: [{ topic }] });
    const forgetful = await producerOf('forgetful', kafka, 300);
    const transaction = await forgetful.transaction();
    await transaction.send({ topic, messages: [message('forgotten')] });
    const plain = kafka.producer();
    await plain.connect();
    await plain.send({ topic, messages: [message('behind it')] });
    const { seen, consumer } = await reader(topic, 'patient');
    await until(() => seen.length > 0);
    expect(seen).toEqual(['behind it']);
    await consumer.disconnect();
    await plain.disconnect();
    await forgetful.disconnect();
  });

  it('finds its open transaction open and its ended ones ended after the broker was killed', async () => {
    const topic = 'killed';
    await admin.createTopics({ topics: [{ topic }] });
    const producer = await producerOf('survivor');
    for (const isCommit of [true, false]) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [message(isCommit ? 'kept' : 'dropped')] });
      await transaction.sendOffsets({
        consumerGroupId: 'survivors',
        topics: [{ topic: 'one', partitions: [{ partition: 0, offset: isCommit ? '1' : '2' }] }],
      });
      await (isCommit ? transaction.commit() : transaction.abort());
    }
    const open = await producer.transaction();
    await open.send({ topic, messages: [message('open')] });
    // What a kill leaves: the files as they are now, with nobody's goodbye.
    const dataDir = join(root, 'killed');
    cpSync(broker.dataDir, dataDir, {
      recursive: true,
      filter: (path) => !path.endsWith('.sock'),
    });
    const second = await startBroker({ inProcess: true, dataDir, config });
    const other = clientOf(second);
    const committed = await reader(topic, 'after', false, other);
    const uncommitted = await reader(topic, 'after-uncommitted', true, other);
    await until(() => uncommitted.seen.length >= 3);
    expect(uncommitted.seen).toEqual(['kept', 'dropped', 'open']);
    expect(committed.seen).toEqual(['kept']);
    const otherAdmin = other.admin();
    await otherAdmin.connect();
    const [offsets] = await otherAdmin.fetchOffsets({ groupId: 'survivors', topics: ['one'] });
    expect(offsets?.partitions.find(({ partition }) => partition === 0)?.offset).toBe('1');
    // Who comes with the same id ends what is open, and goes on.
    const successor = await producerOf('survivor', other);
    const transaction = await successor.transaction();
    await transaction.send({ topic, messages: [message('after')] });
    await transaction.commit();
    await until(() => committed.seen.length >= 2);
    expect(committed.seen).toEqual(['kept', 'after']);
    await committed.consumer.disconnect();
    await uncommitted.consumer.disconnect();
    await successor.disconnect();
    await otherAdmin.disconnect();
    await second.close();
    await open.abort();
    await producer.disconnect();
  });

  it('sends many records at one time under one idempotent producer (kafkajs 598, 1005)', async () => {
    const topic = 'parallel';
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => producer.send({ topic, messages: [message(`${i}`)] })),
    );
    const offsets = answers.map(([answer]) => Number(answer?.baseOffset)).sort((a, b) => a - b);
    expect(offsets).toEqual(Array.from({ length: 20 }, (_, i) => i));
    const { seen, consumer } = await reader(topic, 'parallel-readers');
    await until(() => seen.length >= 20);
    expect(new Set(seen).size).toBe(20);
    await consumer.disconnect();
    await producer.disconnect();
  });
});
