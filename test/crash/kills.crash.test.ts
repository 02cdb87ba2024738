import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { killFlights } from './kills.ts';
import { killStates } from './kill-states.ts';

const KILLS = 6;
const ROWS = 60_000;
const SEEDS = 1_000_000;
const TEST_TIMEOUT_MS = 240_000;

it(
  'misses no flight when it is killed in any of its states, and counts twice only what was not committed',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const seed = randomInt(SEEDS);
    const lines = [`pnpm crash --seed ${seed} --kills ${KILLS} --rows ${ROWS}`];
    const say = (line: string): number => lines.push(line);
    const { counts, faults } = await killFlights({ seed, kills: KILLS, rows: ROWS, say });
    expect(faults, lines.join('\n')).toEqual([]);
    for (const state of killStates) {
      expect(counts[state], [state, ...lines].join('\n')).toBeGreaterThan(0);
    }
  },
);
