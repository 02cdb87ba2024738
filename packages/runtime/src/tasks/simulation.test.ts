/**
 * Stream threads, their commits, their group and their purges under seeded misfortune: requests that are
 * slow, that fail before or after they had an effect, members that are expelled, processes that are
 * killed at a chosen moment and started again. Time, disk and network are fakes, so a seed is one history.
 *
 * MILLRACE_SIMULATION_SEED=N MILLRACE_SIMULATION_CASES=N run others (`pnpm simulate`).
 */
import { describe, expect, it } from 'vitest';
import { SimulatedApplication } from '../testing-support/simulated-application.ts';
import type { Moment } from '../testing-support/simulated-instance.ts';

const FIRST_SEED = Number(process.env['MILLRACE_SIMULATION_SEED'] ?? 1);
const CASES = Number(process.env['MILLRACE_SIMULATION_CASES'] ?? 40);
const CASE_TIMEOUT_MS = 20_000;
const common: readonly Moment[] = ['flushed', 'look-up', 'leave', 'purge', 'purged'];
const seeds = Array.from({ length: CASES }, (_, i) => FIRST_SEED + i);

describe.each([
  ['exactly_once_v2', [...common, 'init', 'offsets', 'end', 'ended', 'abort', 'aborted']],
  ['at_least_once', [...common, 'group commit', 'group committed']],
] as const)('a simulated application, %s', (guarantee, moments) => {
  const killedAt = new Set<Moment>();

  it.each(seeds)(
    'loses nothing, and repeats nothing that it must not: seed %i',
    async (seed) => {
      const application = new SimulatedApplication(seed, guarantee);
      await application.run();
      for (const moment of application.killedAt) killedAt.add(moment);
      expect(application.faults).toEqual([]);
    },
    CASE_TIMEOUT_MS,
  );

  it.runIf(CASES >= 40)('was killed at every moment of a commit, an abort and a purge', () => {
    expect(moments.filter((moment) => !killedAt.has(moment))).toEqual([]);
  });
});
