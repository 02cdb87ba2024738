import { connect, readTopic, serdes } from '@millrace/runtime';
import { BenchCluster } from './cluster.ts';
import { type Figure, figure, print } from './figure.ts';
import { sideBySide, warmUp, type Side, type StreamsResult } from './sides.ts';
import { keyCounts, STREAMS_RECORDS, stores, type Keys, type Store } from './streams.ts';
import type { BenchOptions, Suite } from './suite.ts';

const OUTPUT = '-out';
/**
 * Records have the time at which the broker took them: so the first output tells when it came, to the
 * millisecond, and neither side has to be asked. (Internal topics keep the records' own time.)
 */
const STAMPED_BY_THE_BROKER = { 'log.message.timestamp.type': 'LogAppendTime' };
const KIB_PER_MIB = 1_024;

const START = 'footprint/start';
const PROCESS_START = 'footprint/process-start';

interface Kind {
  readonly store: Store;
  readonly keys: Keys;
}

const kinds: readonly Kind[] = stores.flatMap((store) =>
  (['10k', '1m'] as const).map((keys) => ({ store, keys })),
);

/** How long it takes to start is measured with the runs of this kind. */
function hasStart({ store, keys }: Kind): boolean {
  return store === 'memory' && keys === '10k';
}

function rssName({ store, keys }: Kind): string {
  return `footprint/rss/${store}/${keys}`;
}

/**
 * What an application that counts per key takes: resident memory when all is processed and committed,
 * and the time until its first record, from two beginnings. `footprint/start` begins just before
 * `KafkaStreams.start()`, with the topology built and the output topic there, and ends with the first
 * processed record. `footprint/process-start` begins when the process is started and ends when the
 * broker has the first output.
 */
export const footprint: Suite = {
  rows: [...kinds.map(rssName), START, PROCESS_START],

  async measure(rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const figures: Figure[] = [];
    const cluster = await BenchCluster.start(STAMPED_BY_THE_BROKER);
    try {
      await warmUp(cluster);
      for (const kind of kinds) {
        const wanted = [rssName(kind), ...(hasStart(kind) ? [START, PROCESS_START] : [])];
        if (!wanted.some((name) => rows.includes(name))) continue;
        for (const measured of await compare(cluster, kind, options)) {
          if (rows.includes(measured.name)) figures.push(print(measured));
        }
      }
    } finally {
      await cluster.close();
    }
    return figures;
  },
};

async function compare(
  cluster: BenchCluster,
  kind: Kind,
  { records: given, rounds }: BenchOptions,
): Promise<Figure[]> {
  const name = rssName(kind);
  const { store } = kind;
  const records = given ?? STREAMS_RECORDS[store];
  const topic = await cluster.input({ records, keys: keyCounts[kind.keys] });
  const processStart: Record<Side, number[]> = { ours: [], theirs: [] };
  const run = { case: 'count', store, topic, records };
  const { ours, theirs } = await sideBySide(cluster, run, {
    name,
    rounds,
    async inspect({ side, applications, startedMs }) {
      if (!hasStart(kind)) return;
      processStart[side].push((await firstOutputMs(cluster, applications)) - startedMs);
    },
  });
  const lower = (figureName: string, of: (result: StreamsResult) => number, unit: string): Figure =>
    figure(figureName, ours.map(of), theirs.map(of), unit, 'lower');
  const figures = [lower(name, ({ rssKb }) => rssKb / KIB_PER_MIB, 'MiB')];
  if (hasStart(kind)) {
    figures.push(lower(START, ({ startToFirstMs }) => startToFirstMs, 'ms'));
    figures.push(figure(PROCESS_START, processStart.ours, processStart.theirs, 'ms', 'lower'));
  }
  return figures;
}

/** When the broker took the first output, epoch ms. */
async function firstOutputMs(cluster: BenchCluster, applications: string): Promise<number> {
  const topics = (await cluster.topics(applications)).filter((topic) => topic.endsWith(OUTPUT));
  const [topic] = topics;
  if (topic === undefined || topics.length > 1) {
    throw new Error(`one output topic was expected, not ${topics.length}`);
  }
  const client = connect({ 'bootstrap.servers': cluster.bootstrapServers });
  const bytes = serdes.bytes();
  let first = Number.POSITIVE_INFINITY;
  try {
    for await (const records of readTopic(client, { topic, key: bytes, value: bytes })) {
      for (const { timestamp } of records) first = Math.min(first, timestamp);
    }
  } finally {
    await client.close(10_000);
  }
  return first;
}
