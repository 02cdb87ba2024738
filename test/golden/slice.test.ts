import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { GoldenCase } from './case.ts';
import { firstDifference, runCase } from './run-case.ts';
import { hasInMemoryStores, isInSlice, variantsOf } from './slice.ts';

const root = fileURLToPath(new URL('vectors-slice/', import.meta.url));
const groups = readdirSync(root);

function cases(group: string): GoldenCase[] {
  return readdirSync(`${root}${group}`).map(
    (file) => JSON.parse(readFileSync(`${root}${group}/${file}`, 'utf8')) as GoldenCase,
  );
}

it('has the cases that the slice can do', () => {
  expect(groups).toEqual([
    'aggregations',
    'bytes',
    'joins',
    'naming',
    'random',
    'stateless',
    'tables',
    'time-errors',
  ]);
});

describe.each(groups)('golden cases: %s', (group) => {
  describe.each(cases(group))('$name', (golden) => {
    const variants = variantsOf(golden).filter((variant) => isInSlice(golden, variant));

    it('has a variant that is run', () => {
      expect(variants).not.toEqual([]);
    });

    it.each(variants)('variant %i gives what Kafka Streams gives', async (variant) => {
      const outcome = await runCase(golden, variant, { isAsynchronous: false });
      const stores = hasInMemoryStores(golden, variant);
      expect(firstDifference(golden, variant, outcome, { stores })).toBeNull();
    });

    it.each(variants)('variant %i gives the same with asynchronous functions', async (variant) => {
      const outcome = await runCase(golden, variant, { isAsynchronous: true });
      const stores = hasInMemoryStores(golden, variant);
      expect(firstDifference(golden, variant, outcome, { stores })).toBeNull();
    });
  });
});
