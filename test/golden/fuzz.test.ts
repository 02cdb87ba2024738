import { describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { fuzz } from './fuzz/fuzz.ts';
import { generateCase } from './fuzz/generate-case.ts';
import { JavaStreams } from './fuzz/java-streams.ts';
import { shrink } from './fuzz/shrink.ts';
import { laterOperators } from './later-operators.ts';

const CASES = 40;
const DEADLINE_MS = 300_000;

describe('random cases', () => {
  it('are the same for the same numbers, and use nothing that does not exist', () => {
    for (let index = 0; index < 200; index++) {
      const open = generateCase(3, index);
      expect(generateCase(3, index)).toEqual(open);
      expect([...laterOperators({ ...open, expected: [] })]).toEqual([]);
    }
    expect(generateCase(4, 0)).not.toEqual(generateCase(3, 0));
  });

  it('get as small as what makes them fail', async () => {
    const open = generateCase(3, 1);
    const inputs = open.inputs ?? [];
    const isTombstone = (input: (typeof inputs)[number]): boolean =>
      'value' in input && input.value === null;
    expect(inputs.some(isTombstone)).toBe(true);
    const small = await shrink(open, (smaller) =>
      Promise.resolve((smaller.inputs ?? []).some(isTombstone)),
    );
    expect(small.topology).toEqual([]);
    expect(small.variants).toHaveLength(1);
    expect(small.inputs).toHaveLength(1);
  });

  it.skipIf(missingForJava() !== null)(
    'give what Kafka Streams gives',
    async () => {
      const java = new JavaStreams();
      try {
        const { same, differences } = await fuzz(java, { seed: 4, cases: CASES });
        expect(differences).toEqual([]);
        expect(same).toBe(CASES);
      } finally {
        await java.close();
      }
    },
    DEADLINE_MS,
  );
});
