import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkCase } from './check-case.ts';
import { findCases } from './find-cases.ts';

/** Recorded like the others: kinds of stores, suppliers, expiry, and caches that hold a few entries. */
const cases = findCases([fileURLToPath(new URL('vectors-stores/', import.meta.url))]);

it('has cases of stores', () => {
  expect(cases.length).toBeGreaterThan(20);
});

describe('golden cases: stores', () => {
  it.each(cases)('$name', async (golden) => {
    await checkCase(golden, false);
  });

  it.each(cases)('$name, every function asynchronous', async (golden) => {
    await checkCase(golden, true);
  });
});
