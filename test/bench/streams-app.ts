/**
 * Our side of `bench streams`, `restore` and `footprint`: the topologies of the Java side, run over a
 * loaded topic to its end. The case `chain`, a topology of any depth, is for `bench scale`, which compares us with ourselves.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { crc32 } from 'node:zlib';
import {
  connect,
  createLogger,
  KafkaStreams,
  readTopic,
  serdes,
  StreamsBuilder,
  type Topology,
  timeWindows,
} from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { OUR_APPLICATIONS, type StreamsResult } from './sides.ts';
import type { StreamsCase } from './streams.ts';

const POLL_MS = 20;
const RESTORE_POLL_MS = 5;
const DEADLINE_MS = 5 * 60_000;
const CLOSE_TIMEOUT_MS = 30_000;
const PARTITIONS = 4;
const DIGEST_MASK = (1n << 53n) - 1n;

const { values: options } = parseArgs({
  options: {
    bootstrap: { type: 'string', default: '127.0.0.1:9092' },
    topic: { type: 'string', default: 'bench' },
    case: { type: 'string', default: 'map' },
    store: { type: 'string', default: 'memory' },
    commit: { type: 'string', default: '500' },
    guarantee: { type: 'string', default: 'at_least_once' },
    records: { type: 'string', default: '1000000' },
    restore: { type: 'string' },
    depth: { type: 'string', default: '1' },
    'log-level': { type: 'string', default: 'warn' },
  },
});
const name = options.case as StreamsCase | 'chain';
const input = options.topic;
const records = Number(options.records);
const applicationId = `${OUR_APPLICATIONS}${name}-${String(Date.now())}`;
const output = `${applicationId}-out`;
const stateDir = mkdtempSync(join(tmpdir(), 'millrace-bench-state-'));
process.once('exit', () => rmSync(stateDir, { recursive: true, force: true }));

const kafka = new Kafka({ brokers: options.bootstrap.split(','), logLevel: logLevel.NOTHING });
const admin = kafka.admin();
await admin.connect();
await admin.createTopics({
  topics: [
    {
      topic: output,
      numPartitions: PARTITIONS,
      replicationFactor: 1,
      configEntries: [{ name: 'retention.ms', value: '-1' }],
    },
  ],
  waitForLeaders: true,
});

let streams = create();
const started = performance.now();
await streams.start();
const end = records * (name === 'rekey' ? 2 : 1); // a repartition topic is read once more
let first = 0;
let usedBefore = process.cpuUsage();
// Asking the group for its offsets costs time on this very thread: only once all is processed.
while (processed() < end || (await committed()) < end) {
  if (first === 0 && processed() > 0) {
    first = performance.now();
    usedBefore = process.cpuUsage();
  }
  if (streams.failure !== null) throw streams.failure;
  if (performance.now() - started > DEADLINE_MS) throw new Error('not done after 5 minutes');
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
const seconds = (performance.now() - first) / 1_000;
const { user, system } = process.cpuUsage(usedBefore);
const rssKb = residentKilobytes();
const restoreSeconds = options.restore === undefined ? 0 : await restored();
await streams.close({ timeoutMs: CLOSE_TIMEOUT_MS });
await admin.disconnect();
const result: StreamsResult = {
  recordsPerSecond: records / seconds,
  startToFirstMs: first - started,
  rssKb,
  restoreSeconds,
  cpuMicrosPerRecord: (user + system) / records,
  ...(await outputs()),
};
console.log(JSON.stringify(result));
process.exit(0);

function create(): KafkaStreams {
  return new KafkaStreams(
    topology(),
    {
      'application.id': applicationId,
      'bootstrap.servers': options.bootstrap,
      'commit.interval.ms': Number(options.commit),
      'processing.guarantee': options.guarantee,
      'statestore.cache.max.bytes': 0,
      'auto.offset.reset': 'earliest',
      'dsl.store.suppliers.class': options.store === 'memory' ? 'inMemory' : 'rocksDB',
      'state.dir': stateDir,
      'windowstore.changelog.additional.retention.ms': 36_500 * 86_400_000,
    },
    { logger: createLogger({ level: options['log-level'] }) },
  );
}

/** Stops, wipes the local state and starts again; seconds from that start until it runs. */
async function restored(): Promise<number> {
  await streams.close({ timeoutMs: CLOSE_TIMEOUT_MS });
  await streams.cleanUp();
  streams = create();
  let restoredRecords = 0;
  streams.restore$.subscribe((progress) => {
    if (progress.kind === 'end') restoredRecords += progress.restoredRecords;
  });
  const again = performance.now();
  await streams.start();
  while (streams.state !== 'RUNNING') {
    if (streams.failure !== null) throw streams.failure;
    if (performance.now() - again > DEADLINE_MS) throw new Error('not restored after 5 minutes');
    await new Promise((resolve) => setTimeout(resolve, RESTORE_POLL_MS));
  }
  const elapsed = (performance.now() - again) / 1_000;
  // Nothing was left from before, and nothing left out.
  if (restoredRecords !== records) throw new Error(`${restoredRecords} of ${records} restored`);
  return elapsed;
}

function residentKilobytes(): number {
  const match = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  if (match === null) throw new Error('no VmRSS in /proc/self/status');
  return Number(match[1]);
}

function topology(): Topology {
  const string = serdes.string();
  const builder = new StreamsBuilder({ defaultKeySerde: string, defaultValueSerde: string });
  const stream = builder.stream<string, string>(input);
  const produced = { key: string, value: string };
  switch (name) {
    case 'map':
      stream.mapValues((value) => value.toUpperCase()).to(output, produced);
      break;
    case 'chain': {
      let end = stream;
      for (let depth = 0; depth < Number(options.depth); depth++) {
        end = end.mapValues((value) => value, { value: string });
      }
      end.to(output, produced);
      break;
    }
    case 'count':
      stream
        .groupByKey()
        .count()
        .toStream()
        .mapValues((count) => String(count))
        .to(output, produced);
      break;
    case 'window':
      stream
        .groupByKey()
        .windowedBy(timeWindows({ size: '10s' }))
        .count()
        .toStream()
        .map((key, count) => [`${key.key}@${key.start}`, String(count)])
        .to(output, produced);
      break;
    case 'rekey':
      stream
        .selectKey((key) => `group-${key.charAt(key.length - 1)}${key.charAt(key.length - 2)}`)
        .groupByKey()
        .count()
        .toStream()
        .mapValues((count) => String(count))
        .to(output, produced);
      break;
    case 'join': {
      const table = builder.table<string, string>(`${input}-table`);
      stream.join(table, (left, right) => `${left.length}:${right.length}`).to(output, produced);
      break;
    }
  }
  return builder.build();
}

function processed(): number {
  return streams
    .metrics()
    .filter((metric) => metric.name === 'process-total')
    .reduce((sum, metric) => sum + Number(metric.value()), 0);
}

async function committed(): Promise<number> {
  const topics = await admin.fetchOffsets({ groupId: applicationId });
  return topics
    .filter(({ topic }) => topic !== `${input}-table`)
    .flatMap(({ partitions }) => partitions)
    .reduce((sum, { offset }) => sum + Math.max(Number(offset), 0), 0);
}

/** Number of output records, and the sum (below 2^53) over keys of crc32(key NUL last value). */
async function outputs(): Promise<{ outputs: number; digest: number }> {
  const client = connect({ 'bootstrap.servers': options.bootstrap });
  const last = new Map<string | null, string | null>();
  let count = 0;
  const serde = serdes.string();
  for await (const chunk of readTopic(client, { topic: output, key: serde, value: serde })) {
    count += chunk.length;
    for (const { key, value } of chunk) last.set(key, value);
  }
  await client.close(10_000);
  let digest = 0n;
  for (const [key, value] of last) {
    digest = (digest + BigInt(crc32(`${key}\0${value}`))) & DIGEST_MASK;
  }
  return { outputs: count, digest: Number(digest) };
}
