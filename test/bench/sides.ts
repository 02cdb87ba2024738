import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchCluster } from './cluster.ts';
import { JAVA_APPLICATIONS, java } from './java.ts';

/** What both sides print, one JSON line a run. */
export interface StreamsResult {
  readonly recordsPerSecond: number;
  /** From just before the application is started to its first processed record, ms. */
  readonly startToFirstMs: number;
  /** Resident memory when all is processed and committed, KiB. */
  readonly rssKb: number;
  /** From just before it is started again, without state, until it runs; 0 if that was not asked for. */
  readonly restoreSeconds: number;
  readonly outputs: number;
  readonly digest: number;
  /** Of our side only: what `bench scale` compares. */
  readonly cpuMicrosPerRecord?: number;
}

export type Side = 'ours' | 'theirs';
export type Runs = Readonly<Record<Side, readonly StreamsResult[]>>;

export interface StreamsRun {
  readonly case: string;
  readonly store: 'memory' | 'persistent';
  readonly topic: string;
  readonly records: number;
  /** `processing.guarantee`; default at least once. */
  readonly guarantee?: 'at_least_once' | 'exactly_once_v2';
  /** After it is through, its state is wiped and restored. */
  readonly isRestored?: boolean;
  /** `commit.interval.ms`; default 500. */
  readonly commitIntervalMs?: number;
}

/** Our applications are called so in front of their case. */
export const OUR_APPLICATIONS = 'millrace-';
const WARM_UP_RECORDS = 1_000_000;
const WARM_UP_KEYS = 10_000;
const APP_DEADLINE_MS = 15 * 60_000;
const execute = promisify(execFile);

/** Our side, whatever it is asked to do. */
export async function runOurs(args: readonly string[]): Promise<StreamsResult> {
  const app = join(dirname(fileURLToPath(import.meta.url)), 'streams-app.js');
  const { stdout } = await execute(process.execPath, [app, ...args], { timeout: APP_DEADLINE_MS });
  return lastLine(stdout);
}

export interface SideBySideOptions {
  /** What is measured, for the error when the results differ. */
  readonly name: string;
  readonly rounds: number;
  /** Looks at what a run left on the cluster; `startedMs`: when its process was started, epoch ms. */
  readonly inspect?: (run: {
    readonly side: Side;
    readonly applications: string;
    readonly startedMs: number;
  }) => Promise<void>;
}

/**
 * Ours and Java's Kafka Streams in turn, on the same Kafka and the same loaded topics, one stream thread
 * each. Both must give the same digest of last values and the same number of outputs, or it throws. The
 * topics that a run makes are removed after it: the next one shall find the broker as this one did.
 */
export async function sideBySide(
  cluster: BenchCluster,
  run: StreamsRun,
  { name, rounds, inspect }: SideBySideOptions,
): Promise<Runs> {
  const args = [
    ['--bootstrap', cluster.bootstrapServers],
    ['--topic', run.topic],
    ['--case', run.case],
    ['--store', run.store === 'memory' ? 'memory' : 'rocksdb'],
    ['--records', String(run.records)],
    ...(run.commitIntervalMs === undefined ? [] : [['--commit', String(run.commitIntervalMs)]]),
    ...(run.guarantee === undefined ? [] : [['--guarantee', run.guarantee]]),
    ...(run.isRestored === true ? [['--restore', '1']] : []),
  ].flat();
  const measured = { ours: [] as StreamsResult[], theirs: [] as StreamsResult[] };
  for (let round = 0; round < rounds; round++) {
    for (const side of ['ours', 'theirs'] as const) {
      const startedMs = Date.now();
      measured[side].push(
        side === 'ours' ? await runOurs(args) : lastLine(await java(['run', ...args])),
      );
      const applications = side === 'ours' ? OUR_APPLICATIONS : JAVA_APPLICATIONS;
      await inspect?.({ side, applications, startedMs });
      await cluster.deleteTopics(applications);
    }
    demandEqual(name, measured.ours.at(-1), measured.theirs.at(-1));
  }
  return measured;
}

/**
 * Has the cluster serve an application of each side first, exactly once and with a repartition topic, so all
 * that the rows ask of it. Java compiles code that is used often, and the first rows would be about a broker
 * whose code is not compiled yet, beside which the faster side loses more.
 */
export async function warmUp(cluster: BenchCluster): Promise<void> {
  const topic = await cluster.input({ records: WARM_UP_RECORDS, keys: WARM_UP_KEYS });
  await sideBySide(
    cluster,
    {
      case: 'rekey',
      store: 'memory',
      topic,
      records: WARM_UP_RECORDS,
      guarantee: 'exactly_once_v2',
      commitIntervalMs: 100,
    },
    { name: 'warm-up', rounds: 1 },
  );
}

function demandEqual(name: string, ours?: StreamsResult, theirs?: StreamsResult): void {
  if (ours?.digest === theirs?.digest && ours?.outputs === theirs?.outputs) return;
  const both = `ours ${JSON.stringify(ours)}, Java's ${JSON.stringify(theirs)}`;
  throw new Error(`${name}: results differ, ${both}`);
}

function lastLine(text: string): StreamsResult {
  return JSON.parse(text.trim().split('\n').at(-1) as string) as StreamsResult;
}
