import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startKafka } from '../support/kafka/start-kafka.ts';
import { type Figure, figure, print } from './figure.ts';
import { java } from './java.ts';

/** What both sides print, one JSON line a run. */
export interface StreamsResult {
  readonly recordsPerSecond: number;
  /** Of our side only: what `bench scale` compares. */
  readonly cpuMicrosPerRecord?: number;
  readonly outputs: number;
  readonly digest: number;
}

const streamsCases = ['map', 'count', 'window', 'rekey', 'join'] as const;
export type StreamsCase = (typeof streamsCases)[number];

const ROUNDS = 3;
const RECORDS = 2_000_000;
const APP_DEADLINE_MS = 10 * 60_000;
const run = promisify(execFile);

/**
 * Ours and Java's Kafka Streams on the same real Kafka and the same loaded topics, one stream thread
 * each, runs alternating. Both must give the same digest of last values, and the same number of
 * outputs, or the benchmark fails.
 */
export async function streams(cases: readonly string[]): Promise<readonly Figure[]> {
  const chosen = cases.length === 0 ? streamsCases : cases.map(asCase);
  const figures: Figure[] = [];
  const kafka = await startKafka({ purpose: 'bench' });
  try {
    const bootstrap = ['--bootstrap', kafka.bootstrapServers];
    for (const [label, keys] of [['10k', '10000']] as const) {
      const topic = `bench-${label}`;
      const input = [...bootstrap, '--topic', topic, '--keys', keys];
      await java(['load', ...input, '--records', String(RECORDS)]);
      await java([
        'load',
        ...bootstrap,
        '--topic',
        `${topic}-table`,
        '--table',
        '1',
        '--keys',
        keys,
      ]);
      for (const name of chosen) {
        figures.push(await compare(name, label, kafka.bootstrapServers, topic));
      }
    }
  } finally {
    await kafka.close();
  }
  return figures;
}

async function compare(
  name: StreamsCase,
  label: string,
  bootstrapServers: string,
  topic: string,
): Promise<Figure> {
  const args = [
    ['--bootstrap', bootstrapServers],
    ['--topic', topic],
    ['--case', name],
    ['--store', 'memory'],
    ['--records', String(RECORDS)],
  ].flat();
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const mine = await ourRun(args);
    const java = await javaRun(args);
    if (mine.digest !== java.digest || mine.outputs !== java.outputs) {
      throw new Error(
        `${name}: results differ, ours ${JSON.stringify(mine)}, Java's ${JSON.stringify(java)}`,
      );
    }
    ours.push(mine.recordsPerSecond);
    theirs.push(java.recordsPerSecond);
  }
  return print(figure(`streams/${name}/memory/${label}`, ours, theirs, 'records/s', 'higher'));
}

async function ourRun(args: readonly string[]): Promise<StreamsResult> {
  const app = join(dirname(fileURLToPath(import.meta.url)), 'streams-app.js');
  const { stdout } = await run(process.execPath, [app, ...args], { timeout: APP_DEADLINE_MS });
  return lastLine(stdout);
}

async function javaRun(args: readonly string[]): Promise<StreamsResult> {
  return lastLine(await java(['run', ...args]));
}

function lastLine(text: string): StreamsResult {
  return JSON.parse(text.trim().split('\n').at(-1) as string) as StreamsResult;
}

function asCase(name: string): StreamsCase {
  const found = streamsCases.find((known) => known === name);
  if (found === undefined) throw new Error(`no case ${name}; there are ${streamsCases.join(', ')}`);
  return found;
}
