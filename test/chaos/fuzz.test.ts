import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { fuzzBroker } from './fuzz/broker-fuzz.ts';

const CASES = 1_000;
const SEEDS = 1_000_000;
const DEADLINE_MS = 120_000;

it(
  'answers hostile requests, or closes their connections, and does not let others feel it',
  { timeout: DEADLINE_MS },
  async () => {
    const seed = randomInt(SEEDS);
    const lines = [`pnpm fuzz:broker --seed ${seed} --cases ${CASES}`];
    const say = (line: string): number => lines.push(line);
    const dataDir = temporaryDirectory();
    const { faults, steadyRounds } = await fuzzBroker({ seed, cases: CASES, dataDir, say });
    expect(faults, lines.join('\n')).toEqual([]);
    expect(steadyRounds).toBeGreaterThan(10);
  },
);
