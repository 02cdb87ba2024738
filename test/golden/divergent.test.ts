import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { checkCase } from './check-case.ts';
import { findCases } from './find-cases.ts';

/**
 * Cases in which Kafka Streams 4.4.0 loses results or fails on valid input, and Millrace does not. What
 * is expected is worked out by hand, up to where Kafka Streams goes wrong from its own record.
 */
const cases = findCases([fileURLToPath(new URL('vectors-divergent/', import.meta.url))]);

describe('where Millrace does better than Kafka Streams', () => {
  it.each(cases)('$name', async (golden) => {
    await checkCase(golden, false);
  });

  it.each(cases)('$name, every function asynchronous', async (golden) => {
    await checkCase(golden, true);
  });
});
