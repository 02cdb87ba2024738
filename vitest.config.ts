import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['millrace-source'] },
  ssr: { resolve: { conditions: ['millrace-source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'test/house/samples/**'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
