import { defineConfig } from 'vitest/config';

// The project's own set-up on tests that must fail; test/house/checks.test.ts runs them one by one.
export default defineConfig({
  test: {
    include: ['*.sample.ts'],
    setupFiles: ['../../../support/setup.ts'],
    pool: 'forks',
  },
});
