import { findCases } from './find-cases.ts';
import { judge } from './judge.ts';

const usage = 'usage: golden DIR|FILE... [--case NAME]';

/** Runs recorded cases; prints each failing one with its first difference, and the sums at the end. */
async function main(args: readonly string[]): Promise<number> {
  const paths: string[] = [];
  let only: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === '--case') only = args[++i];
    else if (arg !== '--') paths.push(arg);
  }
  if (paths.length === 0) {
    console.error(usage);
    return 2;
  }
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const golden of findCases(paths)) {
    if (only !== undefined && golden.name !== only) continue;
    const verdict = await judge(golden);
    counts[verdict.kind]++;
    if (verdict.kind === 'failed') {
      console.log(`FAILED ${golden.name}\n${verdict.where}\n${verdict.difference}\n`);
    }
  }
  const { passed, failed, skipped } = counts;
  console.log(`${String(passed)} passed, ${String(failed)} failed, ${String(skipped)} skipped`);
  return failed === 0 && passed + skipped > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
