/** `pnpm crash --seed N --kills N [--rows N] [--guarantee G]`: the flights job, killed at random moments; see docs/testing.md. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Guarantee } from './flights-round.ts';
import { killFlights } from './kills.ts';
import { killStates } from './kill-states.ts';

const USAGE =
  'usage: crash [--seed N] [--kills N] [--rows N] [--guarantee at_least_once|exactly_once_v2]';
const EXIT_USAGE = 2;
const DEFAULT_KILLS = 30;
const DEFAULT_ROWS = 200_000;
const SEEDS = 1_000_000;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      kills: { type: 'string', default: String(DEFAULT_KILLS) },
      rows: { type: 'string', default: String(DEFAULT_ROWS) },
      guarantee: { type: 'string', default: 'at_least_once' },
    },
  });
  const { guarantee } = values;
  const [seed, kills, rows] = [Number(values.seed), Number(values.kills), Number(values.rows)];
  if (!Number.isSafeInteger(seed) || !isCount(kills) || !isCount(rows) || !isGuarantee(guarantee)) {
    console.error(USAGE);
    return EXIT_USAGE;
  }
  console.log(`seed ${String(seed)}`);
  const say = (line: string): void => {
    console.log(line);
  };
  const report = await killFlights({ seed, kills, rows, guarantee, say });
  const { counts, otherCount, roundCount, surplus, faults } = report;
  const states = killStates.map((state) => `${state} ${counts[state]}`).join(', ');
  console.log(`kills: ${states}, between these ${otherCount}`);
  console.log(
    `${roundCount} times ${rows} flights were processed to the end; ${surplus} records came again`,
  );
  for (const fault of faults) console.log(`FAULT ${fault}`);
  if (faults.length > 0) {
    console.log(
      `to draw these moments again: pnpm crash --seed ${seed} --kills ${kills} --rows ${rows} --guarantee ${guarantee}`,
    );
  }
  console.log(faults.length === 0 ? 'nothing is missing' : `${faults.length} faults`);
  return faults.length === 0 ? 0 : 1;
}

function isGuarantee(value: string): value is Guarantee {
  return value === 'at_least_once' || value === 'exactly_once_v2';
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

process.exitCode = await main(process.argv.slice(2));
