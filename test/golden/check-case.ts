import { expect } from 'vitest';
import type { GoldenCase } from './case.ts';
import { firstDifference } from './compare.ts';
import { variantsOf } from './judge.ts';
import { runCase } from './run-case.ts';

/** Fails the test at the first difference of any variant. */
export async function checkCase(golden: GoldenCase, isAsynchronous: boolean): Promise<void> {
  for (const variant of variantsOf(golden)) {
    const outcome = await runCase(golden, variant, { isAsynchronous });
    const found = firstDifference(golden, variant, outcome);
    if (found !== null) expect.fail(`variant ${String(variant)}: ${found}`);
  }
}
