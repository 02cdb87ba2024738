import { silentLogger } from '../../logging/logger.ts';
import type { Serde } from '../../serdes/serde.ts';
import { FakeClient } from '../../testing-support/fake-client.ts';
import { FakeClock } from '../../testing-support/fake-clock.ts';
import { FakeCluster } from '../../testing-support/fake-cluster.ts';
import type { PlainRecord } from '../../testing-support/fake-log.ts';
import { encodeBatch } from '../../testing-support/fake-log.ts';
import type { Topology } from '../../topology/topology.ts';
import { bindTopology } from '../../topology/topology.ts';
import type { ErrorHandling } from '../error-handling.ts';
import type { RecordQueue } from '../record-queue.ts';
import { StreamTask } from '../stream-task.ts';

/** A string serde that cannot read 'bad' nor write 'unwritable'. */
export const picky: Serde<string> = {
  name: 'picky',
  serialize: (value) => {
    if (value === 'unwritable') throw new Error('cannot write this');
    return Buffer.from(value);
  },
  deserialize: (bytes) => {
    const text = Buffer.from(bytes).toString();
    if (text === 'bad') throw new Error('cannot read this');
    return text;
  },
};

export interface TaskSetup extends Partial<ErrorHandling> {
  readonly topology: Topology;
  readonly maxTaskIdleMs?: number;
  /** Beside `a`, `b`, `out` and `app-store-changelog`. */
  readonly topics?: readonly string[];
}

/** A running task 0_0 over a fake cluster, with what feeds it and what shows its output. */
export async function setUpTask({ topology, topics = [], ...options }: TaskSetup) {
  const cluster = new FakeCluster();
  for (const topic of ['a', 'b', 'out', 'app-store-changelog', ...topics]) {
    cluster.createTopic(topic);
  }
  const built = bindTopology(topology, { applicationId: 'app' });
  const subtopology = built.subtopologies[0] as (typeof built.subtopologies)[number];
  const client = new FakeClient(cluster);
  const producer = client.producer({
    lingerMs: 0,
    batchBytes: 16_384,
    bufferBytes: 1_000_000,
    requestTimeoutMs: 1_000,
    deliveryTimeoutMs: 1_000,
    compression: 'none',
    onDrained: () => undefined,
  });
  let resumed = 0;
  const task = new StreamTask({
    applicationId: 'app',
    id: { subtopology: 0, partition: 0 },
    subtopology,
    topology: built.instantiate(0, 0),
    inputs: subtopology.sourceTopics.map((topic) => ({ topic, partition: 0 })),
    producer,
    handling: {
      deserialization: options.deserialization ?? 'fail',
      processing: options.processing ?? 'fail',
      production: options.production ?? 'fail',
      deadLetterTopic: options.deadLetterTopic ?? null,
    },
    maxTaskIdleMs: options.maxTaskIdleMs ?? 0,
    clock: new FakeClock(),
    random: () => 0,
    logger: silentLogger(),
    onResumable: () => {
      resumed++;
    },
  });
  task.initialize();
  await task.start(
    task.inputs.map(({ topic, partition }) => ({
      topic,
      partition,
      offset: 0n,
      committed: null,
      metadata: { partitionTime: -1, emittedWindowCloseTimes: new Map() },
    })),
    new Map(),
  );
  const offsets = new Map<string, bigint>();
  const feed = (topic: string, ...records: PlainRecord[]): void => {
    const queue = task.queues.find((candidate) => candidate.topic === topic) as RecordQueue;
    const base = offsets.get(topic) ?? 0n;
    const next = base + BigInt(records.length);
    offsets.set(topic, next);
    const batch =
      records.length === 0 ? Buffer.alloc(0) : encodeBatch(records, { baseOffset: base });
    const part = {
      topic,
      partition: 0,
      records: batch,
      abortedTransactions: [],
      highWatermark: next,
      lastStableOffset: next,
      logStartOffset: 0n,
      nextOffset: next,
      error: null,
    };
    task.push(queue, part, next);
  };
  const output = async (): Promise<string[]> => {
    await producer.flush();
    return cluster
      .log('out')
      .records()
      .map(({ key, value, timestamp }) => `${String(key)}=${String(value)}@${String(timestamp)}`);
  };
  return { task, feed, output, cluster, producer, resumedCount: () => resumed };
}
