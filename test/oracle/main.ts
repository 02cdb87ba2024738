/**
 * `pnpm oracle --fixtures DIR...`: recorded directories that Kafka's Cleaner has cleaned, cleaned by
 * ours. `pnpm oracle --seed N --cases N`: random ones, cleaned by both. See docs/testing.md.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { findFixtures, runFixture } from './fixtures.ts';

const EXIT_USAGE = 2;
const DIFFERENCES_SHOWN = 10;

async function runFixtures(folders: readonly string[]): Promise<number> {
  let passed = 0;
  let failed = 0;
  for (const fixture of folders.flatMap(findFixtures)) {
    const differences = await runFixture(fixture);
    if (differences.length === 0) {
      passed++;
      continue;
    }
    failed++;
    console.log(`${basename(fixture)}:`);
    for (const difference of differences.slice(0, DIFFERENCES_SHOWN)) {
      console.log(`  ${difference}`);
    }
  }
  console.log(`${String(passed)} passed, ${String(failed)} failed`);
  return failed;
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: { fixtures: { type: 'boolean' } },
      allowPositionals: true,
    });
    if (values.fixtures !== true || positionals.length === 0) {
      throw new Error('say what to compare: --fixtures DIR...');
    }
    return (await runFixtures(positionals)) === 0 ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return EXIT_USAGE;
  }
}

process.exitCode = await main(process.argv.slice(2));
