/** Produce, fetch, list offsets and delete records: what a client sees of a partition's log. */
import {
  BatchIterator,
  CreateTopics,
  DeleteRecords,
  errorCodes,
  Fetch,
  type FetchResponse,
  InitProducerId,
  ListOffsets,
  Produce,
  RecordCursor,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { batchOf, RawClient, type TestRecord } from '../support/raw-client.ts';

const PRODUCE = 9;
const FETCH = 12;
const LIST_OFFSETS = 7;

describeOnBothBrokers('a log', (broker) => {
  let client: RawClient;
  beforeAll(async () => {
    client = await RawClient.connect(broker().bootstrapServers);
  });
  afterAll(() => client.close());

  async function topic(configs: Record<string, string> = {}, numPartitions = 1): Promise<string> {
    const name = unique('log');
    const { topics } = await client.send(CreateTopics, 5, {
      topics: [
        {
          name,
          numPartitions,
          replicationFactor: 1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
    });
    expect(topics[0]?.errorCode).toBe(0);
    // Kafka answers before every node has the topic; a first produce may come too early.
    for (let i = 0; i < 100; i++) {
      if ((await offset(name, -1n)).errorCode === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return name;
  }

  async function produce(
    name: string,
    records: Buffer,
    options: { acks?: number; index?: number } = {},
  ) {
    const { responses } = await client.send(Produce, PRODUCE, {
      acks: options.acks ?? -1,
      timeoutMs: 10_000,
      topicData: [{ name, partitionData: [{ index: options.index ?? 0, records }] }],
    });
    const answer = responses[0]?.partitionResponses[0];
    if (answer === undefined) throw new Error('no answer for the partition');
    return answer;
  }

  interface FetchOptions {
    readonly maxWaitMs?: number;
    readonly minBytes?: number;
    readonly maxBytes?: number;
    readonly partitionMaxBytes?: number;
    readonly isolationLevel?: number;
  }

  async function fetch(name: string, fetchOffset: bigint, options: FetchOptions = {}) {
    const response: FetchResponse = await client.send(Fetch, FETCH, {
      maxWaitMs: options.maxWaitMs ?? 0,
      minBytes: options.minBytes ?? 1,
      maxBytes: options.maxBytes ?? 1 << 20,
      isolationLevel: options.isolationLevel ?? 0,
      sessionId: 0,
      sessionEpoch: -1,
      topics: [
        {
          topic: name,
          partitions: [
            { partition: 0, fetchOffset, partitionMaxBytes: options.partitionMaxBytes ?? 1 << 20 },
          ],
        },
      ],
    });
    const answer = response.responses[0]?.partitions[0];
    if (answer === undefined) throw new Error('no answer for the partition');
    return answer;
  }

  async function offset(name: string, timestamp: bigint, partitionIndex = 0) {
    const { topics } = await client.send(ListOffsets, LIST_OFFSETS, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [{ name, partitions: [{ partitionIndex, timestamp, currentLeaderEpoch: -1 }] }],
    });
    const answer = topics[0]?.partitions[0];
    if (answer === undefined) throw new Error('no answer for the partition');
    return answer;
  }

  async function deleteRecords(partitions: Record<string, [number, bigint][]>) {
    const { topics } = await client.send(DeleteRecords, 2, {
      timeoutMs: 10_000,
      topics: Object.entries(partitions).map(([name, list]) => ({
        name,
        partitions: list.map(([partitionIndex, at]) => ({ partitionIndex, offset: at })),
      })),
    });
    return topics
      .flatMap((entry) => entry.partitions)
      .map(({ partitionIndex, lowWatermark, errorCode }) => ({
        partitionIndex,
        lowWatermark,
        errorCode,
      }));
  }

  /** Right after its start Kafka answers that it is still loading. */
  async function newProducerId(): Promise<{ producerId: bigint; producerEpoch: number }> {
    for (let i = 0; ; i++) {
      const answer = await client.send(InitProducerId, 4, {
        transactionalId: null,
        transactionTimeoutMs: 0,
        producerId: -1n,
        producerEpoch: -1,
      });
      if (answer.errorCode !== errorCodes.COORDINATOR_LOAD_IN_PROGRESS || i === 100) {
        expect(answer.errorCode).toBe(0);
        return answer;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  const numbered = (count: number, from = 0): TestRecord[] =>
    Array.from({ length: count }, (_, i) => ({ key: `k${from + i}`, value: `v${from + i}` }));

  describe('produce', () => {
    it('assigns consecutive offsets, whatever the codec', async () => {
      const name = await topic();
      let expected = 0n;
      for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
        const answer = await produce(name, batchOf(numbered(10), { codec }));
        expect(answer).toMatchObject({ errorCode: 0, baseOffset: expected, logStartOffset: 0n });
        expected += 10n;
      }
      const records = read((await fetch(name, 0n)).records);
      expect(records.map((record) => record.offset)).toEqual(
        Array.from({ length: 50 }, (_, i) => BigInt(i)),
      );
      expect(records[43]).toEqual({ offset: 43n, key: 'k3', value: 'v3' });
    });

    it('answers a repeated batch with its first offset and appends nothing', async () => {
      const name = await topic();
      const producer = await newProducerId();
      const at = (baseSequence: number): Buffer =>
        batchOf(numbered(3, baseSequence), {
          producerId: producer.producerId,
          producerEpoch: producer.producerEpoch,
          baseSequence,
        });
      for (let i = 0; i < 7; i++) {
        expect(await produce(name, at(i * 3))).toMatchObject({
          errorCode: 0,
          baseOffset: BigInt(i * 3),
        });
      }
      // The last five batches are remembered.
      for (const i of [2, 6]) {
        expect(await produce(name, at(i * 3))).toMatchObject({
          errorCode: 0,
          baseOffset: BigInt(i * 3),
        });
      }
      expect((await produce(name, at(30))).errorCode).toBe(errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER);
      expect((await offset(name, -1n)).offset).toBe(21n);
    });

    it('refuses an older epoch of a producer', async () => {
      const name = await topic();
      const { producerId } = await newProducerId();
      const of = (producerEpoch: number, baseSequence: number): Buffer =>
        batchOf(numbered(1), { producerId, producerEpoch, baseSequence });
      expect((await produce(name, of(5, 0))).errorCode).toBe(0);
      expect((await produce(name, of(4, 1))).errorCode).toBe(errorCodes.INVALID_PRODUCER_EPOCH);
      expect((await produce(name, of(6, 1))).errorCode).toBe(
        errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER,
      );
      expect((await produce(name, of(6, 0))).errorCode).toBe(0);
    });

    it('refuses bytes that are not what they say', async () => {
      const name = await topic();
      const good = batchOf(numbered(2));
      const flipped = Buffer.from(good);
      flipped[good.length - 2] = (flipped[good.length - 2] as number) ^ 1;
      expect((await produce(name, flipped)).errorCode).toBe(errorCodes.CORRUPT_MESSAGE);
      expect((await produce(name, Buffer.concat([good, good]))).errorCode).toBe(
        errorCodes.INVALID_RECORD,
      );
      expect((await offset(name, -1n)).offset).toBe(0n);
    });

    it('refuses a record without key on a compacted topic, naming it', async () => {
      const name = await topic({ 'cleanup.policy': 'compact' });
      const answer = await produce(
        name,
        batchOf([
          { key: 'a', value: '1' },
          { key: null, value: '2' },
          { key: 'c', value: null },
        ]),
      );
      expect(answer.errorCode).toBe(errorCodes.INVALID_RECORD);
      expect(answer.recordErrors.map((entry) => entry.batchIndex)).toEqual([1]);
      expect((await offset(name, -1n)).offset).toBe(0n);
    });

    it('refuses a batch above max.message.bytes', async () => {
      const name = await topic({ 'max.message.bytes': '1000' });
      const answer = await produce(name, batchOf([{ key: 'k', value: 'x'.repeat(2_000) }]));
      expect(answer.errorCode).toBe(errorCodes.MESSAGE_TOO_LARGE);
    });

    it('refuses timestamps outside the bounds of the topic', async () => {
      const name = await topic({ 'message.timestamp.before.max.ms': '60000' });
      const old = batchOf([{ key: 'k', value: 'v', timestamp: Date.now() - 3_600_000 }]);
      expect((await produce(name, old)).errorCode).toBe(errorCodes.INVALID_TIMESTAMP);
      const ahead = batchOf([{ key: 'k', value: 'v', timestamp: Date.now() + 7_200_000 }]);
      expect((await produce(name, ahead)).errorCode).toBe(errorCodes.INVALID_TIMESTAMP);
    });

    it('stamps records itself under LogAppendTime', async () => {
      const name = await topic({ 'message.timestamp.type': 'LogAppendTime' });
      const before = Date.now();
      const answer = await produce(name, batchOf([{ key: 'k', value: 'v', timestamp: 5 }]));
      expect(Number(answer.logAppendTimeMs)).toBeGreaterThanOrEqual(before - 1_000);
      const batch = new BatchIterator((await fetch(name, 0n)).records as Buffer).next();
      expect(batch?.timestampType).toBe('logAppendTime');
      expect(batch?.isValid()).toBe(true);
      expect(BigInt(batch?.maxTimestamp as number)).toBe(answer.logAppendTimeMs);
    });

    it('says so for a partition and a topic that are not there', async () => {
      const name = await topic();
      const batch = batchOf(numbered(1));
      expect((await produce(name, batch, { index: 7 })).errorCode).toBe(
        errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      );
      expect((await produce(unique('missing'), batch)).errorCode).toBe(
        errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      );
    });

    it('does not answer acks=0, and appends all the same', async () => {
      const name = await topic();
      client.post(Produce, PRODUCE, {
        acks: 0,
        timeoutMs: 1_000,
        topicData: [{ name, partitionData: [{ index: 0, records: batchOf(numbered(2)) }] }],
      });
      // The next answer on this connection is the next request's.
      expect((await produce(name, batchOf(numbered(1)))).baseOffset).toBe(2n);
    });

    it('recompresses to the codec of the topic', async () => {
      const name = await topic({ 'compression.type': 'gzip' });
      await produce(name, batchOf(numbered(20), { codec: 'lz4' }));
      const { records } = await fetch(name, 0n);
      expect(new BatchIterator(records as Buffer).next()?.codec).toBe('gzip');
      expect(read(records)).toHaveLength(20);
    });
  });

  describe('fetch', () => {
    it('keeps headers in order, repeated and null', async () => {
      const name = await topic();
      const headers = [
        ['b', '1'],
        ['2', 'x'],
        ['1', 'y'],
        ['b', '3'],
        ['n', null],
      ] as const;
      await produce(name, batchOf([{ key: 'k', value: 'v', headers }]));
      const cursor = new RecordCursor();
      const batch = new BatchIterator((await fetch(name, 0n)).records as Buffer).next();
      if (batch === null) throw new Error('no batch');
      cursor.open(batch);
      expect(cursor.next()).toBe(true);
      expect([...cursor.headers()].map((h) => [h.key, h.value?.toString() ?? null])).toEqual(
        headers.map((pair) => [...pair]),
      );
    });

    it('returns the whole batch that holds the offset', async () => {
      const name = await topic();
      await produce(name, batchOf(numbered(10)));
      await produce(name, batchOf(numbered(10, 10)));
      const records = read((await fetch(name, 7n)).records);
      expect(records[0]?.offset).toBe(0n);
      expect(records).toHaveLength(20);
    });

    it('is out of range below the start and above the end, and empty at the end', async () => {
      const name = await topic();
      await produce(name, batchOf(numbered(3)));
      const above = await fetch(name, 4n);
      expect(above).toMatchObject({
        errorCode: errorCodes.OFFSET_OUT_OF_RANGE,
        highWatermark: -1n,
        logStartOffset: -1n,
      });
      const end = await fetch(name, 3n);
      expect(end).toMatchObject({ errorCode: 0, highWatermark: 3n, lastStableOffset: 3n });
      expect(end.records?.length ?? 0).toBe(0);
    });

    it('returns a first batch larger than every limit', async () => {
      const name = await topic();
      await produce(name, batchOf([{ key: 'k', value: 'x'.repeat(100_000) }]));
      const answer = await fetch(name, 0n, { maxBytes: 100, partitionMaxBytes: 100 });
      expect(read(answer.records)).toHaveLength(1);
    });

    it('waits for minBytes up to maxWaitMs, and answers when they are there', async () => {
      const name = await topic();
      const other = await RawClient.connect(broker().bootstrapServers);
      try {
        const started = performance.now();
        const parked = fetch(name, 0n, { maxWaitMs: 10_000, minBytes: 1 });
        await new Promise((resolve) => setTimeout(resolve, 100));
        await other.send(Produce, PRODUCE, {
          acks: -1,
          timeoutMs: 1_000,
          topicData: [{ name, partitionData: [{ index: 0, records: batchOf(numbered(1)) }] }],
        });
        expect(read((await parked).records)).toHaveLength(1);
        const waited = performance.now() - started;
        expect(waited).toBeGreaterThan(90);
        expect(waited).toBeLessThan(5_000);
      } finally {
        other.close();
      }
      const started = performance.now();
      const answer = await fetch(name, 1n, { maxWaitMs: 200, minBytes: 1 });
      expect(answer.records?.length ?? 0).toBe(0);
      expect(performance.now() - started).toBeGreaterThan(150);
    });

    it('speaks topic ids from version 13 on', async () => {
      const name = await topic();
      await produce(name, batchOf(numbered(1)));
      const response = await client.send(Fetch, 13, {
        maxWaitMs: 0,
        minBytes: 1,
        maxBytes: 1 << 20,
        isolationLevel: 0,
        sessionId: 0,
        sessionEpoch: -1,
        topics: [
          {
            topicId: 'AAAAAAAAAAAAAAAAAAAAZQ',
            partitions: [{ partition: 0, fetchOffset: 0n, partitionMaxBytes: 1 << 20 }],
          },
        ],
      });
      expect(response.responses[0]?.partitions[0]?.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_ID);
    });
  });

  describe('list offsets', () => {
    it('knows earliest, latest and the greatest timestamp', async () => {
      const name = await topic();
      const now = Date.now();
      await produce(
        name,
        batchOf(
          [5, 9, 7].map((ahead) => ({ key: 'k', value: 'v', timestamp: now + ahead })),
          { codec: 'gzip' },
        ),
      );
      expect((await offset(name, -2n)).offset).toBe(0n);
      expect((await offset(name, -1n)).offset).toBe(3n);
      expect(await offset(name, -3n)).toMatchObject({ offset: 1n, timestamp: BigInt(now + 9) });
    });

    it('finds the first record at or after a time', async () => {
      const name = await topic();
      const now = Date.now();
      for (let i = 0; i < 5; i++) {
        await produce(
          name,
          batchOf([0, 1].map((j) => ({ key: 'k', value: 'v', timestamp: now + 10 * i + j }))),
        );
      }
      expect(await offset(name, BigInt(now + 21))).toMatchObject({
        offset: 5n,
        timestamp: BigInt(now + 21),
      });
      expect(await offset(name, BigInt(now + 22))).toMatchObject({ offset: 6n });
      expect(await offset(name, BigInt(now + 1_000))).toMatchObject({
        offset: -1n,
        timestamp: -1n,
      });
    });
  });

  describe('delete records', () => {
    it('moves the log start at once, also inside a batch, and refuses offsets below it', async () => {
      const name = await topic();
      await produce(name, batchOf(numbered(10)));
      expect(await deleteRecords({ [name]: [[0, 5n]] })).toEqual([
        { partitionIndex: 0, lowWatermark: 5n, errorCode: 0 },
      ]);
      expect((await offset(name, -2n)).offset).toBe(5n);
      expect((await fetch(name, 4n)).errorCode).toBe(errorCodes.OFFSET_OUT_OF_RANGE);
      const answer = await fetch(name, 5n);
      expect(answer.logStartOffset).toBe(5n);
      expect(read(answer.records)[0]?.offset).toBe(0n);
      // At or below the start nothing changes.
      expect((await deleteRecords({ [name]: [[0, 2n]] }))[0]).toMatchObject({
        lowWatermark: 5n,
        errorCode: 0,
      });
    });

    it('deletes all with -1, and offsets go on', async () => {
      const name = await topic();
      await produce(name, batchOf(numbered(10)));
      expect((await deleteRecords({ [name]: [[0, -1n]] }))[0]?.lowWatermark).toBe(10n);
      expect((await offset(name, -2n)).offset).toBe(10n);
      expect((await produce(name, batchOf(numbered(1)))).baseOffset).toBe(10n);
    });

    it('answers each partition for itself', async () => {
      const name = await topic({}, 2);
      const compacted = await topic({ 'cleanup.policy': 'compact' });
      const both = await topic({ 'cleanup.policy': 'compact,delete' });
      await produce(name, batchOf(numbered(3)));
      const answers = await deleteRecords({
        [name]: [
          [0, 2n],
          [1, 9n],
        ],
        [compacted]: [[0, 99n]],
        [both]: [[0, 0n]],
      });
      expect(answers).toEqual(
        expect.arrayContaining([
          { partitionIndex: 0, lowWatermark: 2n, errorCode: 0 },
          { partitionIndex: 1, lowWatermark: -1n, errorCode: errorCodes.OFFSET_OUT_OF_RANGE },
          { partitionIndex: 0, lowWatermark: -1n, errorCode: errorCodes.POLICY_VIOLATION },
          { partitionIndex: 0, lowWatermark: 0n, errorCode: 0 },
        ]),
      );
      expect((await deleteRecords({ [unique('missing')]: [[0, 0n]] }))[0]).toMatchObject({
        errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      });
    });
  });
});

interface Read {
  readonly offset: bigint;
  readonly key: string | undefined;
  readonly value: string | undefined;
}

function read(records: Buffer | null): Read[] {
  const result: Read[] = [];
  if (records === null) return result;
  const batches = new BatchIterator(records);
  const cursor = new RecordCursor();
  for (let batch = batches.next(); batch !== null; batch = batches.next()) {
    cursor.open(batch);
    while (cursor.next()) {
      result.push({
        offset: cursor.offset(),
        key: cursor.key()?.toString(),
        value: cursor.value()?.toString(),
      });
    }
  }
  return result;
}
