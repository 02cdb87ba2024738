import { isDeepStrictEqual } from 'node:util';
import { expectedOf, type Expected, type GoldenCase } from './case.ts';
import { errorDifference } from './errors.ts';
import type { Outcome } from './run-case.ts';

/** Where an outcome first differs from what is expected; null if nowhere. */
export function firstDifference(
  golden: GoldenCase,
  variant: number,
  outcome: Outcome,
): string | null {
  const expected = expectedOf(golden, variant);
  return (
    beforeSteps(expected, outcome) ??
    stepsDifference(expected, outcome) ??
    errorsDifference(expected, outcome) ??
    (expected.error === undefined ? endDifference(expected, outcome) : null)
  );
}

/** What was built; unless building was to fail, or did. */
function beforeSteps(expected: Expected, outcome: Outcome): string | null {
  if (expected.describe === undefined) return null;
  if (outcome.error?.phase === 'build' || outcome.error?.phase === 'start') {
    if (expected.error?.phase !== outcome.error.phase) {
      return `not to fail in ${outcome.error.phase}: ${stackOf(outcome.error.cause)}`;
    }
  }
  if (!isDeepStrictEqual(outcome.describe, expected.describe)) {
    return difference('describe', expected.describe.join('\n'), outcome.describe?.join('\n'));
  }
  const branches = expected.branches ?? {};
  if (isDeepStrictEqual(outcome.branches, branches)) return null;
  return difference('branches', branches, outcome.branches);
}

function stepsDifference(expected: Expected, outcome: Outcome): string | null {
  for (const [index, step] of (expected.steps ?? []).entries()) {
    const actual = outcome.steps[index];
    const what = `step ${String(index)}`;
    if (actual === undefined) return `${what} was not reached: ${stackOf(outcome.error?.cause)}`;
    if (isDeepStrictEqual(actual, step)) continue;
    const failure = outcome.error?.step === index ? `\n${stackOf(outcome.error.cause)}` : '';
    return difference(what, step, actual) + failure;
  }
  return null;
}

function errorsDifference(expected: Expected, outcome: Outcome): string | null {
  const { error } = expected;
  const actual = outcome.error;
  if (error === undefined) {
    if (actual === null) return null;
    return `not to fail in ${actual.phase} ${String(actual.step ?? '')}: ${stackOf(actual.cause)}`;
  }
  const place = `${error.phase} ${String(error.step ?? '')}`;
  if (actual === null) return `to fail in ${place}: ${JSON.stringify(error.chain)}`;
  if (actual.phase !== error.phase || actual.step !== error.step) {
    const other = `${actual.phase} ${String(actual.step ?? '')}`;
    return `to fail in ${place}, not in ${other}: ${stackOf(actual.cause)}`;
  }
  return errorDifference(error.chain, actual.cause);
}

function endDifference(expected: Expected, outcome: Outcome): string | null {
  for (const what of ['dropped', 'streamTime'] as const) {
    if (outcome[what] !== expected[what]) return difference(what, expected[what], outcome[what]);
  }
  const stores = expected.stores ?? {};
  const names = new Set([...Object.keys(stores), ...Object.keys(outcome.stores)]);
  for (const name of [...names].sort()) {
    if (isDeepStrictEqual(outcome.stores[name], stores[name])) continue;
    return difference(`store ${name}`, stores[name], outcome.stores[name]);
  }
  return null;
}

function difference(what: string, expected: unknown, actual: unknown): string {
  const asText = (value: unknown): string => {
    if (value === undefined) return 'nothing';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  return `${what}\nexpected: ${asText(expected)}\nactual:   ${asText(actual)}`;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${stackOf(error.cause)}`;
  return (error.stack ?? error.message) + cause;
}
