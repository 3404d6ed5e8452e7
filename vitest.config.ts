import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: ['test/harness/global.ts'],
    pool: 'forks',
    // One more than the cores of a small machine: much of the time is spent waiting for leases to end and pages to load.
    maxWorkers: 3,
    // Loading the product anew for each of 230 files took longer than the tests of most; no file leaves anything behind in it.
    isolate: false,
    // No test is about time: these end what hangs, on a machine with other work too. They stand here, because a file that
    // is loaded once for many tests can change them only for the first (and `expect.poll` would give up after 1 s).
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    passWithNoTests: false,
  },
});
