import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { LogOracle } from '../support/log-oracle.ts';
import { compareRandomCase } from './compare-random.ts';

const missing = missingForJava();
const title = "a random history, cleaned by Kafka's own Cleaner and by ours";
const CASES = 8;
/** Compressing anew comes to more than segment.bytes; Kafka's pass fails at full indexes. */
const FOUND = [1010, 2030];
const DEADLINE_MS = 120_000;

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  let oracle: LogOracle;
  beforeAll(async () => {
    oracle = await LogOracle.start();
  }, 300_000);
  afterAll(() => oracle.close());

  for (const seed of [...Array.from({ length: CASES }, (_, index) => index + 1), ...FOUND]) {
    it(
      `comes to the same with seed ${String(seed)}`,
      async () => {
        expect(await compareRandomCase(oracle, seed)).toEqual([]);
      },
      DEADLINE_MS,
    );
  }
});
