/** `pnpm soak --seed N --records N [--kills N]`: ten clients and a broker that are killed; see docs/testing.md. */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { soak } from './soak.ts';

const USAGE = 'usage: soak [--seed N] [--records N] [--kills N]';
const EXIT_USAGE = 2;
const DEFAULT_RECORDS = 1_000_000;
const DEFAULT_KILLS = 30;
const SEEDS = 1_000_000;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      records: { type: 'string', default: String(DEFAULT_RECORDS) },
      kills: { type: 'string', default: String(DEFAULT_KILLS) },
    },
  });
  const [seed, records, kills] = [values.seed, values.records, values.kills].map(Number) as [
    number,
    number,
    number,
  ];
  if (![seed, records, kills].every((value) => Number.isSafeInteger(value) && value >= 0)) {
    console.error(USAGE);
    return EXIT_USAGE;
  }
  console.log(`seed ${seed}`);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-soak-'));
  try {
    const say = (line: string): void => console.log(line);
    const report = await soak({ seed, records, kills, dataDir, say });
    for (const fault of report.faults) console.log(`FAULT ${fault}`);
    console.log(
      `${report.written} records, ${report.brokerKills} kills of the broker and ${report.clientKills} of clients: ${report.faults.length} faults`,
    );
    return report.faults.length === 0 ? 0 : 1;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
