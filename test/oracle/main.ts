/**
 * `pnpm oracle --fixtures DIR...`: recorded directories that Kafka's Cleaner has cleaned, cleaned by
 * ours. `pnpm oracle --seed N --cases N`: random ones, cleaned by both. See docs/testing.md.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { missingForJava } from '../support/kafka/jars.ts';
import { LogOracle } from '../support/log-oracle.ts';
import { compareRandomCase } from './compare-random.ts';
import { findFixtures, runFixture } from './fixtures.ts';

const EXIT_USAGE = 2;
const DIFFERENCES_SHOWN = 10;

const USAGE = 'usage: oracle --fixtures DIR... | oracle --seed N --cases N';

function show(name: string, differences: readonly string[]): void {
  console.log(`${name}:`);
  for (const difference of differences.slice(0, DIFFERENCES_SHOWN)) console.log(`  ${difference}`);
}

/** The number of those that failed. */
async function runFixtures(folders: readonly string[]): Promise<number> {
  const fixtures = folders.flatMap(findFixtures);
  let failed = 0;
  for (const fixture of fixtures) {
    const differences = await runFixture(fixture);
    if (differences.length === 0) continue;
    failed++;
    show(basename(fixture), differences);
  }
  console.log(`${String(fixtures.length - failed)} passed, ${String(failed)} failed`);
  return failed;
}

/** Each case has a seed of its own, by which it can be run again. */
async function runRandom(seed: number, cases: number): Promise<number> {
  const missing = missingForJava();
  if (missing !== null) throw new Error(`random cases run Kafka's Cleaner in Java, but ${missing}`);
  const oracle = await LogOracle.start();
  let failed = 0;
  try {
    for (let one = seed; one < seed + cases; one++) {
      const differences = await compareRandomCase(oracle, one);
      if (differences.length === 0) continue;
      failed++;
      show(`pnpm oracle --seed ${String(one)} --cases 1`, differences);
    }
  } finally {
    await oracle.close();
  }
  console.log(`${String(cases - failed)} passed, ${String(failed)} failed`);
  return failed;
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`--${name} ${text}: a whole number from 1 on is expected`);
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        fixtures: { type: 'boolean' },
        seed: { type: 'string' },
        cases: { type: 'string' },
      },
      allowPositionals: true,
    });
    const isRandom = values.seed !== undefined || values.cases !== undefined;
    if (isRandom === (values.fixtures === true) || isRandom === positionals.length > 0) {
      throw new Error(USAGE);
    }
    const failed = isRandom
      ? await runRandom(
          wholeNumber('seed', values.seed ?? '1'),
          wholeNumber('cases', values.cases ?? '100'),
        )
      : await runFixtures(positionals);
    return failed === 0 ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return EXIT_USAGE;
  }
}

process.exitCode = await main(process.argv.slice(2));
