import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { soak } from './soak/soak.ts';

const RECORDS = 12_000;
const KILLS = 4;
const SEEDS = 1_000_000;
const DEADLINE_MS = 180_000;

it(
  'loses, repeats and reorders nothing while clients and broker are killed',
  { timeout: DEADLINE_MS },
  async () => {
    const seed = randomInt(SEEDS);
    const lines = [`pnpm soak --seed ${seed} --records ${RECORDS} --kills ${KILLS}`];
    const say = (line: string): number => lines.push(line);
    const options = { seed, records: RECORDS, kills: KILLS, dataDir: temporaryDirectory(), say };
    const { faults, brokerKills, clientKills } = await soak(options);
    expect(faults, lines.join('\n')).toEqual([]);
    expect(brokerKills + clientKills).toBeGreaterThan(0);
  },
);
