import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { GoldenCase } from './case.ts';
import { firstDifference } from './compare.ts';
import { findCases } from './find-cases.ts';
import { variantsOf } from './judge.ts';
import { laterOperators } from './later-operators.ts';
import { runCase } from './run-case.ts';

const root = fileURLToPath(new URL('vectors/', import.meta.url));
const groups = readdirSync(root).map((group) => [group, findCases([root + group])] as const);

it('has all recorded cases that need no later operator', () => {
  const cases = groups.flatMap(([, found]) => found);
  expect(cases.filter((golden) => laterOperators(golden).size > 0)).toEqual([]);
  expect(cases).toHaveLength(365);
});

async function check(golden: GoldenCase, isAsynchronous: boolean): Promise<void> {
  for (const variant of variantsOf(golden)) {
    const outcome = await runCase(golden, variant, { isAsynchronous });
    const found = firstDifference(golden, variant, outcome);
    if (found !== null) expect.fail(`variant ${String(variant)}: ${found}`);
  }
}

describe.each(groups)('golden cases: %s', (_group, cases) => {
  it.each(cases)('$name', async (golden) => {
    await check(golden, false);
  });

  it.each(cases)('$name, every function asynchronous', async (golden) => {
    await check(golden, true);
  });
});
