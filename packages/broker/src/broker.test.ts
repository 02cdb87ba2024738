import {
  BatchIterator,
  CreatePartitions,
  CreateTopics,
  type CreateTopicsRequest,
  DeleteRecords,
  DeleteTopics,
  DescribeCluster,
  DescribeConfigs,
  DescribeTopicPartitions,
  crc32c,
  errorCodes,
  Fetch,
  IncrementalAlterConfigs,
  AlterConfigs,
  InitProducerId,
  ListOffsets,
  Metadata,
  OffsetForLeaderEpoch,
  Produce,
  SaslHandshake,
  ZERO_UUID,
  type Encodable,
  type FetchRequest,
  type ProduceResponse,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from './embedded-broker.ts';
import { startBroker } from './start-broker.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

let broker: EmbeddedBroker;
let client: TestClient;
let counter = 0;

beforeAll(async () => {
  broker = await startBroker({ inProcess: true });
  client = await TestClient.connect(broker);
});

afterAll(async () => {
  await client.close();
  await broker.close();
});

type NewTopic = CreateTopicsRequest['topics'][number];

interface CreateOptions {
  readonly configs?: Record<string, string>;
  readonly numPartitions?: number;
}

async function create({ configs = {}, numPartitions = 1 }: CreateOptions = {}): Promise<string> {
  const name = `topic-${counter++}`;
  const { topics } = await client.send(CreateTopics, 7, {
    topics: [
      {
        name,
        numPartitions,
        replicationFactor: 1,
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      },
    ],
  });
  expect(topics[0]).toMatchObject({ errorCode: errorCodes.NONE, errorMessage: null });
  return name;
}

type PartitionAnswer = ProduceResponse['responses'][number]['partitionResponses'][number];

async function produce(
  name: string,
  records: Buffer | null,
  { acks = -1, version = 9, index = 0 } = {},
): Promise<PartitionAnswer> {
  const { responses } = await client.send(Produce, version, {
    acks,
    timeoutMs: 5000,
    topicData: [{ name, partitionData: [{ index, records }] }],
  });
  return responses[0]?.partitionResponses[0] as PartitionAnswer;
}

interface FetchOptions {
  readonly fetchOffset?: bigint;
  readonly version?: number;
  readonly request?: Encodable<FetchRequest>;
  readonly partition?: number;
  readonly partitionMaxBytes?: number;
}

async function fetch(topic: string, options: FetchOptions = {}) {
  const { fetchOffset = 0n, version = 11, partition = 0, partitionMaxBytes = 1_000_000 } = options;
  const answer = await client.send(Fetch, version, {
    maxWaitMs: 0,
    minBytes: 1,
    topics: [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes }] }],
    ...options.request,
  });
  return answer.responses[0]!.partitions[0]!;
}

function baseOffsets(records: Buffer | null): bigint[] {
  const batches = new BatchIterator(records ?? Buffer.alloc(0));
  const found: bigint[] = [];
  for (let batch = batches.next(); batch; batch = batches.next()) found.push(batch.baseOffset);
  return found;
}

describe('produce', () => {
  it.each([-1, 1])('assigns offsets with acks=%i', async (acks) => {
    const name = await create();
    expect(await produce(name, batchOf({ values: ['a', 'b'] }), { acks })).toMatchObject({
      errorCode: errorCodes.NONE,
      baseOffset: 0n,
      logAppendTimeMs: -1n,
      logStartOffset: 0n,
    });
    expect(await produce(name, batchOf({ values: ['c'] }), { acks })).toMatchObject({
      baseOffset: 2n,
    });
  });

  it('does not answer acks=0, and closes the connection on an error of it', async () => {
    const name = await create();
    const other = await TestClient.connect(broker);
    const send = (topic: string): number =>
      other.post(Produce, 9, {
        acks: 0,
        topicData: [
          { name: topic, partitionData: [{ index: 0, records: batchOf({ values: ['x'] }) }] },
        ],
      });
    send(name);
    await other.send(Metadata, 4, { topics: [] });
    expect(other.answered).toEqual([1]);
    expect(baseOffsets((await fetch(name)).records)).toEqual([0n]);
    send('no-such-topic');
    await other.closed;
  });

  it('tells each partition its own error', async () => {
    const name = await create({ numPartitions: 2 });
    const broken = batchOf({ values: ['a'] });
    broken[broken.length - 2] = (broken[broken.length - 2] as number) ^ 0xff;
    const { responses } = await client.send(Produce, 9, {
      acks: -1,
      topicData: [
        {
          name,
          partitionData: [
            { index: 0, records: broken },
            { index: 1, records: batchOf({ values: ['b'] }) },
            { index: 2, records: batchOf({ values: ['c'] }) },
          ],
        },
        { name: 'nope', partitionData: [{ index: 0, records: batchOf({ values: ['d'] }) }] },
      ],
    });
    expect(
      responses.map(({ partitionResponses }) =>
        partitionResponses.map(({ errorCode }) => errorCode),
      ),
    ).toEqual([
      [errorCodes.CORRUPT_MESSAGE, errorCodes.NONE, errorCodes.UNKNOWN_TOPIC_OR_PARTITION],
      [errorCodes.UNKNOWN_TOPIC_OR_PARTITION],
    ]);
  });

  it('refuses what is no batch, wrong acks and zstd in old versions', async () => {
    const name = await create();
    expect(await produce(name, null)).toMatchObject({ errorCode: errorCodes.INVALID_RECORD });
    expect(await produce(name, Buffer.alloc(30))).toMatchObject({
      errorCode: errorCodes.CORRUPT_MESSAGE,
    });
    expect(await produce(name, batchOf({ values: ['a'] }), { acks: 5 })).toMatchObject({
      errorCode: errorCodes.INVALID_REQUIRED_ACKS,
    });
    const zstd = batchOf({ values: ['a'] });
    zstd[22] = 4;
    expect(await produce(name, zstd, { version: 6 })).toMatchObject({
      errorCode: errorCodes.UNSUPPORTED_COMPRESSION_TYPE,
    });
    expect(
      await produce(
        name,
        batchOf({
          values: ['a'],
          isTransactional: true,
          producerId: 5n,
          producerEpoch: 0,
          baseSequence: 0,
        }),
      ),
    ).toMatchObject({ errorCode: errorCodes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED });
    const unknownCodec = batchOf({ values: ['a'] });
    unknownCodec[22] = 7;
    unknownCodec.writeUInt32BE(crc32c(unknownCodec, 21, unknownCodec.length), 17);
    expect(await produce(name, unknownCodec)).toMatchObject({
      errorCode: errorCodes.UNSUPPORTED_COMPRESSION_TYPE,
    });
    expect((await fetch(name)).highWatermark).toBe(0n);
  });

  it('names the records without a key on a compacted topic', async () => {
    const name = await create({ configs: { 'cleanup.policy': 'compact' } });
    const refused = await produce(name, batchOf({ values: ['a', 'b'] }));
    expect(refused.errorCode).toBe(errorCodes.INVALID_RECORD);
    expect(refused.recordErrors.map(({ batchIndex }) => batchIndex)).toEqual([0, 1]);
    expect(refused.errorMessage).toMatch(/key/i);
    expect(await produce(name, batchOf({ values: ['a'], key: 'k' }))).toMatchObject({
      baseOffset: 0n,
    });
  });

  it('takes a batch of an idempotent producer once', async () => {
    const name = await create();
    const { producerId, producerEpoch } = await client.send(InitProducerId, 4, {
      transactionalId: null,
      transactionTimeoutMs: 0,
      producerId: -1n,
      producerEpoch: -1,
    });
    const batch = (baseSequence: number): Buffer =>
      batchOf({ values: ['a', 'b'], producerId, producerEpoch, baseSequence });
    expect(await produce(name, batch(0))).toMatchObject({ errorCode: 0, baseOffset: 0n });
    expect(await produce(name, batch(2))).toMatchObject({ errorCode: 0, baseOffset: 2n });
    expect(await produce(name, batch(0))).toMatchObject({ errorCode: 0, baseOffset: 0n });
    expect(await produce(name, batch(6))).toMatchObject({
      errorCode: errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER,
    });
    expect((await fetch(name)).highWatermark).toBe(4n);
  });

  it('acknowledges after the flush that flush.messages asks for', async () => {
    const name = await create({ configs: { 'flush.messages': '1' } });
    expect(await produce(name, batchOf({ values: ['a'] }))).toMatchObject({
      errorCode: 0,
      baseOffset: 0n,
    });
  });

  it('refuses acks=all where min.insync.replicas cannot be met', async () => {
    const name = await create({ configs: { 'min.insync.replicas': '2' } });
    expect(await produce(name, batchOf({ values: ['a'] }))).toMatchObject({
      errorCode: errorCodes.NOT_ENOUGH_REPLICAS,
    });
    expect(await produce(name, batchOf({ values: ['a'] }), { acks: 1 })).toMatchObject({
      errorCode: 0,
    });
  });
});

describe('fetch', () => {
  it('gives a first batch whole, and later partitions what is left', async () => {
    const name = await create({ numPartitions: 3 });
    for (const index of [0, 1, 2]) {
      await produce(name, batchOf({ values: [Buffer.alloc(5000)] }), { index });
    }
    const partitions = [0, 1, 2].map((partition) => ({
      partition,
      fetchOffset: 0n,
      partitionMaxBytes: 1_000_000,
    }));
    const sizes = async (maxBytes: number): Promise<number[]> => {
      const answer = await client.send(Fetch, 11, {
        maxWaitMs: 0,
        minBytes: 1,
        maxBytes,
        topics: [{ topic: name, partitions }],
      });
      return answer.responses[0]!.partitions.map(({ records }) => records?.length ?? -1);
    };
    const [whole = 0] = await sizes(1);
    expect(whole).toBeGreaterThan(5000);
    expect(await sizes(1)).toEqual([whole, 0, 0]);
    expect(await sizes(whole * 2)).toEqual([whole, whole, 0]);
    expect(await sizes(1_000_000)).toEqual([whole, whole, whole]);
  });

  it('refuses offsets outside the log and empty positions wait', async () => {
    const name = await create();
    await produce(name, batchOf({ values: ['a'] }));
    expect(await fetch(name, { fetchOffset: 2n })).toMatchObject({
      errorCode: errorCodes.OFFSET_OUT_OF_RANGE,
      highWatermark: -1n,
      logStartOffset: -1n,
    });
    expect(await fetch(name, { fetchOffset: 1n })).toMatchObject({
      errorCode: 0,
      highWatermark: 1n,
    });
    expect(await fetch('no-such')).toMatchObject({
      errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    });
  });

  it('parks until there are enough bytes, or its time is up', async () => {
    const name = await create();
    const other = await TestClient.connect(broker);
    const parked = async (minBytes: number, maxWaitMs: number) => {
      const started = performance.now();
      const answer = await other.send(Fetch, 12, {
        maxWaitMs,
        minBytes,
        topics: [
          { topic: name, partitions: [{ partition: 0, fetchOffset: 0n, partitionMaxBytes: 1e6 }] },
        ],
      });
      return { ms: performance.now() - started, partition: answer.responses[0]!.partitions[0]! };
    };
    const timedOut = await parked(1, 80);
    expect(timedOut.ms).toBeGreaterThan(70);
    expect(timedOut.partition.records?.length).toBe(0);

    const one = batchOf({ values: ['a'] });
    const waiting = parked(one.length * 2, 8_000);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await produce(name, batchOf({ values: ['a'] }));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(other.answered).toHaveLength(1);
    await produce(name, batchOf({ values: ['b'] }));
    const woken = await waiting;
    expect(woken.ms).toBeLessThan(5_000);
    expect(baseOffsets(woken.partition.records)).toEqual([0n, 1n]);
    await other.close();
  });

  it('tells a parked fetch that its topic is gone', async () => {
    const name = await create();
    const other = await TestClient.connect(broker);
    const waiting = other.send(Fetch, 11, {
      maxWaitMs: 30_000,
      minBytes: 1,
      topics: [{ topic: name, partitions: [{ partition: 0, partitionMaxBytes: 1e6 }] }],
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await client.send(DeleteTopics, 3, { topicNames: [name], timeoutMs: 1000 });
    const answer = await waiting;
    expect(answer.responses[0]!.partitions[0]!.errorCode).toBe(
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    );
    await other.close();
  });

  it('goes by topic id from version 13', async () => {
    const name = await create();
    await produce(name, batchOf({ values: ['a'] }));
    const metadata = await client.send(Metadata, 12, { topics: [{ name }] });
    const { topicId } = metadata.topics[0]!;
    const ask = async (id: string) => {
      const { responses } = await client.send(Fetch, 16, {
        maxWaitMs: 0,
        topics: [{ topicId: id, partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
      });
      return responses[0]!;
    };
    const found = await ask(topicId);
    expect(found.topicId).toBe(topicId);
    expect(baseOffsets(found.partitions[0]!.records)).toEqual([0n]);
    const unknown = await ask('AAAAAAAAAAAAAAAAAAAAAg');
    expect(unknown.partitions[0]!.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_ID);
  });

  it('has no sessions: id 0 always, others refused', async () => {
    const name = await create();
    const topics = [{ topic: name, partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }];
    const fresh = await client.send(Fetch, 11, { sessionId: 0, sessionEpoch: 0, topics });
    expect(fresh).toMatchObject({ sessionId: 0, errorCode: 0 });
    const stale = await client.send(Fetch, 11, { sessionId: 77, sessionEpoch: 3, topics });
    expect(stale).toMatchObject({
      errorCode: errorCodes.FETCH_SESSION_ID_NOT_FOUND,
      responses: [],
    });
  });

  it('checks leader epochs', async () => {
    const name = await create();
    await produce(name, batchOf({ values: ['a'] }));
    const ask = async (currentLeaderEpoch: number) => {
      const topics = [
        {
          topic: name,
          partitions: [{ partition: 0, currentLeaderEpoch, partitionMaxBytes: 1000 }],
        },
      ];
      const answer = await client.send(Fetch, 12, { maxWaitMs: 0, topics });
      return answer.responses[0]!.partitions[0]!.errorCode;
    };
    expect(await ask(0)).toBe(errorCodes.NONE);
    expect(await ask(-1)).toBe(errorCodes.NONE);
    expect(await ask(1)).toBe(errorCodes.UNKNOWN_LEADER_EPOCH);
    const { topics } = await client.send(OffsetForLeaderEpoch, 4, {
      topics: [{ topic: name, partitions: [{ partition: 0, leaderEpoch: 0 }] }],
    });
    expect(topics[0]!.partitions[0]).toMatchObject({ leaderEpoch: 0, endOffset: 1n });
  });
});

describe('offsets', () => {
  async function offsetOf(name: string, timestamp: bigint, version = 7) {
    const { topics } = await client.send(ListOffsets, version, {
      replicaId: -1,
      topics: [{ name, partitions: [{ partitionIndex: 0, timestamp }] }],
    });
    return topics[0]!.partitions[0]!;
  }

  it('lists earliest, latest, by time and the largest timestamp', async () => {
    const name = await create();
    const now = Date.now();
    await produce(name, batchOf({ values: ['a', 'b'], timestamp: now - 2000 }));
    await produce(name, batchOf({ values: ['c'], timestamp: now }));
    await produce(name, batchOf({ values: ['d'], timestamp: now - 1000 }));
    expect(await offsetOf(name, -2n)).toMatchObject({ offset: 0n, leaderEpoch: 0 });
    expect(await offsetOf(name, -1n)).toMatchObject({ offset: 4n, leaderEpoch: 0 });
    expect(await offsetOf(name, BigInt(now - 1500))).toMatchObject({
      offset: 2n,
      timestamp: BigInt(now),
    });
    expect(await offsetOf(name, -3n)).toMatchObject({ offset: 2n, timestamp: BigInt(now) });
    expect(await offsetOf(name, BigInt(now + 1))).toMatchObject({ offset: -1n, timestamp: -1n });
    expect(await offsetOf(name, -3n, 6)).toMatchObject({
      errorCode: errorCodes.UNSUPPORTED_VERSION,
    });
    expect(await offsetOf(name, -4n, 8)).toMatchObject({ offset: 0n });
    expect(await offsetOf('nope', -1n)).toMatchObject({
      errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    });
  });

  it('deletes records up to an offset, with the errors in their order', async () => {
    const name = await create();
    const compacted = await create({ configs: { 'cleanup.policy': 'compact' } });
    await produce(name, batchOf({ values: ['a', 'b', 'c'] }));
    await produce(name, batchOf({ values: ['d'] }));
    const remove = async (topic: string, offset: bigint) => {
      const { topics } = await client.send(DeleteRecords, 2, {
        timeoutMs: 5000,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset }] }],
      });
      return topics[0]!.partitions[0]!;
    };
    expect(await remove(name, 1n)).toMatchObject({ errorCode: 0, lowWatermark: 1n });
    expect(await remove(name, 0n)).toMatchObject({ errorCode: 0, lowWatermark: 1n });
    expect(await remove(name, 5n)).toMatchObject({
      errorCode: errorCodes.OFFSET_OUT_OF_RANGE,
      lowWatermark: -1n,
    });
    expect(await remove(name, -2n)).toMatchObject({ errorCode: errorCodes.OFFSET_OUT_OF_RANGE });
    expect(await remove('nope', 0n)).toMatchObject({
      errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    });
    expect(await remove(compacted, 99n)).toMatchObject({ errorCode: errorCodes.POLICY_VIOLATION });
    expect(await fetch(name, { fetchOffset: 0n })).toMatchObject({
      errorCode: errorCodes.OFFSET_OUT_OF_RANGE,
    });
    // The log start lies inside a batch: the whole batch is given (KAFKA-6975).
    expect(baseOffsets((await fetch(name, { fetchOffset: 1n })).records)).toEqual([0n, 3n]);
    expect(await remove(name, -1n)).toMatchObject({ errorCode: 0, lowWatermark: 4n });
    expect(await offsetOf(name, -2n)).toMatchObject({ offset: 4n });
    expect(await produce(name, batchOf({ values: ['e'] }))).toMatchObject({
      baseOffset: 4n,
      logStartOffset: 4n,
    });
  });
});

describe('topics', () => {
  it('are created by metadata only if asked', async () => {
    const name = `auto-${counter++}`;
    const ask = (allowAutoTopicCreation: boolean) =>
      client.send(Metadata, 9, { topics: [{ name }], allowAutoTopicCreation });
    expect((await ask(false)).topics[0]).toMatchObject({
      errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    });
    const made = await ask(true);
    expect(made.topics[0]).toMatchObject({ errorCode: 0, name, isInternal: false });
    expect(made.topics[0]!.partitions).toMatchObject([
      { partitionIndex: 0, leaderId: 1, leaderEpoch: 0, replicaNodes: [1], isrNodes: [1] },
    ]);
    expect(made.brokers).toMatchObject([{ nodeId: 1, host: '127.0.0.1', port: broker.port }]);
    expect(made).toMatchObject({ controllerId: 1, clusterId: broker.clusterId });
    const invalid = await client.send(Metadata, 9, { topics: [{ name: 'a b' }] });
    expect(invalid.topics[0]).toMatchObject({ errorCode: errorCodes.INVALID_TOPIC_EXCEPTION });
    expect((await client.send(Metadata, 9, { topics: [] })).topics).toEqual([]);
    const all = await client.send(Metadata, 0, { topics: [] });
    expect(all.topics.map((topic) => topic.name)).toContain(name);
  });

  it('are created with every check', async () => {
    const taken = await create();
    const one = async (topic: Encodable<NewTopic>, validateOnly = false) => {
      const { topics } = await client.send(CreateTopics, 7, {
        topics: [{ name: '', numPartitions: -1, replicationFactor: -1, ...topic }],
        validateOnly,
      });
      return topics[0]!;
    };
    const name = `made-${counter++}`;
    expect(await one({ name, numPartitions: 3 }, true)).toMatchObject({
      errorCode: 0,
      topicId: ZERO_UUID,
    });
    const made = await one({ name, numPartitions: 3 });
    expect(made).toMatchObject({ errorCode: 0, numPartitions: 3, replicationFactor: 1 });
    expect(made.topicId).not.toBe(ZERO_UUID);
    expect(made.configs?.find((config) => config.name === 'retention.ms')).toMatchObject({
      value: '604800000',
      configSource: 5,
    });
    const cases: [Encodable<NewTopic>, number][] = [
      [{ name: taken }, errorCodes.TOPIC_ALREADY_EXISTS],
      [{ name: 'with space' }, errorCodes.INVALID_TOPIC_EXCEPTION],
      [{ name: '..' }, errorCodes.INVALID_TOPIC_EXCEPTION],
      [{ name: 'x'.repeat(250) }, errorCodes.INVALID_TOPIC_EXCEPTION],
      [{ name: taken.replace('-', '.') }, errorCodes.NONE],
      [{ name: taken.replace('-', '_') }, errorCodes.INVALID_TOPIC_EXCEPTION],
      [{ name: 'zero', numPartitions: 0 }, errorCodes.INVALID_PARTITIONS],
      [{ name: 'many', numPartitions: 2_000_000 }, errorCodes.POLICY_VIOLATION],
      [{ name: 'two', replicationFactor: 2 }, errorCodes.INVALID_REPLICATION_FACTOR],
      [{ name: 'none', replicationFactor: 0 }, errorCodes.INVALID_REPLICATION_FACTOR],
      [{ name: 'cfg', configs: [{ name: 'nope', value: '1' }] }, errorCodes.INVALID_CONFIG],
      [
        { name: 'cfg', configs: [{ name: 'segment.bytes', value: '-1' }] },
        errorCodes.INVALID_CONFIG,
      ],
      [
        { name: 'asg', assignments: [{ partitionIndex: 0, brokerIds: [9] }] },
        errorCodes.INVALID_REPLICA_ASSIGNMENT,
      ],
      [
        { name: 'asg', assignments: [{ partitionIndex: 1, brokerIds: [1] }] },
        errorCodes.INVALID_REPLICA_ASSIGNMENT,
      ],
      [
        { name: `by-hand-${counter++}`, assignments: [{ partitionIndex: 0, brokerIds: [1] }] },
        errorCodes.NONE,
      ],
      [
        { name: 'both', numPartitions: 1, assignments: [{ partitionIndex: 0, brokerIds: [1] }] },
        errorCodes.INVALID_REQUEST,
      ],
    ];
    for (const [topic, errorCode] of cases) {
      expect(await one(topic), JSON.stringify(topic)).toMatchObject({ errorCode });
    }
    const twice = await client.send(CreateTopics, 5, {
      topics: [
        { name: 'twice', numPartitions: 1, replicationFactor: 1 },
        { name: 'twice', numPartitions: 1, replicationFactor: 1 },
      ],
    });
    expect(twice.topics).toMatchObject([{ name: 'twice', errorCode: errorCodes.INVALID_REQUEST }]);
  });

  it('get more partitions, never fewer', async () => {
    const name = await create({ numPartitions: 2 });
    const extend = async (count: number, validateOnly = false) => {
      const { results } = await client.send(CreatePartitions, 3, {
        topics: [{ name, count, assignments: null }],
        validateOnly,
      });
      return results[0]!.errorCode;
    };
    expect(await extend(2)).toBe(errorCodes.INVALID_PARTITIONS);
    expect(await extend(1)).toBe(errorCodes.INVALID_PARTITIONS);
    expect(await extend(5, true)).toBe(errorCodes.NONE);
    expect(await extend(4)).toBe(errorCodes.NONE);
    const { topics } = await client.send(DescribeTopicPartitions, 0, {
      topics: [{ name }],
      responsePartitionLimit: 3,
    });
    expect(topics[0]!.partitions).toHaveLength(3);
    expect(await produce(name, batchOf({ values: ['x'] }), { index: 3 })).toMatchObject({
      errorCode: 0,
    });
  });

  it('are deleted, and created again under a new id', async () => {
    const name = await create();
    await produce(name, batchOf({ values: ['old'] }));
    const idOf = async (): Promise<string> =>
      (await client.send(Metadata, 12, { topics: [{ name }] })).topics[0]!.topicId;
    const before = await idOf();
    const remove = async (topics: { name: string | null; topicId?: string }[]) => {
      const { responses } = await client.send(DeleteTopics, 6, { topics, timeoutMs: 1000 });
      return responses.map(({ errorCode }) => errorCode);
    };
    expect(await remove([{ name: null, topicId: before }, { name: 'nope' }])).toEqual([
      errorCodes.NONE,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    ]);
    expect(await remove([{ name: null, topicId: before }])).toEqual([errorCodes.UNKNOWN_TOPIC_ID]);
    await client.send(CreateTopics, 7, {
      topics: [{ name, numPartitions: 1, replicationFactor: 1 }],
    });
    expect(await idOf()).not.toBe(before);
    expect((await fetch(name)).highWatermark).toBe(0n);
  });
});

describe('configuration', () => {
  const TOPIC = 2;

  async function valueOf(resourceName: string, key: string): Promise<string | null | undefined> {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [{ resourceType: TOPIC, resourceName, configurationKeys: [key] }],
      includeSynonyms: true,
    });
    return results[0]!.configs[0]?.value;
  }

  it('changes one by one and as a whole, in effect at once', async () => {
    const name = await create({ configs: { 'retention.ms': '1000' } });
    const alter = async (
      configs: { name: string; configOperation: number; value: string | null }[],
    ) => {
      const { responses } = await client.send(IncrementalAlterConfigs, 1, {
        resources: [{ resourceType: TOPIC, resourceName: name, configs }],
      });
      return responses[0]!.errorCode;
    };
    expect(
      await alter([
        { name: 'cleanup.policy', configOperation: 2, value: 'compact' },
        { name: 'max.message.bytes', configOperation: 0, value: '1000' },
      ]),
    ).toBe(errorCodes.NONE);
    expect(await valueOf(name, 'cleanup.policy')).toBe('delete,compact');
    expect(await valueOf(name, 'retention.ms')).toBe('1000');
    expect(await produce(name, batchOf({ values: [Buffer.alloc(2000)], key: 'k' }))).toMatchObject({
      errorCode: errorCodes.MESSAGE_TOO_LARGE,
    });
    expect(await alter([{ name: 'retention.ms', configOperation: 0, value: 'x' }])).toBe(
      errorCodes.INVALID_CONFIG,
    );
    const { responses } = await client.send(AlterConfigs, 2, {
      resources: [
        { resourceType: TOPIC, resourceName: name, configs: [{ name: 'segment.ms', value: '77' }] },
        { resourceType: TOPIC, resourceName: 'nope', configs: [] },
        { resourceType: 8, resourceName: '1', configs: [] },
      ],
    });
    expect(responses.map(({ errorCode }) => errorCode)).toEqual([
      errorCodes.NONE,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      errorCodes.INVALID_REQUEST,
    ]);
    expect(await valueOf(name, 'segment.ms')).toBe('77');
    expect(await valueOf(name, 'cleanup.policy')).toBe('delete');
  });

  it('describes the broker', async () => {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [
        {
          resourceType: 4,
          resourceName: '1',
          configurationKeys: ['num.partitions', 'log.retention.ms'],
        },
        { resourceType: 4, resourceName: '2', configurationKeys: null },
      ],
    });
    expect(results[0]!.configs).toMatchObject([
      { name: 'log.retention.ms', value: '604800000' },
      { name: 'num.partitions', value: '1', readOnly: true, configSource: 5 },
    ]);
    expect(results[1]!.errorCode).toBe(errorCodes.INVALID_REQUEST);
  });
});

describe('the cluster', () => {
  it('is one node, and has no SASL', async () => {
    const cluster = await client.send(DescribeCluster, 1, {});
    expect(cluster).toMatchObject({
      errorCode: 0,
      controllerId: 1,
      brokers: [{ brokerId: 1, port: broker.port }],
    });
    expect(await client.send(DescribeCluster, 1, { endpointType: 2 })).toMatchObject({
      errorCode: errorCodes.MISMATCHED_ENDPOINT_TYPE,
    });
    expect(await client.send(SaslHandshake, 1, { mechanism: 'PLAIN' })).toMatchObject({
      errorCode: errorCodes.ILLEGAL_SASL_STATE,
    });
  });
});

describe('changes of one topic at one time', () => {
  it('come one after the other, none is lost', async () => {
    const name = await create({ numPartitions: 1 });
    const others = await Promise.all([TestClient.connect(broker), TestClient.connect(broker)]);
    const [one, two] = others;
    const extend = (by: TestClient, count: number) =>
      by.send(CreatePartitions, 3, { topics: [{ name, count, assignments: null }] });
    const set = (by: TestClient, key: string, value: string) =>
      by.send(IncrementalAlterConfigs, 1, {
        resources: [
          {
            resourceType: 2,
            resourceName: name,
            configs: [{ name: key, configOperation: 0, value }],
          },
        ],
      });
    await Promise.all([extend(one, 40), extend(two, 30), extend(client, 20)]);
    await Promise.all([
      set(one, 'segment.ms', '1000'),
      set(two, 'flush.ms', '2000'),
      set(client, 'retention.ms', '3000'),
    ]);
    const { topics } = await client.send(Metadata, 9, { topics: [{ name }] });
    expect(topics[0]!.partitions).toHaveLength(40);
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [{ resourceType: 2, resourceName: name, configurationKeys: null }],
    });
    const own = results[0]!.configs.filter(({ configSource }) => configSource === 1);
    expect(own.map((config) => [config.name, config.value])).toEqual([
      ['flush.ms', '2000'],
      ['retention.ms', '3000'],
      ['segment.ms', '1000'],
    ]);
    const both = await Promise.all([
      one.send(DeleteTopics, 4, { topicNames: [name], timeoutMs: 1000 }),
      two.send(DeleteTopics, 4, { topicNames: [name], timeoutMs: 1000 }),
    ]);
    expect(both.map(({ responses }) => responses[0]!.errorCode).sort()).toEqual([
      errorCodes.NONE,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    ]);
    for (const other of others) await other.close();
  });
});
