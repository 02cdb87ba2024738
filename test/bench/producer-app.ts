/** One measurement of one producer in a process of its own: `producer-app.js ours|theirs BOOTSTRAP RECORDS`. */
import { TopicWriter, connect, serdes } from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';

export interface ProducerResult {
  readonly recordsPerSecond: number;
}

const PARTITIONS = 4;
const KEYS = 10_000;
/** What a kafkajs user sends at once; larger ones make its grouping quadratic. */
const THEIR_BATCH = 1_000;
const OUR_SLICE = 1_000;

const [side, bootstrapServers, records] = process.argv.slice(2) as [string, string, string];
const total = Number(records);
const warmUp = Math.floor(total / 10);
const pad = 'x'.repeat(88);
const topic = `producer-${side}-${String(process.pid)}`;

const kafka = new Kafka({ brokers: bootstrapServers.split(','), logLevel: logLevel.NOTHING });
const admin = kafka.admin();
await admin.connect();
await admin.createTopics({
  topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }],
  waitForLeaders: true,
});

const seconds = side === 'ours' ? await ours() : await theirs();
// Both must have written every record: a fast producer that loses some is no producer.
const offsets = await admin.fetchTopicOffsets(topic);
const written = offsets.reduce((sum, { high }) => sum + Number(high), 0);
await admin.deleteTopics({ topics: [topic] });
await admin.disconnect();
if (written !== total + warmUp) throw new Error(`${written} of ${total + warmUp} were written`);
console.log(JSON.stringify({ recordsPerSecond: total / seconds } satisfies ProducerResult));

async function ours(): Promise<number> {
  const client = connect({ 'bootstrap.servers': bootstrapServers });
  const writer = await TopicWriter.open(client, {
    topic,
    key: serdes.string(),
    value: serdes.string(),
  });
  const send = async (count: number): Promise<void> => {
    for (let from = 0; from < count; from += OUR_SLICE) {
      for (let i = from; i < Math.min(from + OUR_SLICE, count); i++) {
        writer.send(`key-${i % KEYS}`, value(i), { timestamp: Date.now() });
      }
      if (writer.isFull) await writer.drained();
      else await new Promise((resolve) => setImmediate(resolve));
    }
    await writer.flush();
  };
  await send(warmUp);
  const started = performance.now();
  await send(total);
  const elapsed = performance.now() - started;
  await writer.close();
  await client.close(10_000);
  return elapsed / 1_000;
}

async function theirs(): Promise<number> {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 5 });
  await producer.connect();
  const send = async (count: number): Promise<void> => {
    for (let from = 0; from < count; from += THEIR_BATCH) {
      const messages = [];
      for (let i = from; i < Math.min(from + THEIR_BATCH, count); i++) {
        messages.push({ key: `key-${i % KEYS}`, value: value(i), timestamp: String(Date.now()) });
      }
      await producer.send({ topic, acks: -1, messages });
    }
  };
  await send(warmUp);
  const started = performance.now();
  await send(total);
  const elapsed = performance.now() - started;
  await producer.disconnect();
  return elapsed / 1_000;
}

/** 100 bytes. */
function value(index: number): string {
  return `${pad}${String(index).padStart(12, '0')}`;
}
