/** `pnpm chaos --seed N --kills N [--broker embedded|kafka]`: exactly once under kills; see docs/testing.md. */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { minimumOf, runChaos } from './chaos.ts';
import { findingKinds } from './findings.ts';
import { instanceStates } from './instance-states.ts';

const USAGE = 'usage: chaos [--seed N] [--kills N] [--broker embedded|kafka]';
const EXIT_USAGE = 2;
const DEFAULT_KILLS = 50;
const SEEDS = 1_000_000;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      kills: { type: 'string', default: String(DEFAULT_KILLS) },
      broker: { type: 'string', default: 'embedded' },
    },
  });
  const [seed, kills] = [Number(values.seed), Number(values.kills)];
  const { broker } = values;
  if (
    !Number.isSafeInteger(seed) ||
    !(Number.isSafeInteger(kills) && kills > 0) ||
    (broker !== 'embedded' && broker !== 'kafka')
  ) {
    console.error(USAGE);
    return EXIT_USAGE;
  }
  console.log(`seed ${seed}, ${kills} kills, ${broker}`);
  const directory = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  const startedMs = performance.now();
  const say = (line: string): void => console.log(line);
  const report = await runChaos({ seed, kills, broker, directory, say });
  const { findings } = report;
  const states = instanceStates.map((state) => `${state} ${report.kills[state]}`).join(', ');
  console.log(
    `kills: ${states}, other ${report.kills.other}; of the broker ${report.brokerKills}; at least ${minimumOf(kills)} of each`,
  );
  console.log(
    `stalls: ${report.stalls}, of which ${report.longStalls} outlasted the session, and ${report.fenced} of these were fenced`,
  );
  console.log(
    `${report.orders} orders, ${report.results} results; ${report.aborted} more were written and undone`,
  );
  for (const line of findings.shown) console.log(`FAULT ${line}`);
  console.log(findingKinds.map((kind) => `${findings.count(kind)} ${kind}`).join(', '));
  console.log(`${Math.round((performance.now() - startedMs) / 1_000)} s`);
  if (findings.isEmpty) {
    rmSync(directory, { recursive: true, force: true });
    return 0;
  }
  console.log(`logs, state and data are kept in ${directory}`);
  console.log(
    `to draw these blows again: pnpm chaos --seed ${seed} --kills ${kills} --broker ${broker}`,
  );
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
