import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['millrace-source'] },
  ssr: { resolve: { conditions: ['millrace-source'] } },
};
const options = {
  exclude: ['**/node_modules/**', '**/dist/**', 'test/house/samples/**'],
  setupFiles: ['test/support/setup.ts'],
  pool: 'forks' as const,
  testTimeout: 20_000,
  hookTimeout: 120_000,
};

/** What other tools find in the project; `npm test` starts it beside the others. */
const CHECKS = 'test/house/checks.test.ts';

/** Tests that replace modules, or look at what the process as a whole has. */
const ISOLATED = '**/*.isolated.test.ts';

/** The rungs of the ladder, so that each can run alone: `npm test -- --project unit`. */
const rungs: Record<string, string[]> = {
  unit: ['packages/*/src/**/*.test.ts', 'test/support/**/*.test.ts', 'test/bench/**/*.test.ts'],
  isolated: [`packages/*/src/${ISOLATED}`],
  house: ['test/house/**/*.test.ts'],
  checks: [CHECKS],
  contract: ['test/contract/**/*.test.ts'],
  golden: [
    'test/golden/**/*.test.ts',
    'test/oracle/**/*.test.ts',
    'test/model/**/*.test.ts',
    'test/regressions/**/*.test.ts',
  ],
  examples: ['test/examples/**/*.test.ts'],
  crash: ['test/crash/**/*.test.ts', 'test/chaos/**/*.test.ts'],
  interop: ['test/interop/**/*.test.ts'],
};

/** Files that a rung's patterns would find, but that are another's. */
function elsewhere(rung: string): string[] {
  if (rung === 'isolated') return [];
  return rung === 'checks' ? [ISOLATED] : [ISOLATED, CHECKS];
}

/** Those whose files may run one after the other with the same modules: loading them anew takes longer than most tests. */
const withSharedModules = new Set(['unit', 'golden', 'contract', 'interop']);

/** Those whose files have a Kafka in common. */
const withSharedKafka = new Set(['contract', 'interop']);

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: Object.entries(rungs).map(([name, include]) => ({
      ...shared,
      test: {
        ...options,
        name,
        include,
        isolate: !withSharedModules.has(name),
        exclude: [...options.exclude, ...elsewhere(name)],
        globalSetup: withSharedKafka.has(name) ? ['test/support/shared-kafka.ts'] : [],
      },
    })),
  },
});
