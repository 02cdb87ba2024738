/**
 * What the record path costs without a network: batches that were encoded before go in, batches come
 * out of the collector and are dropped. One line per case: nanoseconds and records per second.
 *
 *   node packages/runtime/bench/run.js loop [case ...] [--records N] [--keys N] [--cpu-prof]
 */
import { BatchBuilder } from '@millrace/protocol';
import { serdes } from '../src/public-dsl.ts';
import type { Topology } from '../src/public-dsl.ts';
import { silentLogger } from '../src/logging/logger.ts';
import { systemClock } from '../src/platform/clock.ts';
import { StreamTask } from '../src/tasks/stream-task.ts';
import { bindTopology } from '../src/topology/topology.ts';
import { DroppingProducer, fetched } from './in-memory.ts';
import { topologies } from './topologies.ts';

interface Settings {
  readonly records: number;
  readonly keys: number;
}

function encode(
  topicKeys: (index: number) => string,
  count: number,
  value: (i: number) => string,
  time: (i: number) => number,
): Buffer[] {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 16_384 });
  const writer = serdes.string();
  const batches: Buffer[] = [];
  let base = 0n;
  const close = (): void => {
    base += BigInt(builder.recordCount);
    batches.push(Buffer.from(builder.build({ baseOffset: base - BigInt(builder.recordCount) })));
    builder.reset();
  };
  for (let i = 0; i < count; i++) {
    const key = Buffer.from(topicKeys(i));
    while (!builder.append(time(i), key, 0, key.length, value(i), writer, null)) close();
  }
  if (!builder.isEmpty) close();
  return batches;
}

async function runCase(name: string, made: Topology, settings: Settings): Promise<void> {
  const topology = bindTopology(made, { applicationId: 'bench' });
  const subtopology = topology.subtopologies[0] as (typeof topology.subtopologies)[number];
  const producer = new DroppingProducer();
  const task = new StreamTask({
    applicationId: 'bench',
    id: { subtopology: 0, partition: 0 },
    subtopology,
    topology: topology.instantiate(0, 0),
    inputs: subtopology.sourceTopics.map((topic) => ({ topic, partition: 0 })),
    producer,
    handling: { deserialization: 'fail', production: 'fail' },
    maxTaskIdleMs: 0,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger(),
    onResumable: () => undefined,
  });
  task.initialize();
  await task.start(
    task.inputs.map(({ topic, partition }) => ({
      topic,
      partition,
      offset: 0n,
      committed: 0n,
      metadata: { partitionTime: -1, emittedWindowCloseTimes: new Map() },
    })),
    new Map(),
  );
  const pad = 'x'.repeat(80);
  const { keys } = settings;
  const input = encode(
    (i) => `key-${String((i * 7_919) % keys)}`,
    settings.records,
    (i) => `value-${String(i)}-${pad}`,
    (i) => 1_700_000_000_000 + i,
  );
  if (subtopology.sourceTopics.includes('table')) {
    const rows = encode(
      (i) => `key-${String(i)}`,
      keys,
      (i) => `row-${String(i)}`,
      () => 1,
    );
    feed(task, 'table', rows);
    feed(task, 'in', []);
    while (task.process(256, 0) > 0);
  }
  const start = process.cpuUsage();
  let processed = 0;
  const group = 64;
  for (let i = 0; i < input.length; i += group) {
    feed(task, 'in', input.slice(i, i + group));
    for (let count = task.process(256, 0); count > 0; count = task.process(256, 0)) {
      processed += count;
    }
  }
  // CPU time, so that a busy machine does not disturb the figure; garbage collection is in it.
  const { user, system } = process.cpuUsage(start);
  const nanoseconds = ((user + system) * 1_000) / processed;
  console.log(
    JSON.stringify({
      case: name,
      records: processed,
      nsPerRecord: Math.round(nanoseconds),
      recordsPerSecond: Math.round(1e9 / nanoseconds),
      produced: producer.recordCount,
    }),
  );
}

function feed(task: StreamTask, topic: string, batches: readonly Buffer[]): void {
  const queue = task.queues.find((candidate) => candidate.topic === topic);
  if (queue === undefined) throw new Error(`no queue for ${topic}`);
  const part = fetched(topic, Buffer.concat(batches));
  task.push(queue, part, part.highWatermark);
}

function option(name: string, fallback: number): number {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : Number(process.argv[index + 1]);
}

const settings = { records: option('records', 1_000_000), keys: option('keys', 10_000) };
const chosen = process.argv.slice(2).filter((argument) => argument in topologies);
for (const name of chosen.length > 0 ? chosen : Object.keys(topologies)) {
  const make = topologies[name];
  if (make === undefined) continue;
  const topics = { input: 'in', table: 'table', output: 'out' };
  await runCase(name, make(topics), settings);
  await runCase(name, make(topics), settings);
}
