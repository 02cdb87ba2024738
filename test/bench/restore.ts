import { BenchCluster } from './cluster.ts';
import { type Figure, figure, print } from './figure.ts';
import { sideBySide } from './sides.ts';
import { keyCounts, stores, type Store } from './streams.ts';
import type { BenchOptions, Suite } from './suite.ts';

/** Each makes a record in the changelog. */
const RECORDS = 10_000_000;
const CHANGELOG = '-changelog';
/**
 * The cleaner takes nothing away: how much of a changelog is left to be restored would hang on when it
 * came by.
 */
const KEPT_AS_WRITTEN = { 'log.cleaner.min.compaction.lag.ms': '315360000000' };
/** What comes before the restoration is not measured, and Java has five minutes for it. */
const COMMIT_INTERVAL_MS = 5_000;

const names = new Map(stores.map((store) => [`restore/${store}`, store]));

/**
 * Counts ten million records over a million keys, stops, wipes the local state, and starts again: the
 * time from that start until the application runs, so until the whole changelog is read back.
 */
export const restore: Suite = {
  rows: [...names.keys()],

  async measure(rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const figures: Figure[] = [];
    const cluster = await BenchCluster.start(KEPT_AS_WRITTEN);
    try {
      for (const [name, store] of names) {
        if (rows.includes(name)) figures.push(await compare(cluster, name, store, options));
      }
    } finally {
      await cluster.close();
    }
    return figures;
  },
};

async function compare(
  cluster: BenchCluster,
  name: string,
  store: Store,
  { records: given, rounds }: BenchOptions,
): Promise<Figure> {
  const records = given ?? RECORDS;
  const topic = await cluster.input({ records, keys: keyCounts['1m'] });
  const run = {
    case: 'count',
    store,
    topic,
    records,
    isRestored: true,
    commitIntervalMs: COMMIT_INTERVAL_MS,
  };
  const { ours, theirs } = await sideBySide(cluster, run, {
    name,
    rounds,
    async inspect({ side, applications }) {
      const found = await cluster.recordCount(applications, CHANGELOG);
      if (found === records) return;
      throw new Error(`${name}, ${side}: ${found} records in the changelog, not ${records}`);
    },
  });
  return print(
    figure(
      name,
      ours.map(({ restoreSeconds }) => restoreSeconds),
      theirs.map(({ restoreSeconds }) => restoreSeconds),
      's',
      'lower',
    ),
  );
}
