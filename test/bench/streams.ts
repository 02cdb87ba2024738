import { BenchCluster } from './cluster.ts';
import { type Figure, figure, print } from './figure.ts';
import { sideBySide, warmUp } from './sides.ts';
import type { BenchOptions, Suite } from './suite.ts';

const streamsCases = ['map', 'count', 'window', 'rekey', 'join'] as const;
export type StreamsCase = (typeof streamsCases)[number];

export const stores = ['memory', 'persistent'] as const;
export type Store = (typeof stores)[number];

export const keyCounts = { '10k': 10_000, '1m': 1_000_000 } as const;
export type Keys = keyof typeof keyCounts;
const keyLabels = ['10k', '1m'] as const satisfies readonly Keys[];

/** So many take Java 15 to 25 s, with either kind of store, and us some seconds. */
export const STREAMS_RECORDS: Readonly<Record<Store, number>> = {
  memory: 1_500_000,
  persistent: 1_000_000,
};

/** Of each suite; the commit interval of at least once is Java's bench's own. */
const guarantees = {
  streams: { guarantee: 'at_least_once', commitIntervalMs: 500 },
  'exactly-once': { guarantee: 'exactly_once_v2', commitIntervalMs: 100 },
} as const;
type SuiteName = keyof typeof guarantees;

interface Row {
  /** Without the suite's name. */
  readonly name: string;
  readonly case: StreamsCase;
  readonly store: Store;
  readonly keys: Keys;
}

/**
 * Rows that read the same topic follow each other. `map` has no store; its rows with the persistent ones
 * have the option set, too, on both sides, and show that it costs nothing where it is not used.
 */
const grid: readonly Row[] = stores.flatMap((store) =>
  keyLabels.flatMap((keys) =>
    streamsCases.map((name) => ({
      name: `${name}/${store}/${keys}`,
      case: name,
      store,
      keys,
    })),
  ),
);

/** Throughput of ours and of Java's Kafka Streams, at least once, cache 0, a commit every 500 ms. */
export const streams = suiteOf('streams');

/** The same exactly once, with a commit every 100 ms. */
export const exactlyOnce = suiteOf('exactly-once');

function suiteOf(suite: SuiteName): Suite {
  return {
    rows: grid.map(({ name }) => `${suite}/${name}`),

    async measure(names: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
      const figures: Figure[] = [];
      const cluster = await BenchCluster.start();
      try {
        await warmUp(cluster);
        for (const row of grid) {
          if (!names.includes(`${suite}/${row.name}`)) continue;
          figures.push(await compare(cluster, suite, row, options));
        }
      } finally {
        await cluster.close();
      }
      return figures;
    },
  };
}

async function compare(
  cluster: BenchCluster,
  suite: SuiteName,
  row: Row,
  options: BenchOptions,
): Promise<Figure> {
  const { store } = row;
  const name = `${suite}/${row.name}`;
  const input = {
    records: options.records ?? STREAMS_RECORDS[store],
    keys: keyCounts[row.keys],
  };
  const topic = await cluster.input(input);
  if (row.case === 'join') await cluster.table(topic, input);
  const { records } = input;
  const run = { case: row.case, store, topic, records, ...guarantees[suite] };
  const { ours, theirs } = await sideBySide(cluster, run, { name, rounds: options.rounds });
  return print(
    figure(
      name,
      ours.map(({ recordsPerSecond }) => recordsPerSecond),
      theirs.map(({ recordsPerSecond }) => recordsPerSecond),
      'records/s',
      'higher',
    ),
  );
}
