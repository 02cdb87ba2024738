import { cpSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreatePartitions,
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeConfigs,
  errorCodes,
  Fetch,
  IncrementalAlterConfigs,
  InitProducerId,
  ListOffsets,
  Metadata,
  Produce,
} from '@millrace/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from './embedded-broker.ts';
import { startBroker } from './start-broker.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

let root: string;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'broker-restart-'));
});

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  await rm(root, { recursive: true, force: true });
});

async function start(dataDir: string): Promise<{ broker: EmbeddedBroker; client: TestClient }> {
  const broker = await startBroker({ inProcess: true, dataDir });
  opened.push(broker);
  const client = await TestClient.connect(broker);
  opened.push(client);
  return { broker, client };
}

let copies = 0;

/** What a kill leaves: the files as they are now, with nobody's goodbye. */
function afterKill(dataDir: string): string {
  const copy = join(root, `killed-${copies++}`);
  // In one go: the broker, which is in this thread, does nothing meanwhile.
  cpSync(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return copy;
}

async function newProducerId(client: TestClient): Promise<bigint> {
  const { producerId, errorCode } = await client.send(InitProducerId, 4, {
    transactionalId: null,
    producerId: -1n,
    producerEpoch: -1,
  });
  expect(errorCode).toBe(errorCodes.NONE);
  return producerId;
}

async function topicId(client: TestClient, name: string): Promise<string> {
  const { topics } = await client.send(Metadata, 12, {
    topics: [{ name }],
    allowAutoTopicCreation: false,
  });
  return topics[0]!.topicId;
}

/** A directory with everything in it that must live on. */
async function fill(client: TestClient): Promise<{ id: string; producerId: bigint }> {
  await client.send(CreateTopics, 7, {
    topics: [
      {
        name: 'orders',
        numPartitions: 2,
        replicationFactor: 1,
        configs: [{ name: 'retention.ms', value: '-1' }],
      },
      { name: 'gone', numPartitions: 1, replicationFactor: 1 },
    ],
  });
  await client.send(CreatePartitions, 3, {
    topics: [{ name: 'orders', count: 3, assignments: null }],
  });
  await client.send(IncrementalAlterConfigs, 1, {
    resources: [
      {
        resourceType: 2,
        resourceName: 'orders',
        configs: [{ name: 'max.message.bytes', configOperation: 0, value: '123456' }],
      },
    ],
  });
  await client.send(DeleteTopics, 4, { topicNames: ['gone'], timeoutMs: 1000 });
  const producerId = await newProducerId(client);
  await produce(client, producerId, 0);
  await produce(client, producerId, 3);
  const deleted = await client.send(DeleteRecords, 2, {
    timeoutMs: 5000,
    topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, offset: 2n }] }],
  });
  expect(deleted.topics[0]!.partitions[0]).toMatchObject({ errorCode: 0, lowWatermark: 2n });
  return { id: await topicId(client, 'orders'), producerId };
}

async function produce(client: TestClient, producerId: bigint, baseSequence: number) {
  const records = batchOf({ values: ['a', 'b', 'c'], producerId, producerEpoch: 0, baseSequence });
  const { responses } = await client.send(Produce, 9, {
    acks: -1,
    timeoutMs: 5000,
    topicData: [{ name: 'orders', partitionData: [{ index: 0, records }] }],
  });
  return responses[0]!.partitionResponses[0]!;
}

async function expectEverything(
  client: TestClient,
  { id, producerId }: { id: string; producerId: bigint },
): Promise<void> {
  expect(await topicId(client, 'orders')).toBe(id);
  const { topics } = await client.send(Metadata, 9, { topics: null });
  expect(topics.map(({ name, partitions }) => [name, partitions.length])).toEqual([['orders', 3]]);
  const { results } = await client.send(DescribeConfigs, 1, {
    resources: [
      {
        resourceType: 2,
        resourceName: 'orders',
        configurationKeys: ['retention.ms', 'max.message.bytes'],
      },
    ],
  });
  expect(results[0]!.configs).toMatchObject([
    { name: 'max.message.bytes', value: '123456' },
    { name: 'retention.ms', value: '-1' },
  ]);
  const offsets = await client.send(ListOffsets, 5, {
    topics: [
      { name: 'orders', partitions: [{ partitionIndex: 0, timestamp: -2n }] },
      { name: 'orders', partitions: [{ partitionIndex: 1, timestamp: -1n }] },
    ],
  });
  expect(offsets.topics.map(({ partitions }) => partitions[0]!.offset)).toEqual([2n, 0n]);
  // The producer's sequence goes on: a repeat is known, the next one is appended.
  expect(await produce(client, producerId, 3)).toMatchObject({ errorCode: 0, baseOffset: 3n });
  expect(await produce(client, producerId, 6)).toMatchObject({ errorCode: 0, baseOffset: 6n });
  const fetched = await client.send(Fetch, 11, {
    maxWaitMs: 0,
    topics: [
      { topic: 'orders', partitions: [{ partition: 0, fetchOffset: 2n, partitionMaxBytes: 1e6 }] },
    ],
  });
  expect(fetched.responses[0]!.partitions[0]).toMatchObject({
    errorCode: 0,
    highWatermark: 9n,
    logStartOffset: 2n,
  });
  expect(await newProducerId(client)).toBeGreaterThan(producerId);
}

describe('a data directory', () => {
  it('keeps everything over a clean stop, cluster id included', async () => {
    const dataDir = join(root, 'data');
    const first = await start(dataDir);
    const facts = await fill(first.client);
    await first.broker.close();
    const second = await start(dataDir);
    expect(second.broker.clusterId).toBe(first.broker.clusterId);
    await expectEverything(second.client, facts);
  });

  it('keeps everything that was acknowledged before a kill', async () => {
    const first = await start(join(root, 'data'));
    const facts = await fill(first.client);
    const second = await start(afterKill(first.broker.dataDir));
    await expectEverything(second.client, facts);
  });

  it('never gives a producer id twice, however often the broker is killed', async () => {
    const given = new Set<bigint>();
    let { broker, client } = await start(join(root, 'data'));
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 3; i++) {
        const id = await newProducerId(client);
        expect(given.has(id)).toBe(false);
        given.add(id);
      }
      ({ broker, client } = await start(afterKill(broker.dataDir)));
    }
  });

  it('never gives out a producer id that is in a log, even without the file of ids', async () => {
    const first = await start(join(root, 'data'));
    const { producerId } = await fill(first.client);
    const copy = afterKill(first.broker.dataDir);
    await rm(join(copy, 'producer-ids-checkpoint'));
    const second = await start(copy);
    expect(await newProducerId(second.client)).toBeGreaterThan(producerId);
  });

  it('of an older broker, without topics.json, is taken in', async () => {
    const dataDir = join(root, 'data');
    const first = await start(dataDir);
    const { id } = await fill(first.client);
    await first.broker.close();
    await rm(join(dataDir, 'topics.json'));
    const { client } = await start(dataDir);
    expect(await topicId(client, 'orders')).toBe(id);
    const { topics } = await client.send(Metadata, 9, { topics: null });
    expect(topics.map(({ name, partitions }) => [name, partitions.length])).toEqual([
      ['orders', 3],
    ]);
  });

  it('finishes what a kill in the middle of create and delete has left', async () => {
    const dataDir = join(root, 'data');
    const first = await start(dataDir);
    const { id } = await fill(first.client);
    await first.broker.close();
    const path = join(dataDir, 'topics.json');
    const file = JSON.parse(await readFile(path, 'utf8')) as {
      topics: { name: string; topicId: string; partitionCount: number; configs: object }[];
      deletedIds: string[];
    };
    // orders is deleted but its logs are still there; fresh is created but has no logs yet.
    file.topics = [
      { name: 'fresh', topicId: 'ZnJlc2gtdG9waWMtaWQtMQ', partitionCount: 2, configs: {} },
    ];
    file.deletedIds = [id];
    await writeFile(path, JSON.stringify({ ...file, version: 1 }));
    const { client } = await start(dataDir);
    const { topics } = await client.send(Metadata, 12, { topics: null });
    expect(topics).toMatchObject([
      { name: 'fresh', topicId: 'ZnJlc2gtdG9waWMtaWQtMQ', partitions: [{}, {}] },
    ]);
  });

  it.each([
    ['topics.json', 'nonsense', 'BROKER_TOPICS_FILE_INVALID'],
    ['topics.json', '{"version":9,"topics":[],"deletedIds":[]}', 'BROKER_TOPICS_FILE_INVALID'],
    ['topics.json', '{"version":1,"topics":[{}],"deletedIds":[]}', 'BROKER_TOPICS_FILE_INVALID'],
    ['producer-ids-checkpoint', '0\n-5\n', 'BROKER_PRODUCER_IDS_INVALID'],
  ])('with a damaged %s (%s) is refused with its name', async (name, content, code) => {
    const dataDir = join(root, 'data');
    const first = await start(dataDir);
    await first.broker.close();
    await writeFile(join(dataDir, name), content);
    await expect(startBroker({ inProcess: true, dataDir })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(name) as string,
    });
    await rm(join(dataDir, name));
    await start(dataDir);
  });

  it('is locked against a second broker', async () => {
    const dataDir = join(root, 'data');
    await start(dataDir);
    await expect(startBroker({ inProcess: true, dataDir })).rejects.toMatchObject({
      code: 'LOG_DIR_LOCKED',
    });
  });
});
