import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFixtures, runFixture } from './fixtures.ts';

describe("a directory that Kafka's own Cleaner has cleaned", () => {
  for (const fixture of findFixtures(join(import.meta.dirname, 'fixtures'))) {
    it(`${basename(fixture)} is cleaned to the same by ours`, async () => {
      expect(await runFixture(fixture)).toEqual([]);
    });
  }
});
