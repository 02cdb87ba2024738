import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import { connect, serdes, TopicWriter } from '@millrace/runtime';
import { type Figure, figure, print } from './figure.ts';
import { runOurs } from './sides.ts';
import type { BenchOptions, Suite } from './suite.ts';

/** So many that the first record of each of the keys is a small part of them. */
const RECORDS = 2_000_000;
const DEPTHS = [20, 200, 380] as const;
const VALUE = 'x'.repeat(90);
/** Time between two records, ms, as on the Java side of `bench streams`. */
const RECORD_INTERVAL_MS = 1;
const FIRST_TIMESTAMP = 1_700_000_000_000;

interface Load {
  readonly keys: number;
  readonly partitions: number;
}

const USUAL: Load = { keys: 10_000, partitions: 4 };

interface Bench {
  readonly broker: EmbeddedBroker;
  readonly records: number;
  readonly rounds: number;
}

const rows = new Map<string, (bench: Bench, name: string) => Promise<Figure>>([
  ['scale/depth', perNode],
  ['scale/keys', (bench, name) => flat(bench, name, { ...USUAL, keys: USUAL.keys * 10 })],
  [
    'scale/partitions',
    (bench, name) => flat(bench, name, { ...USUAL, partitions: USUAL.partitions * 10 }),
  ],
]);

/**
 * How the cost of a record grows with the topology's depth, the number of keys, and the number of
 * partitions: ours at ten times as many, against ours. The figure is the processor time that the
 * application takes per record, in microseconds, network and garbage collection included; the embedded
 * broker runs in another process. Depth has to cost the same per node, however deep the topology is.
 */
export const scale: Suite = {
  rows: [...rows.keys()],

  async measure(names: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const figures: Figure[] = [];
    const broker = await startBroker({ config: { 'log.retention.ms': -1 } });
    const bench = { broker, records: options.records ?? RECORDS, rounds: options.rounds };
    try {
      for (const [name, measure] of rows) {
        if (names.includes(name)) figures.push(print(await measure(bench, name)));
      }
    } finally {
      await broker.close();
    }
    return figures;
  },
};

/** Whether the upper 180 nodes of a deep topology cost more than the lower 180. */
async function perNode(bench: Bench, name: string): Promise<Figure> {
  const topic = await load(bench, USUAL);
  const [shallow, deep, deeper] = DEPTHS;
  const lower: number[] = [];
  const upper: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const atShallow = await cost(bench, topic, 'chain', shallow);
    const atDeep = await cost(bench, topic, 'chain', deep);
    const atDeeper = await cost(bench, topic, 'chain', deeper);
    lower.push(((atDeep - atShallow) / (deep - shallow)) * 1_000);
    upper.push(((atDeeper - atDeep) / (deeper - deep)) * 1_000);
  }
  return figure(name, upper, lower, 'ns/node', 'lower');
}

/** Counting with ten times as many of something. */
async function flat(bench: Bench, name: string, load10: Load): Promise<Figure> {
  const usual = await load(bench, USUAL);
  const large = await load(bench, load10);
  const ours: number[] = [];
  const before: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    before.push(await cost(bench, usual, 'count'));
    ours.push(await cost(bench, large, 'count'));
  }
  return figure(name, ours, before, 'us/record', 'lower');
}

async function cost(bench: Bench, topic: string, kind: string, depth = 1): Promise<number> {
  const args = ['--bootstrap', bench.broker.bootstrapServers, '--topic', topic, '--case', kind];
  args.push('--records', String(bench.records), '--depth', String(depth));
  const { cpuMicrosPerRecord } = await runOurs(args);
  if (cpuMicrosPerRecord === undefined) throw new Error(`${kind}: no processor time measured`);
  return cpuMicrosPerRecord;
}

let loaded = 0;

async function load({ broker, records }: Bench, { keys, partitions }: Load): Promise<string> {
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
    for (let i = 0; i < records; i++) {
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
