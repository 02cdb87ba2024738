import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OffsetMap } from '@millrace/compaction';
import { LogOracle } from '../support/log-oracle.ts';
import type { CleanerMemory } from './cleaner-app.ts';
import { cleanLogIn, ensureSurvivors, MAP_BYTES, MIB, newMap, writeLogIn } from './cleaner-log.ts';
import { type Figure, figure, print } from './figure.ts';
import type { BenchOptions, Suite } from './suite.ts';

const LOG_MIB = 64;
const SEGMENT_BYTES = 128 * MIB;
/** Until the compiler has seen it all. Kafka's cleaner gets one more in front of every round. */
const WARM_UPS = 4;

/** A key and its record's overhead add about 26 bytes to the value. */
const CASES: Readonly<Record<string, { readonly valueSize: number; readonly codec: string }>> = {
  'cleaner/120b/none': { valueSize: 94, codec: 'none' },
  'cleaner/120b/lz4': { valueSize: 94, codec: 'lz4' },
  'cleaner/1k/none': { valueSize: 1024, codec: 'none' },
  'cleaner/1k/lz4': { valueSize: 1024, codec: 'lz4' },
};

/** 2 GB of 20 million records over as many keys as fit into a map of 128 MiB. */
const MEMORY = 'cleaner/memory';
const MEMORY_RECORDS = 20_000_000;
const MEMORY_KEYS = 4_500_000;
const MEMORY_VALUE_BYTES = 76;
const MEMORY_SEGMENT_BYTES = 1_024 * MIB;
/** What a pass may take beside its map, MiB. */
const BESIDE_THE_MAP_MIB = 64;
const CLEANING_DEADLINE_MS = 10 * 60_000;
const KIB_PER_MIB = 1_024;

/** By how much a log is longer than the one that it is compared with, a key per ten records in either. */
const LENGTHS: Readonly<Record<string, number>> = {
  'cleaner/length/2x': 2,
  'cleaner/length/4x': 4,
};
/** A map of more keys is less in the processor's caches: that much may be lost, not a power of the length. */
const LEAST_LENGTH_RATIO = 0.6;
const LENGTH_RECORDS = 1_000_000;
const LENGTH_VALUE_BYTES = 94;
const RECORDS_PER_KEY = 10;

interface OracleBench {
  readonly pristine: string;
  readonly rounds: readonly {
    readonly mbPerSec: number;
    readonly stats: { readonly messagesWritten: number };
  }[];
}

/**
 * Our cleaner and Kafka's on copies of one directory, in turn: 50,000 keys, warm, one thread each, MiB of input a
 * second, both phases and the swap. Then what ours does with size: the memory of a pass over 2 GB, and
 * the time per MiB of a log of twice and four times the length.
 */
export const cleaner: Suite = {
  rows: [...Object.keys(CASES), MEMORY, ...Object.keys(LENGTHS)],

  async measure(rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const root = mkdtempSync(join(tmpdir(), 'bench-cleaner-'));
    try {
      const cases = rows.filter((row) => row in CASES);
      const figures = cases.length > 0 ? await againstKafka(cases, options, root) : [];
      if (rows.includes(MEMORY)) figures.push(await memory(options, root));
      const lengths = rows.filter((row) => row in LENGTHS);
      if (lengths.length > 0) figures.push(...(await byLength(lengths, options, root)));
      return figures;
    } finally {
      rmSync(root, { recursive: true });
    }
  },
};

async function againstKafka(
  rows: readonly string[],
  options: BenchOptions,
  root: string,
): Promise<Figure[]> {
  const oracle = await LogOracle.start();
  const map = newMap();
  const figures: Figure[] = [];
  try {
    for (const row of rows) {
      const { valueSize, codec } = CASES[row] as (typeof CASES)[string];
      const mb = options.records === null ? LOG_MIB : (options.records * valueSize) / MIB;
      const request = { cmd: 'bench', dir: root, mb, valueSize, codec, rounds: 1 };
      const copy = join(root, 'ours');
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let round = -WARM_UPS; round < options.rounds; round++) {
        const { pristine, rounds } = await oracle.ask<OracleBench>(request);
        const [kafka] = rounds as [OracleBench['rounds'][number]];
        const { inputBytes, elapsedMs } = await cleanCopy(pristine, copy, map);
        if (round < 0) continue;
        ours.push((inputBytes / MIB / elapsedMs) * 1000);
        theirs.push(kafka.mbPerSec);
        if (round === 0) {
          ensureSurvivors(pristine, join(copy, 'bench-0'), kafka.stats.messagesWritten);
        }
      }
      figures.push(print(figure(row, ours, theirs, 'MiB/s', 'higher')));
    }
  } finally {
    await oracle.close();
  }
  return figures;
}

function cleanCopy(pristine: string, copy: string, map: OffsetMap): ReturnType<typeof cleanLogIn> {
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy);
  cpSync(pristine, join(copy, 'bench-0'), { recursive: true, preserveTimestamps: true });
  return cleanLogIn(copy, SEGMENT_BYTES, () => map);
}

/** What the process that cleans takes beyond what it takes idle, against what it may. */
async function memory(options: BenchOptions, root: string): Promise<Figure> {
  const log = join(root, 'memory');
  mkdirSync(log);
  await writeLogIn(log, MEMORY_SEGMENT_BYTES, {
    records: options.records ?? MEMORY_RECORDS,
    keys: MEMORY_KEYS,
    valueBytes: MEMORY_VALUE_BYTES,
  });
  const app = join(dirname(fileURLToPath(import.meta.url)), 'cleaner-app.js');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [app, log, String(MEMORY_SEGMENT_BYTES)],
    { timeout: CLEANING_DEADLINE_MS },
  );
  rmSync(log, { recursive: true });
  console.log(stdout.trim());
  const { idleKib, peakKib } = JSON.parse(stdout) as CleanerMemory;
  const limit = MAP_BYTES / MIB + BESIDE_THE_MAP_MIB;
  const taken = (peakKib - idleKib) / KIB_PER_MIB;
  const measured = print(figure(MEMORY, [taken], [limit], 'MiB', 'lower'));
  demandRatio(measured, 1);
  return measured;
}

/** These two are promises: missing them is a failure, not a figure. */
function demandRatio(measured: Figure, least: number): void {
  if (measured.ratio >= least) return;
  const { name, ours, theirs, unit } = measured;
  throw new Error(`${name} failed: ${ours} ${unit} against ${theirs}, a ratio below ${least}`);
}

/** Milliseconds per MiB, of the longer log against the shorter one: 1 is linear. */
async function byLength(
  rows: readonly string[],
  options: BenchOptions,
  root: string,
): Promise<Figure[]> {
  const map = newMap();
  const records = options.records ?? LENGTH_RECORDS;
  const lengths = [1, ...rows.map((row) => LENGTHS[row] as number)];
  const pristine = (length: number): string => join(root, `length-${length}`);
  for (const length of lengths) {
    mkdirSync(pristine(length));
    await writeLogIn(pristine(length), SEGMENT_BYTES, {
      records: records * length,
      keys: (records * length) / RECORDS_PER_KEY,
      valueBytes: LENGTH_VALUE_BYTES,
    });
  }
  const costs = new Map<number, number[]>(lengths.map((length) => [length, []]));
  for (let round = -WARM_UPS; round < options.rounds; round++) {
    for (const length of lengths) {
      const from = join(pristine(length), 'bench-0');
      const { inputBytes, elapsedMs } = await cleanCopy(from, join(root, 'ours'), map);
      if (round >= 0) costs.get(length)?.push(elapsedMs / (inputBytes / MIB));
    }
  }
  const of = (length: number): number[] => costs.get(length) as number[];
  const figures = rows.map((row) =>
    print(figure(row, of(LENGTHS[row] as number), of(1), 'ms/MiB', 'lower')),
  );
  for (const measured of figures) demandRatio(measured, LEAST_LENGTH_RATIO);
  return figures;
}
