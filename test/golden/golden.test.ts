import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkCase } from './check-case.ts';
import { findCases } from './find-cases.ts';
import { laterOperators } from './later-operators.ts';

const root = fileURLToPath(new URL('vectors/', import.meta.url));
const groups = readdirSync(root).map((group) => [group, findCases([root + group])] as const);

it('has all recorded cases that need no later operator', () => {
  const cases = groups.flatMap(([, found]) => found);
  expect(cases.filter((golden) => laterOperators(golden).size > 0)).toEqual([]);
  expect(cases).toHaveLength(365);
});

describe.each(groups)('golden cases: %s', (_group, cases) => {
  it.each(cases)('$name', async (golden) => {
    await checkCase(golden, false);
  });

  it.each(cases)('$name, every function asynchronous', async (golden) => {
    await checkCase(golden, true);
  });
});
