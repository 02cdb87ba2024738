/**
 * One client of the soak: `soak-app.js ours|kafkajs BOOTSTRAP TOPIC WRITER LIFE FROM TO` writes the sequence numbers
 * [FROM, TO) and says how far they are acknowledged; `soak-app.js reader BOOTSTRAP TOPIC` reads as a member of a
 * group, and says what it has read before it commits that. It ends when anything fails.
 */
import { connect, serdes, TopicWriter } from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { encodeRecord } from './lines.ts';

const SLICE = 200;
const CLOSE_MS = 10_000;
const PARTITIONS = 4;

const [kind, bootstrapServers, topic, ...numbers] = process.argv.slice(2) as [
  string,
  string,
  string,
];
const [writer, life, from, to] = numbers.map(Number) as [number, number, number, number];
const partition = writer % PARTITIONS;

function say(...words: readonly (string | number)[]): void {
  process.stdout.write(`${words.join(' ')}\n`);
}

function kafka(): Kafka {
  return new Kafka({
    clientId: `soak-${String(writer)}`,
    brokers: [bootstrapServers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 2_000,
    requestTimeout: 10_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 30 },
  });
}

async function ours(): Promise<void> {
  const client = connect({ 'bootstrap.servers': bootstrapServers });
  let acked = from;
  const serde = serdes.string();
  const open = await TopicWriter.open(client, {
    topic,
    key: serde,
    value: serde,
    onAcknowledged: ({ recordCount }) => {
      acked += recordCount;
      say('acked', acked - 1);
    },
  });
  for (let sequence = from; sequence < to; sequence++) {
    open.send(null, encodeRecord({ writer, life, sequence }), { timestamp: Date.now(), partition });
    if (open.isFull) await open.drained();
    if (sequence % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await open.close(CLOSE_MS);
  await client.close(CLOSE_MS);
}

async function kafkajs(): Promise<void> {
  const producer = kafka().producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (let first = from; first < to; first += SLICE) {
    const end = Math.min(to, first + SLICE);
    const messages = Array.from({ length: end - first }, (_, at) => ({
      partition,
      value: encodeRecord({ writer, life, sequence: first + at }),
    }));
    await producer.send({ topic, messages });
    say('acked', end - 1);
  }
  await producer.disconnect();
}

async function reader(): Promise<void> {
  const consumer = kafka().consumer({
    groupId: 'soak',
    sessionTimeout: 2_000,
    rebalanceTimeout: 2_000,
    heartbeatInterval: 300,
    maxWaitTimeInMs: 100,
  });
  consumer.on(consumer.events.CRASH, () => process.exit(1));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: ({ batch }) => {
      say('read', batch.partition, batch.firstOffset() ?? -1, batch.lastOffset());
      return Promise.resolve();
    },
  });
}

const kinds: Readonly<Record<string, () => Promise<void>>> = { ours, kafkajs, reader };
await kinds[kind]?.();
if (kind !== 'reader') say('done');
