/** The runtime's client on a real Kafka behind SASL_SSL, and on three nodes of which one dies. */
import { RecordCursor, BatchIterator } from '@millrace/protocol';
import { connect, silentLogger, type StreamsClient } from '@millrace/runtime';
import { Kafka, logLevel, type KafkaConfig } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { startKafka, type RunningKafka } from '../support/kafka/start-kafka.ts';

const missing = missingForJava();

const text = {
  name: 'text',
  serialize: (value: string) => Buffer.from(value),
  deserialize: (value: Uint8Array) => Buffer.from(value).toString(),
  write: (value: string, target: Buffer, position: number) =>
    position + value.length > target.length
      ? -1
      : position + target.write(value, position, 'latin1'),
  read: (source: Buffer, start: number, end: number) => source.toString('latin1', start, end),
};

const producing = {
  lingerMs: 5,
  batchBytes: 16_384,
  bufferBytes: 16 << 20,
  requestTimeoutMs: 5_000,
  deliveryTimeoutMs: 120_000,
  compression: 'lz4',
  onDrained: () => undefined,
} as const;

const fetching = {
  isolationLevel: 'read_committed',
  maxWaitMs: 500,
  minBytes: 1,
  maxBytes: 50 << 20,
  maxPartitionBytes: 1 << 20,
} as const;

/** Reads partitions on and on; `values` are what came, by partition. */
function reader(client: StreamsClient, topic: string, partitions: readonly number[]) {
  const values = new Map<number, string[]>(partitions.map((partition) => [partition, []]));
  const errors: Error[] = [];
  const cursor = new RecordCursor();
  const fetcher = client.fetcher({
    ...fetching,
    onReady: () => {
      for (const { partition, records, error } of fetcher.drain()) {
        if (error !== null) errors.push(error);
        const batches = new BatchIterator(records);
        for (let batch = batches.next(); batch !== null; batch = batches.next()) {
          cursor.open(batch);
          while (cursor.next()) values.get(partition)?.push(cursor.value()?.toString() ?? '');
        }
      }
    },
  });
  fetcher.assign(partitions.map((partition) => ({ topic, partition, offset: 0n })));
  return { values, errors };
}

async function eventually(isDone: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(`not within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.skipIf(missing !== null)(`SASL_SSL${missing === null ? '' : ` (${missing})`}`, () => {
  let kafka: RunningKafka;
  beforeAll(async () => {
    kafka = await startKafka({ saslSsl: true });
  }, 120_000);
  afterAll(() => kafka.close());

  function secured(change: Partial<KafkaConfig> = {}): StreamsClient {
    const access = kafka.saslSsl;
    if (access === null) throw new Error('no SASL_SSL listener');
    const { bootstrapServers, ca, username, password } = access;
    const user = new Kafka({
      brokers: [bootstrapServers],
      ssl: { ca: [ca] },
      sasl: { mechanism: 'plain', username, password },
      logLevel: logLevel.NOTHING,
      ...change,
    });
    return connect({}, { kafka: user, logger: silentLogger() });
  }

  it('serves every part of the client', async () => {
    const client = secured();
    const topic = 'secured';
    await client
      .admin()
      .createTopics([{ topic, partitionCount: 1, replicationFactor: 1, config: new Map() }]);
    const producer = client.producer(producing);
    const buffer = producer.partition(topic, 0);
    for (let i = 0; i < 1_000; i++) buffer.append(1_000, null, 0, 0, String(i), text, null);
    await producer.flush();
    const { values } = reader(client, topic, [0]);
    await eventually(() => values.get(0)?.length === 1_000, 'all records');
    const group = client.group({
      groupId: 'secured',
      groupInstanceId: null,
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 1_000,
      rebalanceTimeoutMs: 10_000,
      protocolName: 'test',
    });
    const offset = { topic, partition: 0, offset: 5n, metadata: '' };
    await group.commit(new Map([[`${topic}-0`, offset]]));
    const committed = await group.committed([{ topic, partition: 0 }], { requireStable: true });
    expect(committed.get(`${topic}-0`)?.offset).toBe(5n);
    await client.close(5_000);
  });

  it('says at once that the password is wrong', async () => {
    const client = secured({ sasl: { mechanism: 'plain', username: 'millrace', password: 'no' } });
    const described = client.admin().describeTopics(['secured']);
    await expect(described).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    const producer = client.producer(producing);
    producer.partition('secured', 0).append(1_000, null, 0, 0, 'x', text, null);
    await expect(producer.flush()).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    const { errors } = reader(client, 'secured', [0]);
    await eventually(() => errors.length > 0, 'the fetcher gives the error');
    expect(errors[0]).toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    await client.close(5_000);
  });

  it('says at once that the certificate is not trusted', async () => {
    const client = secured({ ssl: {} });
    const described = client.admin().describeTopics(['secured']);
    await expect(described).rejects.toThrow(/ssl\.ca/);
    await client.close(5_000);
  });
});

describe.skipIf(missing !== null)(`three nodes${missing === null ? '' : ` (${missing})`}`, () => {
  it('loses, repeats and reorders nothing while nodes die and leaders move', async () => {
    const kafka = await startKafka({ nodes: 3 });
    const config = { 'bootstrap.servers': kafka.bootstrapServers };
    const client = connect(config, { logger: silentLogger() });
    try {
      const topic = 'moving';
      const partitions = [0, 1, 2, 3, 4, 5];
      await client.admin().createTopics([
        {
          topic,
          partitionCount: partitions.length,
          replicationFactor: 3,
          config: new Map([['min.insync.replicas', '1']]),
        },
      ]);
      const producer = client.producer(producing);
      const { values, errors } = reader(client, topic, partitions);
      const events: string[] = [];
      const group = client.group({
        groupId: 'moving',
        groupInstanceId: null,
        sessionTimeoutMs: 30_000,
        heartbeatIntervalMs: 500,
        rebalanceTimeoutMs: 30_000,
        protocolName: 'test',
      });
      group.join({
        subscription: () => ({ topics: [topic], userData: Buffer.alloc(0) }),
        assign: async () => new Map(),
        onRebalance: async () => void events.push('rebalance'),
        onAssigned: async () => void events.push('assigned'),
        onLost: async () => void events.push('lost'),
        onFatal: (error) => void events.push(`fatal ${error.message}`),
      });
      await eventually(() => events.includes('assigned'), 'the first assignment');

      const stopping = new AbortController();
      let count = 0;
      const sending = (async () => {
        while (!stopping.signal.aborted) {
          for (let i = 0; i < 200; i++, count++) {
            const buffer = producer.partition(topic, count % partitions.length);
            buffer.append(1_000, null, 0, 0, String(count), text, null);
          }
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      })();
      for (const node of [1, 2]) {
        await kafka.kill(node);
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        const offset = { topic, partition: 0, offset: BigInt(node), metadata: '' };
        await group.commit(new Map([[`${topic}-0`, offset]])).catch((error: unknown) => {
          events.push(`commit ${String(error)}`);
        });
        await kafka.restart(node);
        await new Promise((resolve) => setTimeout(resolve, 3_000));
      }
      stopping.abort();
      await sending;
      await producer.flush();
      const total = (): number => [...values.values()].reduce((sum, { length }) => sum + length, 0);
      await eventually(() => errors.length > 0 || total() >= count, 'all records are read');
      expect(errors).toEqual([]);
      for (const partition of partitions) {
        const expected = Array.from(
          { length: Math.ceil((count - partition) / partitions.length) },
          (_, i) => String(partition + i * partitions.length),
        );
        expect(values.get(partition)).toEqual(expected);
      }
      expect(events.filter((event) => /fatal|commit/.test(event))).toEqual([]);
      await eventually(() => group.metadata.generation > 0, 'the member is in its group');
    } finally {
      await client.close(5_000);
      await kafka.close();
    }
  }, 280_000);
});
