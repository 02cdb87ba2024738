import { cpSync, mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  cleanableRange,
  cleanOnce,
  FakeClock,
  LogDir,
  nodeDisk,
  OffsetMap,
  parseLogConfig,
  systemClock,
  systemRandom,
  type Log,
} from '@millrace/compaction';
import { LogOracle } from '../support/log-oracle.ts';
import { type Figure, figure, print } from './figure.ts';
import type { BenchOptions, Suite } from './suite.ts';

const MIB = 1_048_576;
const LOG_MIB = 64;
const SEGMENT_BYTES = 128 * MIB;
const MAP_BYTES = 128 * MIB;
/** As the oracle has it. */
const IO_BUFFER_BYTES = 256 * 1024;
/** Until the compiler has seen it all. */
const WARM_UPS = 2;
const NOW = 1_800_000_000_000;

/** A key and its record's overhead add about 26 bytes to the value. */
const CASES: Readonly<Record<string, { readonly valueSize: number; readonly codec: string }>> = {
  'cleaner/120b/none': { valueSize: 94, codec: 'none' },
  'cleaner/120b/lz4': { valueSize: 94, codec: 'lz4' },
  'cleaner/1k/none': { valueSize: 1024, codec: 'none' },
  'cleaner/1k/lz4': { valueSize: 1024, codec: 'lz4' },
};

interface OracleBench {
  readonly pristine: string;
  readonly rounds: readonly { readonly mbPerSec: number }[];
}

/** Our cleaner and Kafka's on copies of one directory: 50,000 keys, warm, one thread each, MiB of input a second. */
export const cleaner: Suite = {
  rows: Object.keys(CASES),

  async measure(rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const oracle = await LogOracle.start();
    const root = mkdtempSync(join(tmpdir(), 'bench-cleaner-'));
    const map = new OffsetMap(MAP_BYTES, 0.9, systemRandom);
    const figures: Figure[] = [];
    try {
      for (const row of rows) {
        const { valueSize, codec } = CASES[row] as (typeof CASES)[string];
        const mb = options.records === null ? LOG_MIB : (options.records * valueSize) / MIB;
        const theirs = await oracle.ask<OracleBench>({
          cmd: 'bench',
          dir: root,
          mb,
          valueSize,
          codec,
          rounds: options.rounds,
        });
        const ours: number[] = [];
        for (let round = -WARM_UPS; round < options.rounds; round++) {
          const speed = await cleanCopy(theirs.pristine, join(root, 'ours'), map);
          if (round >= 0) ours.push(speed);
        }
        const rounds = theirs.rounds.map((round) => round.mbPerSec);
        figures.push(print(figure(row, ours, rounds, 'MiB/s', 'higher')));
      }
    } finally {
      await oracle.close();
      rmSync(root, { recursive: true });
    }
    return figures;
  },
};

/** MiB of input a second, both phases and the swap. */
async function cleanCopy(pristine: string, root: string, map: OffsetMap): Promise<number> {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  cpSync(pristine, join(root, 'bench-0'), { recursive: true, preserveTimestamps: true });
  const config = parseLogConfig(
    new Map([
      ['cleanup.policy', 'compact'],
      ['segment.bytes', String(SEGMENT_BYTES)],
    ]),
  );
  const dir = await LogDir.open(root, { clock: new FakeClock(NOW), configOf: () => config });
  try {
    const log = dir.log('bench', 0) as Log;
    const range = cleanableRange(log, undefined, NOW);
    const startedMs = systemClock.monotonicMs();
    await cleanOnce(
      log,
      range,
      {
        disk: nodeDisk,
        clock: systemClock,
        map,
        ioBufferBytes: IO_BUFFER_BYTES,
        control: { ensureWanted: () => undefined, throttle: () => undefined },
      },
      NOW,
    );
    return range.compactableBytes / MIB / ((systemClock.monotonicMs() - startedMs) / 1000);
  } finally {
    await dir.close();
  }
}
