/** Two kafkajs consumers in one group on the embedded broker: rebalances, commits, a restart between. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import { Kafka, logLevel, type Consumer } from 'kafkajs';
import { afterEach, beforeEach, expect, it } from 'vitest';

const TOPIC = 'orders';
const GROUP = 'shop';
const PARTITIONS = 4;
/** Kafka's smallest by default: so long a member that kafkajs abandoned keeps the others of its group waiting. */
const SESSION_TIMEOUT_MS = 6_000;
const DEADLINE_MS = 30_000;

let dataDir: string;
let broker: EmbeddedBroker | null = null;
const consumers: Consumer[] = [];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'millrace-kafkajs-groups-'));
  broker = await startBroker({ dataDir, inProcess: true });
});

afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.disconnect()));
  await broker?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function kafka(clientId: string): Kafka {
  return new Kafka({
    clientId,
    brokers: [broker?.bootstrapServers ?? ''],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 20 },
  });
}

/** A member of the group that writes down what it is given and what it reads. */
interface Member {
  readonly consumer: Consumer;
  readonly read: string[];
  assigned: number[];
  joins: number;
  /**
   * Times that kafkajs gave up its own membership: a fetcher that comes back while its pool of brokers
   * is empty crashes the consumer, which then joins as a new member and leaves the old one to time out.
   */
  crashes: number;
}

async function startMember(name: string): Promise<Member> {
  const consumer = kafka(name).consumer({
    groupId: GROUP,
    heartbeatInterval: 200,
    sessionTimeout: SESSION_TIMEOUT_MS,
    maxWaitTimeInMs: 100,
  });
  consumers.push(consumer);
  const member: Member = { consumer, read: [], assigned: [], joins: 0, crashes: 0 };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.assigned = [...(payload.memberAssignment[TOPIC] ?? [])].sort();
    member.joins += 1;
  });
  consumer.on(consumer.events.CRASH, () => {
    member.crashes += 1;
  });
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      member.read.push(String(message.value));
      const offset = String(BigInt(message.offset) + 1n);
      await consumer.commitOffsets([{ topic, partition, offset, metadata: `by ${name}` }]);
    },
  });
  return member;
}

async function produce(from: number, count: number): Promise<void> {
  const producer = kafka('producer').producer();
  await producer.connect();
  const messages = Array.from({ length: count }, (_, index) => ({
    value: `order ${from + index}`,
    partition: (from + index) % PARTITIONS,
  }));
  await producer.send({ topic: TOPIC, messages });
  await producer.disconnect();
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 20) {
    if (waited > DEADLINE_MS) throw new Error(`waited too long until ${what}`);
    await sleep(20);
  }
}

const orders = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `order ${from + index}`).sort();

it('shares partitions, commits, survives a restart of the broker and goes on where it was', async () => {
  const admin = kafka('admin').admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: PARTITIONS }] });
  await produce(0, 40);

  const first = await startMember('first');
  await until('the first has all', () => first.read.length === 40);
  expect(first.assigned).toEqual([0, 1, 2, 3]);

  const second = await startMember('second');
  await until('both share', () => first.assigned.length === 2 && second.assigned.length === 2);
  expect([...first.assigned, ...second.assigned].sort()).toEqual([0, 1, 2, 3]);
  await produce(40, 40);
  await until('both have read', () => first.read.length + second.read.length === 80);
  expect([...first.read, ...second.read].sort()).toEqual(orders(0, 80));
  expect(second.read.length).toBe(20);

  const { groups } = await admin.describeGroups([GROUP]);
  expect(groups[0]).toMatchObject({ state: 'Stable', protocolType: 'consumer' });
  expect(
    groups[0]?.members.map(({ clientId, clientHost }) => [clientId, clientHost]).sort(),
  ).toEqual([
    ['first', '/127.0.0.1'],
    ['second', '/127.0.0.1'],
  ]);

  const port = broker?.port ?? 0;
  const joins = first.joins + second.joins;
  await broker?.close();
  broker = await startBroker({ dataDir, port, inProcess: true });
  await produce(80, 40);
  await until('both have gone on', () => first.read.length + second.read.length >= 120);
  // Members, generation and offsets were read back, so there was nothing to rebalance or to repeat.
  if (first.crashes + second.crashes === 0) expect(first.joins + second.joins).toBe(joins);
  expect([...first.read, ...second.read].sort()).toEqual(orders(0, 120));

  await second.consumer.disconnect();
  await until('the first has all partitions again', () => first.assigned.length === PARTITIONS);
  await produce(120, 40);
  await until('the first has read alone', () => first.read.length + second.read.length === 160);

  await expect(admin.deleteGroups([GROUP])).rejects.toThrow();
  await first.consumer.disconnect();
  const offsets = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] });
  expect(offsets[0]?.partitions.map(({ offset, metadata }) => [offset, metadata]).sort()).toEqual(
    Array.from({ length: PARTITIONS }, () => ['40', 'by first']),
  );
  const { groups: listed } = await admin.listGroups();
  expect(listed).toEqual([{ groupId: GROUP, protocolType: 'consumer' }]);
  await admin.deleteGroups([GROUP]);
  expect((await admin.listGroups()).groups).toEqual([]);
  await admin.disconnect();
}, 120_000);
