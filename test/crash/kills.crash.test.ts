import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { killFlights } from './kills.ts';
import { killStates } from './kill-states.ts';

const KILLS = 6;
const ROWS = 60_000;
const SEEDS = 1_000_000;
const TEST_TIMEOUT_MS = 240_000;

it.each(['at_least_once', 'exactly_once_v2'] as const)(
  'misses no flight when it is killed in any of its states, and counts twice only what was not committed: %s',
  { timeout: TEST_TIMEOUT_MS },
  async (guarantee) => {
    const seed = randomInt(SEEDS);
    const lines = [
      `pnpm crash --seed ${seed} --kills ${KILLS} --rows ${ROWS} --guarantee ${guarantee}`,
    ];
    const say = (line: string): number => lines.push(line);
    const options = { seed, kills: KILLS, rows: ROWS, guarantee, say };
    const { counts, faults } = await killFlights(options);
    expect(faults, lines.join('\n')).toEqual([]);
    for (const state of killStates) {
      expect(counts[state], [state, ...lines].join('\n')).toBeGreaterThan(0);
    }
  },
);
