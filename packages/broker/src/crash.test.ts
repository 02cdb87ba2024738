/**
 * The broker dies in each of the disk operations of a history of requests, one run per operation; the next
 * one must keep what was acknowledged, and be of use. The same with the machine losing power, under
 * log.flush.interval.messages=1.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InlineThread, MemoryDisk, systemClock, systemRandom } from '@millrace/compaction';
import {
  BatchIterator,
  CreatePartitions,
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeConfigs,
  Fetch,
  FindCoordinator,
  IncrementalAlterConfigs,
  InitProducerId,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  Produce,
  RecordCursor,
  type Api,
  type Encodable,
} from '@millrace/protocol';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Broker } from './broker.ts';
import { parseBrokerConfig, type BrokerConfigInput } from './config.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

/** Of the operations, one in so many is died in; which ones depends on the run. */
const STRIDE = 3;
const TEST_TIMEOUT_MS = 180_000;
const GROUP = 'readers';
const TOPIC_RESOURCE = 2;
const BROKER_RESOURCE = 4;

/** What the clients were told. */
interface Told {
  partitionCount: number;
  retentionMs: string | null;
  /** log.cleaner.backoff.ms, set while the broker runs. */
  backoffMs: string | null;
  /** Values of partition 0 of `kept`, by offset. */
  readonly values: string[];
  deletingTo: bigint;
  deletedTo: bigint;
  committed: bigint;
  producerId: bigint;
  /** Of `remade`; null when its deletion was acknowledged, undefined before and in between. */
  remadeId: string | null | undefined;
  remadeValues: string[];
}

class Refused extends Error {}

/** Every error code of an answer must be 0, or the broker is taken to be dead. */
async function ask<Req, Res>(
  client: TestClient,
  api: Api<Req, Res>,
  version: number,
  body: Encodable<Req>,
): Promise<Res> {
  const answer = await client.send(api, version, body);
  JSON.stringify(answer, (key, value: unknown) => {
    if (/errorCode$/i.test(key) && value !== 0) throw new Refused(`${api.name}: ${String(value)}`);
    return typeof value === 'bigint' ? String(value) : value;
  });
  return answer;
}

async function create(client: TestClient, name: string, numPartitions = 1): Promise<string> {
  const { topics } = await ask(client, CreateTopics, 7, {
    topics: [{ name, numPartitions, replicationFactor: 1 }],
  });
  return topics[0]!.topicId;
}

async function produce(
  client: TestClient,
  name: string,
  value: string,
  fields = {},
): Promise<void> {
  await ask(client, Produce, 9, {
    acks: -1,
    topicData: [
      { name, partitionData: [{ index: 0, records: batchOf({ values: [value], ...fields }) }] },
    ],
  });
}

async function history(client: TestClient, told: Told): Promise<void> {
  await create(client, 'kept');
  told.partitionCount = 1;
  const send = async (value: string, fields = {}): Promise<void> => {
    await produce(client, 'kept', value, fields);
    told.values.push(value);
  };
  await send('v0');
  await send('v1');
  const init = { transactionalId: null, producerId: -1n, producerEpoch: -1 };
  const { producerId } = await ask(client, InitProducerId, 4, init);
  told.producerId = producerId;
  for (const baseSequence of [0, 1, 2]) {
    await send(`i${baseSequence}`, { producerId, producerEpoch: 0, baseSequence });
  }
  await ask(client, IncrementalAlterConfigs, 1, {
    resources: [
      {
        resourceType: TOPIC_RESOURCE,
        resourceName: 'kept',
        configs: [{ name: 'retention.ms', configOperation: 0, value: '-1' }],
      },
    ],
  });
  told.retentionMs = '-1';
  await ask(client, IncrementalAlterConfigs, 1, {
    resources: [
      {
        resourceType: BROKER_RESOURCE,
        resourceName: '1',
        configs: [{ name: 'log.cleaner.backoff.ms', configOperation: 0, value: '777' }],
      },
    ],
  });
  told.backoffMs = '777';
  await ask(client, CreatePartitions, 3, {
    topics: [{ name: 'kept', count: 3, assignments: null }],
  });
  told.partitionCount = 3;
  await ask(client, FindCoordinator, 3, { key: GROUP, keyType: 0 });
  for (const committedOffset of [1n, 3n]) {
    await ask(client, OffsetCommit, 8, {
      groupId: GROUP,
      topics: [{ name: 'kept', partitions: [{ partitionIndex: 0, committedOffset }] }],
    });
    told.committed = committedOffset;
  }
  told.deletingTo = 2n;
  await ask(client, DeleteRecords, 2, {
    timeoutMs: 5_000,
    topics: [{ name: 'kept', partitions: [{ partitionIndex: 0, offset: 2n }] }],
  });
  told.deletedTo = 2n;
  await send('v5');

  const firstId = await create(client, 'remade');
  told.remadeId = firstId;
  await produce(client, 'remade', 'old');
  told.remadeValues = ['old'];
  told.remadeId = undefined;
  await ask(client, DeleteTopics, 5, { topicNames: ['remade'] });
  told.remadeId = null;
  told.remadeValues = [];
  told.remadeId = undefined;
  const secondId = await create(client, 'remade');
  expect(secondId).not.toBe(firstId);
  told.remadeId = secondId;
  await produce(client, 'remade', 'new');
  told.remadeValues = ['new'];
}

async function read(
  client: TestClient,
  topic: string,
  fetchOffset: bigint,
): Promise<{ start: bigint; values: string[] }> {
  const { responses } = await client.send(Fetch, 11, {
    maxWaitMs: 0,
    topics: [{ topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1 << 20 }] }],
  });
  const { errorCode, logStartOffset, records } = responses[0]!.partitions[0]!;
  expect(errorCode, topic).toBe(0);
  const values: string[] = [];
  const cursor = new RecordCursor();
  const batches = new BatchIterator(records ?? Buffer.alloc(0));
  for (let batch = batches.next(); batch !== null; batch = batches.next()) {
    cursor.open(batch);
    while (cursor.next()) values.push(String(cursor.value()));
  }
  return { start: logStartOffset, values };
}

async function expectKept(client: TestClient, told: Told): Promise<void> {
  const { topics } = await client.send(Metadata, 10, { topics: null });
  const kept = topics.find(({ name }) => name === 'kept');
  expect(kept?.partitions.length ?? 0).toBeGreaterThanOrEqual(told.partitionCount);
  if (told.values.length > 0) {
    // A deletion that was asked for may have happened.
    const { start, values } = await read(client, 'kept', told.deletingTo);
    expect(start).toBeGreaterThanOrEqual(told.deletedTo);
    const due = told.values.slice(Number(told.deletingTo));
    expect(values.slice(0, due.length)).toEqual(due);
  }
  if (told.retentionMs !== null) {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [
        {
          resourceType: TOPIC_RESOURCE,
          resourceName: 'kept',
          configurationKeys: ['retention.ms'],
        },
      ],
    });
    expect(results[0]?.configs[0]?.value).toBe(told.retentionMs);
  }
  const { results: ofBroker } = await client.send(DescribeConfigs, 4, {
    resources: [
      {
        resourceType: BROKER_RESOURCE,
        resourceName: '1',
        configurationKeys: ['log.cleaner.backoff.ms'],
      },
    ],
  });
  expect(told.backoffMs === null ? ['777', '15000'] : ['777']).toContain(
    ofBroker[0]?.configs[0]?.value,
  );
  if (told.committed >= 0n) {
    const { groups } = await client.send(OffsetFetch, 8, {
      groups: [{ groupId: GROUP, topics: [{ name: 'kept', partitionIndexes: [0] }] }],
    });
    expect(groups[0]?.topics[0]?.partitions[0]?.committedOffset).toBeGreaterThanOrEqual(
      told.committed,
    );
  }
  const remade = topics.find(({ name }) => name === 'remade');
  if (told.remadeId === null) expect(remade).toBeUndefined();
  if (typeof told.remadeId !== 'string') return;
  expect(remade?.topicId).toBe(told.remadeId);
  const { values } = await read(client, 'remade', 0n);
  expect(values.slice(0, told.remadeValues.length)).toEqual(told.remadeValues);
  // Nothing of a former life, and at most what was on its way.
  expect(values.length).toBeLessThanOrEqual(1);
}

async function expectUseful(client: TestClient, told: Told): Promise<void> {
  const init = { transactionalId: null, producerId: -1n, producerEpoch: -1 };
  const { producerId } = await ask(client, InitProducerId, 4, init);
  expect(producerId).toBeGreaterThan(told.producerId);
  await create(client, 'after');
  const { topics } = await client.send(Metadata, 9, { topics: null });
  for (const { name, isInternal } of topics) {
    if (!isInternal) await produce(client, name ?? '', 'once more');
  }
}

describe('a broker', () => {
  let dataDir: string;
  beforeAll(async () => {
    // The lock and the admin socket are real, whatever the disk.
    dataDir = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  async function withBroker(
    disk: MemoryDisk,
    config: BrokerConfigInput,
    use: (client: TestClient) => Promise<void>,
  ): Promise<void> {
    const broker = await Broker.start({
      dataDir,
      host: '127.0.0.1',
      port: 0,
      config: parseBrokerConfig({ 'offsets.topic.num.partitions': 1, ...config }),
      clock: systemClock,
      disk,
      random: systemRandom,
      logger: pino({ level: 'silent' }),
      newCleanerThread: (settings) =>
        new InlineThread({ disk, clock: systemClock, random: systemRandom }, settings),
    });
    const client = await TestClient.connect(broker);
    try {
      await use(client);
    } finally {
      await client.close();
      await broker.close().catch((error: unknown) => {
        if (!disk.isKilled) throw error;
      });
    }
  }

  /** Runs the history until the disk dies under it. */
  async function run(disk: MemoryDisk, config: BrokerConfigInput): Promise<Told> {
    const told: Told = {
      partitionCount: 0,
      retentionMs: null,
      backoffMs: null,
      values: [],
      deletingTo: 0n,
      deletedTo: 0n,
      committed: -1n,
      producerId: -1n,
      remadeId: undefined,
      remadeValues: [],
    };
    try {
      await withBroker(disk, config, (client) => history(client, told));
    } catch (error) {
      if (!disk.isKilled) throw error;
    }
    return told;
  }

  async function check(
    death: 'killed' | 'without power',
    config: BrokerConfigInput,
    after: (disk: MemoryDisk, operation: number) => MemoryDisk,
  ): Promise<void> {
    const whole = new MemoryDisk();
    expect(await run(whole, config)).toMatchObject({ committed: 3n, remadeValues: ['new'] });
    const operations = whole.operationCount;
    expect(operations).toBeGreaterThan(60);
    const first = 1 + Math.floor(Math.random() * STRIDE);
    for (let operation = first; operation <= operations; operation += STRIDE) {
      const disk = new MemoryDisk();
      disk.killAt(operation);
      const told = await run(disk, config);
      try {
        await withBroker(after(disk, operation), config, async (client) => {
          await expectKept(client, told);
          await expectUseful(client, told);
        });
      } catch (error) {
        throw new Error(`${death} in operation ${operation} of ${operations}`, { cause: error });
      }
    }
  }

  it(
    'keeps what it acknowledged when it is killed in any operation',
    { timeout: TEST_TIMEOUT_MS },
    () => check('killed', {}, (disk) => disk.afterKill()),
  );

  it('keeps it over a power loss with flush.messages=1', { timeout: TEST_TIMEOUT_MS }, () =>
    check('without power', { 'log.flush.interval.messages': 1 }, (disk, operation) => {
      let state = operation;
      return disk.afterPowerLoss(() => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
        return state / 0x80000000;
      });
    }),
  );
});
