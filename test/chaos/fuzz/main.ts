/** `pnpm fuzz:broker --seed N --cases N [--from N]`: hostile requests against the embedded broker; see docs/testing.md. */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fuzzBroker } from './broker-fuzz.ts';

const USAGE = 'usage: fuzz:broker [--seed N] [--cases N] [--from N]';
const EXIT_USAGE = 2;
const DEFAULT_CASES = 20_000;
const SEEDS = 1_000_000;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      cases: { type: 'string', default: String(DEFAULT_CASES) },
      from: { type: 'string', default: '0' },
    },
  });
  const [seed, cases, from] = [Number(values.seed), Number(values.cases), Number(values.from)];
  if (![seed, cases, from].every((value) => Number.isSafeInteger(value) && value >= 0)) {
    console.error(USAGE);
    return EXIT_USAGE;
  }
  console.log(`seed ${seed}`);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'));
  try {
    const say = (line: string): void => console.log(line);
    const report = await fuzzBroker({ seed, cases, from, dataDir, say });
    for (const fault of report.faults) console.log(`FAULT ${fault}`);
    console.log(
      `${report.faults.length} faults; a client beside went ${report.steadyRounds} rounds, its slowest request took ${Math.round(report.slowestMs)} ms`,
    );
    return report.faults.length === 0 ? 0 : 1;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
