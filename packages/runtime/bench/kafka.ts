/**
 * The whole runtime against a broker that runs: loads a topic once, processes it from the start, and
 * stops when everything that it read is committed. One line per case.
 *
 *   node packages/runtime/bench/run.js kafka --bootstrap 127.0.0.1:9092 [case ...] [--records N] [--keys N]
 */
import { kafkaJsClient } from '../src/client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from '../src/client/ports.ts';
import { KafkaStreams } from '../src/kafka-streams.ts';
import { createLogger, silentLogger } from '../src/logging/logger.ts';
import { TopicWriter } from '../src/topics/topic-writer.ts';
import { strings, topologies } from './topologies.ts';

function text(name: string, fallback: string): string {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : String(process.argv[index + 1]);
}

const bootstrap = text('bootstrap', '127.0.0.1:9092');
const records = Number(text('records', '1000000'));
const keys = Number(text('keys', '10000'));
const run = text('run', String(process.pid));

const client = kafkaJsClient({
  clientId: 'bench',
  logger: silentLogger(),
  config: { brokers: [bootstrap] },
});

async function load(from: StreamsClient): Promise<void> {
  const admin = from.admin();
  const topics = ['bench-in', 'bench-table', `bench-out-${run}`];
  const existing = await admin.describeTopics(topics);
  await admin.createTopics(
    topics.map((topic) => ({
      topic,
      partitionCount: 1,
      replicationFactor: -1,
      config: new Map([['retention.ms', '-1']]),
    })),
  );
  if (existing.has('bench-in')) return;
  const pad = 'x'.repeat(80);
  const table = await TopicWriter.open(from, { topic: 'bench-table', ...strings });
  for (let i = 0; i < keys; i++) {
    table.send(`key-${String(i)}`, `row-${String(i)}`, { timestamp: 1_600_000_000_000 });
  }
  await table.close();
  const writer = await TopicWriter.open(from, { topic: 'bench-in', ...strings });
  for (let i = 0; i < records; i++) {
    const key = `key-${String((i * 7_919) % keys)}`;
    writer.send(key, `value-${String(i)}-${pad}`, { timestamp: 1_700_000_000_000 + i });
    if (writer.isFull) await writer.drained();
  }
  await writer.close();
}

async function runCase(name: string): Promise<void> {
  const make = topologies[name];
  if (make === undefined) throw new Error(`unknown case ${name}`);
  const applicationId = `bench-${run}-${name}`;
  const streams = new KafkaStreams(
    make({ input: 'bench-in', table: 'bench-table', output: `bench-out-${run}` }),
    {
      'application.id': applicationId,
      'bootstrap.servers': bootstrap,
      'commit.interval.ms': 500,
      'producer.linger.ms': Number(text('linger', '100')),
      'producer.batch.size': Number(text('batch', '16384')),
    },
    { logger: process.argv.includes('--log') ? createLogger() : silentLogger() },
  );
  const processed = (): number =>
    Number(
      streams
        .metrics()
        .find((metric) => metric.name === 'process-total')
        ?.value() ?? 0,
    );
  await streams.start();
  const group = client.group({
    groupId: applicationId,
    groupInstanceId: null,
    sessionTimeoutMs: 10_000,
    heartbeatIntervalMs: 3_000,
    rebalanceTimeoutMs: 10_000,
    protocolName: 'none',
  });
  let startMs = 0;
  let cpu = process.cpuUsage();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (startMs === 0) {
      if (processed() === 0) continue;
      startMs = performance.now();
      cpu = process.cpuUsage();
    }
    if (processed() < records) continue;
    const committed = await group.committed([{ topic: 'bench-in', partition: 0 }], {
      requireStable: false,
    });
    if ((committed.get('bench-in-0')?.offset ?? 0n) >= BigInt(records)) break;
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const used = process.cpuUsage(cpu);
  await streams.close();
  console.log(
    JSON.stringify({
      case: name,
      records,
      seconds: Number(seconds.toFixed(2)),
      recordsPerSecond: Math.round(records / seconds),
      cpuNsPerRecord: Math.round(((used.user + used.system) * 1_000) / records),
      rssMiB: Math.round(process.memoryUsage().rss / 1_048_576),
    }),
  );
}

await load(client);
const chosen = process.argv.slice(2).filter((argument) => argument in topologies);
for (const name of chosen.length > 0 ? chosen : Object.keys(topologies)) await runCase(name);
await client.close(5_000);
