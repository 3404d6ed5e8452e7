import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: ['test/harness/global.ts'],
    setupFiles: ['test/harness/driver.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // No test is about time: these end what hangs, on a machine with other work too.
    testTimeout: 60_000,
    hookTimeout: 180_000,
    passWithNoTests: false,
  },
});
