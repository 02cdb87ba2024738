/**
 * What the record path costs without a network: batches that were encoded before go in, batches come
 * out of the collector and are dropped. One line per case: nanoseconds and records per second; what is
 * read again from a repartition topic counts with the record that it was made of.
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
import { groupOf, topologies } from './topologies.ts';

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

/** A task for each subtopology, all of partition 0. */
async function startTasks(made: Topology, producer: DroppingProducer): Promise<StreamTask[]> {
  const topology = bindTopology(made, { applicationId: 'bench' });
  const tasks: StreamTask[] = [];
  for (const [index, subtopology] of topology.subtopologies.entries()) {
    const task = new StreamTask({
      applicationId: 'bench',
      id: { subtopology: index, partition: 0 },
      subtopology,
      topology: topology.instantiate(index, 0),
      inputs: subtopology.sourceTopics.map((topic) => ({ topic, partition: 0 })),
      producer,
      handling: {
        deserialization: 'fail',
        production: 'fail',
        processing: 'fail',
        deadLetterTopic: null,
      },
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
    tasks.push(task);
  }
  return tasks;
}

async function runCase(name: string, made: Topology, settings: Settings): Promise<void> {
  const producer = new DroppingProducer();
  const tasks = await startTasks(made, producer);
  const pad = 'x'.repeat(80);
  const { keys, records } = settings;
  const keyOf = (i: number): string => `key-${String((i * 7_919) % keys)}`;
  const value = (i: number): string => `value-${String(i)}-${pad}`;
  const time = (i: number): number => 1_700_000_000_000 + i;
  const inputs = tasks.map((task) => {
    const topic = task.inputs.find((input) => input.topic !== 'table')?.topic ?? '';
    const key = topic === 'in' ? keyOf : (i: number): string => groupOf(keyOf(i));
    return { task, topic, batches: encode(key, records, value, time) };
  });
  for (const { task } of inputs) {
    if (!task.inputs.some(({ topic }) => topic === 'table')) continue;
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
  const group = 64;
  const most = Math.max(...inputs.map(({ batches }) => batches.length));
  for (let i = 0; i < most; i += group) {
    for (const { task, topic, batches } of inputs) {
      feed(task, topic, batches.slice(i, i + group));
      while (task.process(256, 0) > 0);
    }
  }
  // CPU time, so that a busy machine does not disturb the figure; garbage collection is in it.
  const { user, system } = process.cpuUsage(start);
  const nanoseconds = ((user + system) * 1_000) / records;
  console.log(
    JSON.stringify({
      case: name,
      records,
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
