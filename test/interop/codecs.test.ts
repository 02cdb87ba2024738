/** What one client has compressed is read by every other, ours included, from the embedded broker. */
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  Consumer,
  MessagesStreamModes,
  Producer,
  stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka';
import { crc32c, errorCodes, Produce } from '@millrace/protocol';
import { connect, readTopic, serdes, silentLogger } from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { missingForKcat, runKcat } from '../support/kcat.ts';
import { batchOf, RawClient } from '../support/raw-client.ts';
import { JavaClients } from './java-clients.ts';
import { storedBatches } from './stored-batches.ts';

const DEADLINE = { timeout: 15_000, interval: 50 };
const CLOSE_TIMEOUT_MS = 5_000;
// Places in the head of a batch.
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
type Codec = (typeof CODECS)[number];
/** What the JavaScript clients bring with them, on every Node that we run on. */
const OF_KAFKAJS: readonly Codec[] = ['none', 'gzip'];
const OF_PLATFORMATIC: readonly Codec[] = ['none', 'gzip', 'snappy', 'lz4'];
/** It does not know the frame that Java puts around snappy. */
const READ_BY_PLATFORMATIC: readonly Codec[] = ['none', 'gzip', 'lz4'];
const missing = missingForJava() ?? missingForKcat();
const title = 'compressed batches';

/** Long enough that compressing it makes it shorter: else librdkafka does not. */
const valueOf = (writer: string): string => `${writer} `.repeat(100);

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  let broker: EmbeddedBroker;
  let java: JavaClients;

  beforeAll(async () => {
    broker = await startBroker({ config: { 'offsets.topic.num.partitions': 3 } });
    java = new JavaClients(broker.bootstrapServers);
  }, 60_000);

  afterAll(async () => {
    await java.close();
    await broker.close();
  });

  async function writeWithJava(topic: string, codec: Codec): Promise<void> {
    const producer = await java.producer({ 'compression.type': codec });
    await producer.send([{ topic, value: valueOf('Java') }]);
    await producer.close();
  }

  async function writeWithKcat(topic: string, codec: Codec): Promise<void> {
    await runKcat(broker.bootstrapServers, ['-P', '-t', topic, '-z', codec], valueOf('kcat'));
  }

  async function writeWithPlatformatic(topic: string, compression: Codec): Promise<void> {
    const producer = new Producer({
      clientId: 'writer',
      bootstrapBrokers: [broker.bootstrapServers],
      serializers: stringSerializers,
    });
    await producer.send({ messages: [{ topic, value: valueOf('platformatic') }], compression });
    await producer.close();
  }

  async function readWithJava(topic: string, count: number): Promise<unknown[]> {
    const consumer = await java.consumer();
    await consumer.assign(`${topic}-0`);
    const records = await consumer.records(count);
    await consumer.close();
    return records.map(({ value }) => value);
  }

  async function readWithKcat(topic: string): Promise<unknown[]> {
    const args = ['-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-J'];
    return (await runKcat(broker.bootstrapServers, args)).records.map(({ payload }) => payload);
  }

  async function readWithPlatformatic(topic: string, count: number): Promise<unknown[]> {
    const consumer = new Consumer({
      clientId: 'reader',
      groupId: `platformatic-${topic}`,
      bootstrapBrokers: [broker.bootstrapServers],
      deserializers: stringDeserializers,
    });
    const values: unknown[] = [];
    const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST });
    stream.on('data', ({ value }) => values.push(value));
    await expect.poll(() => values.length, DEADLINE).toBe(count);
    const closable: { close(force: boolean): Promise<void> } = consumer;
    await closable.close(true);
    return values;
  }

  async function readWithKafkajs(topic: string, count: number): Promise<unknown[]> {
    const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING });
    const consumer = kafka.consumer({ groupId: `kafkajs-${topic}`, maxWaitTimeInMs: 100 });
    const values: unknown[] = [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: ({ message }) => {
        values.push(message.value?.toString());
        return Promise.resolve();
      },
    });
    await expect.poll(() => values.length, DEADLINE).toBe(count);
    await consumer.disconnect();
    return values;
  }

  async function readWithOurs(topic: string): Promise<unknown[]> {
    const client = connect(
      { 'bootstrap.servers': broker.bootstrapServers },
      { logger: silentLogger() },
    );
    const values: unknown[] = [];
    for await (const records of readTopic(client, {
      topic,
      key: serdes.bytes(),
      value: serdes.string(),
    })) {
      values.push(...records.map(({ value }) => value));
    }
    await client.close(CLOSE_TIMEOUT_MS);
    return values;
  }

  it.each(CODECS)('142: are read by all, whoever wrote them: %s', async (codec) => {
    const topic = `written-with-${codec}`;
    await java.admin('createTopic', { topic });
    await writeWithJava(topic, codec);
    await writeWithKcat(topic, codec);
    const written = [valueOf('Java'), valueOf('kcat')];
    if (OF_PLATFORMATIC.includes(codec)) {
      await writeWithPlatformatic(topic, codec);
      written.push(valueOf('platformatic'));
    }
    expect(storedBatches(broker.dataDir, `${topic}-0`)).toMatchObject(
      written.map(() => ({ codec, recordCount: 1 })),
    );
    const count = written.length;
    expect(await readWithJava(topic, count)).toEqual(written);
    expect(await readWithKcat(topic)).toEqual(written);
    expect(await readWithOurs(topic)).toEqual(written);
    if (READ_BY_PLATFORMATIC.includes(codec)) {
      expect(await readWithPlatformatic(topic, count)).toEqual(written);
    }
    if (OF_KAFKAJS.includes(codec)) expect(await readWithKafkajs(topic, count)).toEqual(written);
  });

  it('142: are refused if their codec is unknown, for their partition alone', async () => {
    const topic = 'unknown-codec';
    await java.admin('createTopic', { topic, partitions: 2 });
    const unknown = batchOf([{ value: 'x' }]);
    unknown.writeInt16BE(7, ATTRIBUTES_AT);
    unknown.writeUInt32BE(crc32c(unknown, ATTRIBUTES_AT, unknown.length), CRC_AT);
    const client = await RawClient.connect(broker.bootstrapServers);
    const { responses } = await client.send(Produce, 9, {
      acks: -1,
      timeoutMs: 10_000,
      topicData: [
        {
          name: topic,
          partitionData: [
            { index: 0, records: unknown },
            { index: 1, records: batchOf([{ value: 'known' }]) },
          ],
        },
      ],
    });
    client.close();
    expect(responses[0]?.partitionResponses).toMatchObject([
      { index: 0, errorCode: errorCodes.UNSUPPORTED_COMPRESSION_TYPE, baseOffset: -1n },
      { index: 1, errorCode: errorCodes.NONE, baseOffset: 0n },
    ]);
    expect(await readWithKcat(topic)).toEqual(['known']);
  });
});
