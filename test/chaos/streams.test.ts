import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runChaos } from './streams/chaos.ts';
import { instanceStates } from './streams/instance-states.ts';

const KILLS = 6;
const SEEDS = 1_000_000;
const DEADLINE_MS = 300_000;

it(
  'processes exactly once while instances and the broker are killed, frozen and cut off',
  { timeout: DEADLINE_MS },
  async () => {
    const seed = randomInt(SEEDS);
    const lines = [`pnpm chaos --seed ${seed} --kills ${KILLS}`];
    const say = (line: string): number => lines.push(line);
    const directory = temporaryDirectory();
    const options = { seed, kills: KILLS, broker: 'embedded', directory, say } as const;
    const { findings, kills, brokerKills, stalls, orders } = await runChaos(options);
    expect(findings.shown, lines.join('\n')).toEqual([]);
    for (const state of instanceStates) {
      expect(kills[state], [state, ...lines].join('\n')).toBeGreaterThan(0);
    }
    expect(brokerKills, lines.join('\n')).toBeGreaterThan(0);
    expect(stalls, lines.join('\n')).toBeGreaterThan(0);
    expect(orders).toBeGreaterThan(1_000);
  },
);
