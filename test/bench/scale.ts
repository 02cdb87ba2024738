import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import { connect, serdes, TopicWriter } from '@millrace/runtime';
import { type Figure, figure, print } from './figure.ts';
import type { StreamsResult } from './streams.ts';

const ROUNDS = 3;
/** So many that the first record of each of the keys is a small part of them. */
const RECORDS = 2_000_000;
const DEPTHS = [20, 200, 380] as const;
const VALUE = 'x'.repeat(90);
/** Time between two records, ms, as on the Java side of `bench streams`. */
const RECORD_INTERVAL_MS = 1;
const FIRST_TIMESTAMP = 1_700_000_000_000;
const APP_DEADLINE_MS = 5 * 60_000;
const run = promisify(execFile);

interface Load {
  readonly keys: number;
  readonly partitions: number;
}

const USUAL: Load = { keys: 10_000, partitions: 4 };

/**
 * How the cost of a record grows with the topology's depth, the number of keys, and the number of
 * partitions: ours at ten times as many, against ours. The figure is the processor time that the
 * application takes per record, in microseconds, network and garbage collection included; the embedded
 * broker runs in another process. Depth has to cost the same per node, however deep the topology is.
 */
export async function scale(): Promise<readonly Figure[]> {
  const broker = await startBroker({ config: { 'log.retention.ms': -1 } });
  try {
    return [
      await perNode(broker),
      await flat(broker, 'keys', 'count', { ...USUAL, keys: USUAL.keys * 10 }),
      await flat(broker, 'partitions', 'count', { ...USUAL, partitions: USUAL.partitions * 10 }),
    ];
  } finally {
    await broker.close();
  }
}

/** Whether the upper 180 nodes of a deep topology cost more than the lower 180. */
async function perNode(broker: EmbeddedBroker): Promise<Figure> {
  const topic = await load(broker, USUAL);
  const [shallow, deep, deeper] = DEPTHS;
  const lower: number[] = [];
  const upper: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const atShallow = await cost(broker, topic, 'chain', shallow);
    const atDeep = await cost(broker, topic, 'chain', deep);
    const atDeeper = await cost(broker, topic, 'chain', deeper);
    lower.push(((atDeep - atShallow) / (deep - shallow)) * 1_000);
    upper.push(((atDeeper - atDeep) / (deeper - deep)) * 1_000);
  }
  return print(figure('scale/depth', upper, lower, 'ns/node', 'lower'));
}

async function flat(
  broker: EmbeddedBroker,
  name: string,
  kind: string,
  load10: Load,
): Promise<Figure> {
  const usual = await load(broker, USUAL);
  const large = await load(broker, load10);
  const ours: number[] = [];
  const before: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    before.push(await cost(broker, usual, kind));
    ours.push(await cost(broker, large, kind));
  }
  return print(figure(`scale/${name}`, ours, before, 'us/record', 'lower'));
}

async function cost(
  broker: EmbeddedBroker,
  topic: string,
  kind: string,
  depth = 1,
): Promise<number> {
  const app = join(dirname(fileURLToPath(import.meta.url)), 'streams-app.js');
  const args = ['--bootstrap', broker.bootstrapServers, '--topic', topic, '--case', kind];
  args.push('--records', String(RECORDS), '--depth', String(depth));
  const { stdout } = await run(process.execPath, [app, ...args], { timeout: APP_DEADLINE_MS });
  const { cpuMicrosPerRecord } = JSON.parse(stdout) as StreamsResult;
  if (cpuMicrosPerRecord === undefined) throw new Error(`${kind}: no processor time measured`);
  return cpuMicrosPerRecord;
}

let loaded = 0;

async function load(broker: EmbeddedBroker, { keys, partitions }: Load): Promise<string> {
  const topic = `scale-${String(loaded++)}`;
  const client = connect({ 'bootstrap.servers': broker.bootstrapServers });
  try {
    await client
      .admin()
      .createTopics([
        { topic, partitionCount: partitions, replicationFactor: -1, config: new Map() },
      ]);
    const serde = serdes.string();
    const writer = await TopicWriter.open(client, { topic, key: serde, value: serde });
    for (let i = 0; i < RECORDS; i++) {
      const timestamp = FIRST_TIMESTAMP + i * RECORD_INTERVAL_MS;
      writer.send(`key-${String((i * 7_919) % keys)}`, `${String(i)}-${VALUE}`, { timestamp });
      if (writer.isFull) await writer.drained();
    }
    await writer.close();
  } finally {
    await client.close(10_000);
  }
  return topic;
}
