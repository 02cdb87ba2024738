/** Public reports of what brokers have done wrong, by their numbers in the list of reports. */
import {
  BatchIterator,
  CreateTopics,
  DeleteRecords,
  errorByCode,
  Fetch,
  ListOffsets,
  Produce,
  RecordCursor,
} from '@millrace/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { batchOf, RawClient, type TestRecord } from '../support/raw-client.ts';

const MAX_TIMESTAMP = -3n;
const LATEST = -1n;
const EARLIEST = -2n;

describeOnBothBrokers('reported', (broker) => {
  let client: RawClient;
  beforeAll(async () => {
    client = await RawClient.connect(broker().bootstrapServers);
  });
  afterAll(() => client.close());

  async function create(configs: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = unique('reported');
    await client.send(CreateTopics, 7, {
      topics: [
        {
          name,
          numPartitions: 1,
          replicationFactor: 1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
    });
    // Kafka's broker learns of its leadership a little later.
    for (let i = 0; i < 200; i++) {
      const { topics } = await client.send(ListOffsets, 4, {
        replicaId: -1,
        topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: LATEST }] }],
      });
      if (topics[0]?.partitions[0]?.errorCode === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return name;
  }

  async function produce(name: string, records: Buffer): Promise<string> {
    const { responses } = await client.send(Produce, 9, {
      acks: -1,
      timeoutMs: 10_000,
      topicData: [{ name, partitionData: [{ index: 0, records }] }],
    });
    return errorByCode(responses[0]?.partitionResponses[0]?.errorCode ?? -1).name;
  }

  async function fetch(topic: string, fetchOffset: bigint, partitionMaxBytes = 1 << 20) {
    const { responses } = await client.send(Fetch, 11, {
      maxWaitMs: 0,
      minBytes: 1,
      topics: [{ topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes }] }],
    });
    const { errorCode, records } = responses[0]!.partitions[0]!;
    const offsets: bigint[] = [];
    const timestamps: number[] = [];
    const batches = new BatchIterator(records ?? Buffer.alloc(0));
    const cursor = new RecordCursor();
    for (let batch = batches.next(); batch !== null; batch = batches.next()) {
      cursor.open(batch);
      while (cursor.next()) {
        offsets.push(cursor.offset());
        timestamps.push(cursor.timestamp);
      }
    }
    return { error: errorByCode(errorCode).name, offsets, timestamps };
  }

  async function offsetOf(name: string, timestamp: bigint) {
    const { topics } = await client.send(ListOffsets, 7, {
      replicaId: -1,
      topics: [{ name, partitions: [{ partitionIndex: 0, timestamp }] }],
    });
    return topics[0]!.partitions[0]!;
  }

  async function purge(name: string, offset: bigint): Promise<bigint> {
    const { topics } = await client.send(DeleteRecords, 2, {
      timeoutMs: 10_000,
      topics: [{ name, partitions: [{ partitionIndex: 0, offset }] }],
    });
    return topics[0]!.partitions[0]!.lowWatermark;
  }

  const values = (count: number): TestRecord[] =>
    Array.from({ length: count }, (_, at) => ({ value: String(at) }));

  it('106: when all is deleted, low and high are the end, and the next offset goes on (kafkajs#987)', async () => {
    const name = await create();
    await produce(name, batchOf(values(5)));
    expect(await purge(name, -1n)).toBe(5n);
    expect((await offsetOf(name, EARLIEST)).offset).toBe(5n);
    expect((await offsetOf(name, LATEST)).offset).toBe(5n);
    expect(await produce(name, batchOf(values(1)))).toBe('NONE');
    expect((await fetch(name, 5n)).offsets).toEqual([5n]);
  });

  it('107: a log start inside a batch gives the batch, and what is before it is out of range (KAFKA-6975)', async () => {
    const name = await create();
    await produce(name, batchOf(values(10)));
    expect(await purge(name, 5n)).toBe(5n);
    expect((await fetch(name, 5n)).offsets).toContain(5n);
    expect((await fetch(name, 4n)).error).toBe('OFFSET_OUT_OF_RANGE');
  });

  it('140: under LogAppendTime every record has the time of the append (kafkajs#768)', async () => {
    const name = await create({ 'message.timestamp.type': 'LogAppendTime' });
    const before = Date.now();
    await produce(name, batchOf([{ timestamp: 1 }, { timestamp: 5_000 }]));
    const { timestamps } = await fetch(name, 0n);
    expect(new Set(timestamps).size).toBe(1);
    expect(timestamps[0]).toBeGreaterThanOrEqual(before - 1_000);
  });

  it('143: a first batch above every limit is given whole (kafka-node#96)', async () => {
    const name = await create();
    await produce(name, batchOf([{ value: 'x'.repeat(100_000) }]));
    expect((await fetch(name, 0n, 100)).offsets).toEqual([0n]);
  });

  it('148: headers count for the size of a batch, and are kept (KAFKA-5457)', async () => {
    const name = await create({ 'max.message.bytes': '100000' });
    const withHeader = (bytes: number): Buffer =>
      batchOf([{ value: 'v', headers: [['h', 'x'.repeat(bytes)]] }]);
    expect(await produce(name, withHeader(90_000))).toBe('NONE');
    expect(await produce(name, withHeader(100_000))).toBe('MESSAGE_TOO_LARGE');
    expect((await fetch(name, 0n)).offsets).toEqual([0n]);
  });

  it('149: the offset of the greatest time is that of its record, in a compressed batch too (KAFKA-16342)', async () => {
    const name = await create();
    const records = [5, 9, 7].map((timestamp) => ({ timestamp, value: 'v' }));
    await produce(name, batchOf(records, { codec: 'gzip' }));
    expect(await offsetOf(name, MAX_TIMESTAMP)).toMatchObject({ offset: 1n, timestamp: 9n });
  });
});
