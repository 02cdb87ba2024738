import { describe, expect, it } from 'vitest';
import {
  InitProducerId,
  Produce,
  RecordBatch,
  RecordCursor,
  RecordHeaders,
  errorCodes,
  Metadata,
} from '@millrace/protocol';
import type { MetadataRequest, ProduceRequest } from '@millrace/protocol';
import { ProductionError, ShutdownError, TimeoutError } from '../errors.ts';
import { silentLogger } from '../logging/logger.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import { AuthorizationError, MissingTopicError, RecordTooLargeError } from './errors.ts';
import { PartitionAccumulator } from './partition-accumulator.ts';
import type { AcknowledgedBatch, PartitionBuffer, ProducerOptions } from './ports.ts';
import { Producer } from './producer.ts';
import { FakeBrokers } from './testing-support/fake-brokers.ts';
import { FakeTransport } from './testing-support/fake-transport.ts';

const text: RecordSerde<string> = {
  name: 'text',
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes).toString(),
  write: (value, target, position) =>
    position + Buffer.byteLength(value) > target.length
      ? -1
      : position + target.write(value, position),
  read: (source, start, end) => source.toString('utf8', start, end),
};

function setUp(options: Partial<ProducerOptions> = {}, nodeCount = 1, random = () => 0.5) {
  const clock = new FakeClock();
  const transport = new FakeTransport();
  const brokers = new FakeBrokers(transport, nodeCount);
  brokers.addTopic('out', 4);
  let drainedCount = 0;
  const producer = new Producer(
    { transport, clock, random, logger: silentLogger() },
    {
      lingerMs: 5,
      batchBytes: 16_384,
      grownBatchBytes: 0,
      bufferBytes: 1 << 20,
      requestTimeoutMs: 1_000,
      deliveryTimeoutMs: 10_000,
      compression: 'none',
      onDrained: () => drainedCount++,
      ...options,
    },
  );
  return { clock, transport, brokers, producer, drained: () => drainedCount };
}

function send(buffer: PartitionBuffer, value: string, headers: RecordHeaders | null = null): void {
  const key = Buffer.from('k');
  buffer.append(1_000, key, 0, key.length, value, text, headers);
}

/** Flushes while the clock goes on. */
async function flush(producer: Producer, clock: FakeClock): Promise<Error | null> {
  let result: Error | null | undefined;
  producer.flush().then(
    () => (result = null),
    (error: unknown) => (result = error as Error),
  );
  for (let i = 0; i < 400 && result === undefined; i++) await clock.advance(50);
  if (result === undefined) throw new Error('the flush does not end');
  return result;
}

function produceRequests(transport: FakeTransport): ProduceRequest[] {
  return transport.sent
    .filter(({ apiName }) => apiName === Produce.name)
    .map(({ body }) => body as ProduceRequest);
}

describe('Producer', () => {
  it('sends an open batch when it has lingered, and tells the acknowledged end offset', async () => {
    const { clock, transport, brokers, producer } = setUp();
    const buffer = producer.partition('out', 0);
    await clock.advance(100);
    send(buffer, 'a');
    await clock.advance(4);
    expect(transport.count(Produce)).toBe(0);
    send(buffer, 'b');
    expect(buffer.ackedEndOffset).toBeNull();
    await clock.advance(200);
    expect(transport.count(Produce)).toBe(1);
    expect(brokers.partition('out', 0).values).toEqual(['a', 'b']);
    expect(buffer.ackedEndOffset).toBe(2n);
    await producer.close(1_000);
    expect(clock.timerCount).toBe(0);
  });

  it('tells of every batch that is acknowledged, and of no other, with the acks that it asked for', async () => {
    const acknowledged: AcknowledgedBatch[] = [];
    const { clock, transport, brokers, producer } = setUp({
      acks: 'leader',
      onAcknowledged: (batch) => acknowledged.push(batch),
      onUndelivered: () => null,
    });
    brokers.refuse = (_topic, partition) =>
      partition === 1 ? errorCodes.TOPIC_AUTHORIZATION_FAILED : 0;
    let isLost = true;
    brokers.fate = () => {
      if (!isLost) return 'served';
      isLost = false;
      return 'lost after it is written';
    };
    send(producer.partition('out', 0), 'a');
    send(producer.partition('out', 0), 'b');
    send(producer.partition('out', 1), 'c');
    expect(await flush(producer, clock)).toBeNull();
    expect(acknowledged).toEqual([{ topic: 'out', partition: 0, baseOffset: 0n, recordCount: 2 }]);
    expect(produceRequests(transport).map(({ acks }) => acks)).toEqual([1, 1]);
    await producer.close(1_000);
  });

  it('puts batches of several partitions of one broker into one request', async () => {
    const { clock, transport, producer } = setUp();
    for (const partition of [0, 1, 2, 3]) send(producer.partition('out', partition), 'x');
    expect(await flush(producer, clock)).toBeNull();
    expect(produceRequests(transport)).toHaveLength(1);
    expect(produceRequests(transport)[0]?.topicData[0]?.partitionData).toHaveLength(4);
  });

  it('keeps headers in order, repeated and null', async () => {
    const { clock, transport, producer } = setUp();
    const headers = new RecordHeaders().add('b', '1').add('2', null).add('b', '3');
    send(producer.partition('out', 0), 'x', headers);
    await flush(producer, clock);
    const records = produceRequests(transport)[0]?.topicData[0]?.partitionData[0]?.records;
    expect(records).toBeInstanceOf(Buffer);
    expect(new RecordBatch(records as Buffer).isValid()).toBe(true);
  });

  it('85: has at most five requests under way to a broker, with consecutive sequences (kafkajs#598, #1005, platformatic/kafka#326)', async () => {
    const { clock, brokers, transport, producer } = setUp({ batchBytes: 200 });
    const buffer = producer.partition('out', 0);
    await clock.advance(200);
    send(buffer, 'first');
    expect(await flush(producer, clock)).toBeNull();
    transport.sent.length = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    brokers.delay = () => held;
    for (let i = 0; i < 100; i++) send(buffer, `value-${i}`);
    await clock.advance(50);
    expect(transport.count(Produce)).toBe(5);
    const sequences = produceRequests(transport).map(({ topicData }) => {
      const batch = new RecordBatch(topicData[0]?.partitionData[0]?.records as Buffer);
      return [batch.baseSequence, batch.recordCount] as const;
    });
    let expected = 1;
    for (const [baseSequence, recordCount] of sequences) {
      expect(baseSequence).toBe(expected);
      expected += recordCount;
    }
    release();
    expect(await flush(producer, clock)).toBeNull();
    expect(brokers.partition('out', 0).values).toEqual([
      'first',
      ...Array.from({ length: 100 }, (_, i) => `value-${i}`),
    ]);
  });

  it.each([
    ['the first that it has', false],
    ['one that it took later', true],
  ])(
    'writes in order under a producer id that the broker does not know: %s',
    async (_id, isLater) => {
      const { clock, brokers, producer } = setUp({ batchBytes: 200 });
      const buffer = producer.partition('out', 0);
      if (isLater) {
        brokers.refuse = () => errorCodes.INVALID_RECORD;
        send(buffer, 'refused');
        expect((await flush(producer, clock))?.message).toMatch(/INVALID_RECORD/);
      }
      // The leader is new: it takes the second request, but not the first.
      let isFirst = true;
      brokers.refuse = () => {
        const code = isFirst ? errorCodes.NOT_LEADER_OR_FOLLOWER : 0;
        isFirst = false;
        return code;
      };
      const values = Array.from({ length: 100 }, (_, i) => `value-${i}`);
      for (const value of values) send(buffer, value);
      expect(await flush(producer, clock)).toBeNull();
      expect(brokers.partition('out', 0).values).toEqual(values);
    },
  );

  it('lets a batch grow while another one waits, up to a bound, and not after a refusal', async () => {
    const { clock, brokers, transport, producer } = setUp({
      batchBytes: 200,
      grownBatchBytes: 2_000,
    });
    const buffer = producer.partition('out', 0);
    await clock.advance(200);
    for (let i = 0; i < 200; i++) send(buffer, `value-${i}`);
    expect(await flush(producer, clock)).toBeNull();
    const sizes = produceRequests(transport).map(
      ({ topicData }) => topicData[0]?.partitionData[0]?.records?.length ?? 0,
    );
    expect(sizes[0]).toBeLessThanOrEqual(200);
    expect(Math.max(...sizes)).toBeGreaterThan(1_500);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000);

    // A topic with a smaller limit than the bound: split once, and then small for good.
    brokers.refuse = (_topic, _partition, records) =>
      records.length > 1_000 ? errorCodes.MESSAGE_TOO_LARGE : 0;
    for (let i = 200; i < 400; i++) send(buffer, `value-${i}`);
    expect(await flush(producer, clock)).toBeNull();
    const before = transport.count(Produce);
    for (let i = 400; i < 600; i++) send(buffer, `value-${i}`);
    expect(await flush(producer, clock)).toBeNull();
    for (const { topicData } of produceRequests(transport).slice(before)) {
      expect(topicData[0]?.partitionData[0]?.records?.length).toBeLessThanOrEqual(200);
    }
    expect(brokers.partition('out', 0).values).toEqual(
      Array.from({ length: 600 }, (_, i) => `value-${i}`),
    );
  });

  it('gathers what comes slowly in one batch while others wait, and sends it when these have gone', async () => {
    const { clock, brokers, transport, producer } = setUp();
    const buffer = producer.partition('out', 0);
    send(buffer, 'first');
    expect(await flush(producer, clock)).toBeNull();
    transport.sent.length = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    brokers.delay = () => held;
    for (let i = 0; i < 50; i++) {
      send(buffer, `value-${i}`);
      await clock.advance(10);
    }
    expect(transport.count(Produce)).toBe(5);
    release();
    await clock.advance(10);
    // Five under way, one that waited behind them, and all the rest.
    expect(transport.count(Produce)).toBe(7);
    expect(brokers.partition('out', 0).values).toEqual([
      'first',
      ...Array.from({ length: 50 }, (_, i) => `value-${i}`),
    ]);
    await producer.close(1_000);
    expect(clock.timerCount).toBe(0);
  });

  it('sends what has gathered behind a batch that is given up', async () => {
    const { clock, brokers, producer } = setUp({
      deliveryTimeoutMs: 4_000,
      onUndelivered: () => null,
    });
    const buffer = producer.partition('out', 0);
    brokers.fate = () => 'lost before it is written';
    send(buffer, 'lost');
    await clock.advance(3_000);
    for (const value of ['a', 'b', 'c']) {
      send(buffer, value);
      await clock.advance(300);
    }
    await clock.advance(200);
    brokers.fate = () => 'served';
    await clock.advance(2_000);
    expect(brokers.partition('out', 0).values).toEqual(['a', 'b', 'c']);
    await producer.close(1_000);
  });

  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))(
    'writes every record once and in order through losses and leader moves (seed %i)',
    async (seed) => {
      let state = seed;
      const random = (): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return state / 2 ** 32;
      };
      const { clock, brokers, producer } = setUp(
        { batchBytes: 300, deliveryTimeoutMs: 1e9 },
        3,
        random,
      );
      brokers.fate = () => {
        const dice = random();
        if (dice < 0.15) return 'lost before it is written';
        return dice < 0.3 ? 'lost after it is written' : 'served';
      };
      brokers.refuse = () => (random() < 0.1 ? errorCodes.NOT_ENOUGH_REPLICAS : 0);
      brokers.delay = async () => {
        for (let i = 0; i < random() * 5; i++) await Promise.resolve();
      };
      const expected: string[][] = [[], [], [], []];
      for (let i = 0; i < 400; i++) {
        const partition = Math.floor(random() * 4);
        expected[partition]?.push(`v${i}`);
        send(producer.partition('out', partition), `v${i}`);
        if (random() < 0.05) await clock.advance(random() * 300);
        if (random() < 0.03)
          brokers.partition('out', partition).moveTo(1 + Math.floor(random() * 3));
      }
      brokers.fate = () => 'served';
      expect(await flush(producer, clock)).toBeNull();
      for (const [partition, values] of expected.entries()) {
        expect(brokers.partition('out', partition).values).toEqual(values);
        if (values.length > 0) {
          expect(producer.partition('out', partition).ackedEndOffset).toBe(BigInt(values.length));
        }
      }
    },
  );

  it('takes a duplicate sequence for success', async () => {
    const { clock, brokers, producer } = setUp();
    brokers.refuse = () => errorCodes.DUPLICATE_SEQUENCE_NUMBER;
    send(producer.partition('out', 0), 'x');
    expect(await flush(producer, clock)).toBeNull();
  });

  it.each([errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER, errorCodes.UNKNOWN_PRODUCER_ID])(
    'goes on under a new producer id when the broker does not know the sequences any more (%i)',
    async (code) => {
      const { clock, brokers, transport, producer } = setUp({ batchBytes: 200 });
      const buffer = producer.partition('out', 0);
      send(buffer, 'first');
      await flush(producer, clock);
      const partition = brokers.partition('out', 0);
      partition.batches.length = 0;
      brokers.refuse = (_topic, _partition, records) =>
        new RecordBatch(records).producerId === 1000n ? code : 0;
      for (let i = 0; i < 50; i++) send(buffer, `v${i}`);
      expect(await flush(producer, clock)).toBeNull();
      expect(partition.values).toEqual(['first', ...Array.from({ length: 50 }, (_, i) => `v${i}`)]);
      expect(transport.count(InitProducerId)).toBe(2);
    },
  );

  it('gives up after the delivery timeout, says why, and does not build on the lost sequence', async () => {
    const { clock, brokers, producer } = setUp();
    const buffer = producer.partition('out', 1);
    send(buffer, 'first');
    await flush(producer, clock);
    brokers.fate = () => 'lost before it is written';
    send(buffer, 'lost');
    const failure = await flush(producer, clock);
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure?.message).toMatch(
      /1 records for out-1 .*delivery\.timeout\.ms \(10000\): lost before/,
    );
    expect(producer.failure).toBeNull();
    brokers.fate = () => 'served';
    send(buffer, 'next');
    expect(await flush(producer, clock)).toBeNull();
    const partition = brokers.partition('out', 1);
    expect(partition.values).toEqual(['first', 'next']);
    expect(partition.batches.map(({ producerId }) => producerId)).toEqual([1000n, 1001n]);
  });

  it.each(['none', 'gzip'] as const)(
    'shows the records that it gives up, sent or not, and lets them go where told to (%s)',
    async (compression) => {
      const given: string[] = [];
      const { clock, brokers, producer } = setUp({
        compression,
        onUndelivered: ({ topic, partition, error, recordCount, records }) => {
          const values = [...records()].map(({ key, value, timestamp, headers }) =>
            [key, value, timestamp, headers?.last('h')?.value].join(' '),
          );
          given.push(`${topic}-${partition} ${error.name} ${recordCount}: ${values.join(', ')}`);
          return null;
        },
      });
      brokers.refuse = () => errorCodes.INVALID_RECORD;
      const headers = new RecordHeaders().add('h', 'x');
      send(producer.partition('out', 0), 'a', headers);
      send(producer.partition('out', 0), 'b', headers);
      expect(await flush(producer, clock)).toBeNull();
      brokers.refuse = () => 0;
      brokers.fate = () => 'lost before it is written';
      send(producer.partition('out', 1), 'c', headers);
      expect(await flush(producer, clock)).toBeNull();
      expect(given).toEqual([
        'out-0 ProductionError 2: k a 1000 x, k b 1000 x',
        'out-1 TimeoutError 1: k c 1000 x',
      ]);
    },
  );

  it('notices a failure without a flush', async () => {
    const { clock, brokers, producer } = setUp();
    brokers.refuse = () => errorCodes.INVALID_RECORD;
    send(producer.partition('out', 0), 'x');
    await clock.advance(500);
    expect(producer.failure).toBeInstanceOf(ProductionError);
    expect(producer.failure?.message).toContain('out-0');
    await expect(producer.flush()).rejects.toThrow(/INVALID_RECORD/);
  });

  it('writes later records after one batch was refused for good', async () => {
    const { clock, brokers, producer } = setUp({ batchBytes: 100 });
    const buffer = producer.partition('out', 0);
    brokers.refuse = (_topic, _partition, records) =>
      records.includes('bad') ? errorCodes.INVALID_RECORD : 0;
    for (const value of ['good-1', 'bad', 'good-2', 'good-3', 'good-4']) {
      send(buffer, value.padEnd(60, '.'));
    }
    expect(await flush(producer, clock)).toBeInstanceOf(ProductionError);
    const written = brokers.partition('out', 0).values.map((value) => value.replace(/\.+$/, ''));
    expect(written).toEqual(['good-1', 'good-2', 'good-3', 'good-4']);
  });

  it.each(['none', 'lz4'] as const)(
    'splits a batch that is too large for the topic, headers and all (%s)',
    async (compression) => {
      const { clock, brokers, transport, producer } = setUp({ compression, batchBytes: 8_000 });
      const buffer = producer.partition('out', 0);
      brokers.refuse = (_topic, _partition, records) =>
        new RecordBatch(records).recordCount > 3 ? errorCodes.MESSAGE_TOO_LARGE : 0;
      for (let i = 0; i < 50; i++) {
        send(buffer, `v${i}`, new RecordHeaders().add('h', String(i)).add('h', null));
      }
      expect(await flush(producer, clock)).toBeNull();
      const { values } = brokers.partition('out', 0);
      expect(values).toEqual(Array.from({ length: 50 }, (_, i) => `v${i}`));
      expect(buffer.ackedEndOffset).toBe(50n);
      expect(transport.count(InitProducerId)).toBe(1);
      const last = produceRequests(transport).at(-1)?.topicData[0]?.partitionData[0]?.records;
      const cursor = new RecordCursor();
      cursor.open(new RecordBatch(last as Buffer));
      let headers: (string | null)[] = [];
      while (cursor.next()) {
        headers = cursor
          .headers()
          .all('h')
          .map(({ value }) => value?.toString() ?? null);
      }
      expect(headers).toEqual(['49', null]);
      brokers.refuse = () => errorCodes.MESSAGE_TOO_LARGE;
      for (let i = 0; i < 3; i++) send(buffer, `w${i}`);
      const failure = await flush(producer, clock);
      expect(failure).toBeInstanceOf(RecordTooLargeError);
      expect(failure?.message).toContain('max.message.bytes');
    },
  );

  it('takes a new producer id before a sequence would exceed an int32', async () => {
    const { clock, brokers, transport, producer } = setUp();
    const buffer = producer.partition('out', 0);
    if (!(buffer instanceof PartitionAccumulator)) throw new Error('not the buffer we know');
    send(buffer, 'a');
    await flush(producer, clock);
    buffer.nextSequence = 0x7fffffff - 1;
    for (let i = 0; i < 3; i++) send(buffer, `b${i}`);
    expect(await flush(producer, clock)).toBeNull();
    expect(brokers.partition('out', 0).values).toEqual(['a', 'b0', 'b1', 'b2']);
    expect(transport.count(InitProducerId)).toBe(2);
  });

  it('refuses a record above max.request.size and goes on with the next', async () => {
    const { clock, brokers, producer } = setUp({ batchBytes: 1_000, maxRequestBytes: 10_000 });
    const buffer = producer.partition('out', 0);
    send(buffer, 'small');
    expect(() => send(buffer, 'x'.repeat(20_000))).toThrow(RecordTooLargeError);
    const large = new RecordHeaders().add('h', 'y'.repeat(20_000));
    expect(() => send(buffer, 'x', large)).toThrow(/max\.request\.size \(10000\)/);
    send(buffer, 'x'.repeat(5_000));
    expect(await flush(producer, clock)).toBeNull();
    expect(brokers.partition('out', 0).values.map(({ length }) => length)).toEqual([5, 5_000]);
  });

  it('is full at its bound and calls onDrained at half of it', async () => {
    const { clock, brokers, producer, drained } = setUp({ bufferBytes: 10_000, batchBytes: 1_000 });
    const buffer = producer.partition('out', 0);
    await clock.advance(100);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    brokers.delay = () => held;
    while (!producer.isFull) send(buffer, 'x'.repeat(100));
    await clock.advance(100);
    expect(drained()).toBe(0);
    expect(producer.isFull).toBe(true);
    release();
    await settle();
    expect(drained()).toBe(1);
    expect(producer.isFull).toBe(false);
  });

  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('compresses with %s', async (compression) => {
    const { clock, brokers, producer } = setUp({ compression });
    for (let i = 0; i < 100; i++) send(producer.partition('out', 0), `v${i}`);
    expect(await flush(producer, clock)).toBeNull();
    expect(brokers.partition('out', 0).values).toHaveLength(100);
  });

  it('names a topic that does not exist', async () => {
    const { clock, producer } = setUp();
    const four = producer.partitionCount('out');
    await clock.advance(200);
    expect(await four).toBe(4);
    const counted = expect(producer.partitionCount('nope')).rejects.toThrow(MissingTopicError);
    await clock.advance(3_000);
    await counted;
    send(producer.partition('nope', 0), 'x');
    const failure = await flush(producer, clock);
    expect(failure?.message).toMatch(/nope-0.*UNKNOWN_TOPIC_OR_PARTITION/);
  });

  describe('to an internal topic', () => {
    const internal = { internalTopics: new Set(['out']), deliveryTimeoutMs: 120_000 };
    const asked = (transport: FakeTransport) =>
      transport.sent
        .filter(({ apiName }) => apiName === Metadata.name)
        .map(({ body }) => body as MetadataRequest)
        .flatMap(({ topics, allowAutoTopicCreation }) =>
          (topics ?? []).map(({ name }) => [name, allowAutoTopicCreation]),
        );

    it('never has it created by asking, nor another topic that was there', async () => {
      const { clock, transport, producer, brokers } = setUp({ internalTopics: new Set(['out']) });
      brokers.addTopic('users', 1);
      await Promise.all([flush(producer, clock), producer.partitionCount('users')]);
      send(producer.partition('out', 0), 'x');
      await flush(producer, clock);
      await clock.advance(400_000);
      send(producer.partition('out', 0), 'y');
      await flush(producer, clock);
      expect(asked(transport)).toEqual([
        ['users', true],
        ['users', false],
        ['out', false],
        ['users', false],
        ['out', false],
      ]);
    });

    it('gives up once no broker has known it for half a minute', async () => {
      const { clock, brokers, producer, transport } = setUp(internal);
      const buffer = producer.partition('out', 1);
      send(buffer, 'x');
      await flush(producer, clock);
      brokers.deleteTopic('out');
      brokers.refuse = () => errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
      send(buffer, 'lost');
      await clock.advance(25_000);
      expect(producer.failure).toBeNull();
      const failure = await flush(producer, clock);
      expect(failure).toBeInstanceOf(MissingTopicError);
      expect(failure?.message).toMatch(/^Internal topic out has not been known .* 30000 ms/u);
      expect(asked(transport).every(([, mayBeCreated]) => mayBeCreated === false)).toBe(true);
    });

    it('gives up as soon as it is another one, and only there', async () => {
      const { clock, brokers, producer } = setUp(internal);
      brokers.addTopic('users', 1);
      const write = async (): Promise<(Error | null)[]> => {
        const failures: (Error | null)[] = [];
        for (const topic of ['users', 'out']) {
          send(producer.partition(topic, 0), 'x');
          failures.push(await flush(producer, clock));
        }
        return failures;
      };
      for (const topic of ['out', 'users']) brokers.topicIds.set(topic, 'B'.padEnd(22, 'A'));
      expect(await write()).toEqual([null, null]);
      for (const topic of ['out', 'users']) brokers.topicIds.set(topic, 'C'.padEnd(22, 'A'));
      // The next look at metadata is due by its age.
      await clock.advance(400_000);
      await write();
      const [ofUsers, ofInternal] = await write();
      expect(ofUsers).toBeNull();
      expect(ofInternal).toBeInstanceOf(MissingTopicError);
      expect(ofInternal?.message).toContain('Internal topic out was deleted and made anew');
    });
  });

  it('fails what is buffered when no producer id may be had, and can be asked again', async () => {
    const { clock, transport, producer } = setUp();
    transport.on(InitProducerId, () => ({ errorCode: errorCodes.CLUSTER_AUTHORIZATION_FAILED }));
    send(producer.partition('out', 0), 'x');
    expect(await flush(producer, clock)).toBeInstanceOf(AuthorizationError);
    transport.on(InitProducerId, () => ({ errorCode: 0, producerId: 7n, producerEpoch: 0 }));
    send(producer.partition('out', 0), 'y');
    expect(await flush(producer, clock)).toBeNull();
  });

  it('flushes only what was buffered when it was called, and nothing is nothing', async () => {
    const { clock, transport, producer } = setUp();
    await producer.flush();
    expect(transport.count(Produce)).toBe(0);
    send(producer.partition('out', 0), 'x');
    const flushed = producer.flush();
    send(producer.partition('out', 0), 'later');
    await clock.advance(300);
    await flushed;
  });

  it('close is bounded, fails what is left, and leaves no timer', async () => {
    const { clock, brokers, producer } = setUp();
    brokers.delay = () => new Promise(() => undefined);
    send(producer.partition('out', 0), 'x');
    let isClosed = false;
    void producer.close(2_000).then(() => (isClosed = true));
    await clock.advance(1_900);
    expect(isClosed).toBe(false);
    await clock.advance(200);
    expect(isClosed).toBe(true);
    expect(clock.timerCount).toBe(0);
    expect(() => send(producer.partition('out', 0), 'y')).toThrow(ShutdownError);
  });
});
