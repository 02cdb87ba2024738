import type { GoldenCase } from './case.ts';
import { firstDifference } from './compare.ts';
import { laterOperators } from './later-operators.ts';
import { runCase } from './run-case.ts';

export type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly operators: ReadonlySet<string> }
  | { readonly kind: 'failed'; readonly where: string; readonly difference: string };

/** Every variant of a case, with synchronous and with asynchronous user functions. */
export async function judge(golden: GoldenCase): Promise<Verdict> {
  const operators = laterOperators(golden);
  if (operators.size > 0) return { kind: 'skipped', operators };
  for (const variant of variantsOf(golden)) {
    for (const isAsynchronous of [false, true]) {
      const difference = await differenceOf(golden, variant, isAsynchronous);
      if (difference === null) continue;
      const config = JSON.stringify(golden.variants?.[variant] ?? {});
      const where = `variant ${String(variant)} ${config}${isAsynchronous ? ', asynchronous' : ''}`;
      return { kind: 'failed', where, difference };
    }
  }
  return { kind: 'passed' };
}

/** Whatever goes wrong is the case's failure, so that the others are judged, too. */
async function differenceOf(
  golden: GoldenCase,
  variant: number,
  isAsynchronous: boolean,
): Promise<string | null> {
  try {
    const outcome = await runCase(golden, variant, { isAsynchronous });
    return firstDifference(golden, variant, outcome);
  } catch (error) {
    return error instanceof Error ? String(error.stack) : String(error);
  }
}

export function variantsOf(golden: GoldenCase): number[] {
  return Array.from({ length: golden.variants?.length ?? 1 }, (_, variant) => variant);
}
