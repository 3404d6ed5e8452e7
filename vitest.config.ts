import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: ['test/harness/global.ts'],
    setupFiles: ['test/harness/fileTimes.ts'],
    pool: 'forks',
    // Three times the cores of a small machine: tests spend much of their time waiting for leases, timeouts and pages.
    // Four workers used 71 % of two cores, six 77 %, with about 4 GB of memory.
    maxWorkers: 6,
    // Loading the product again for each file took longer than most files' tests. No file leaves module state behind.
    isolate: false,
    // These limits only end tests that hang, so they are generous enough for a busy machine. They are set here because a
    // module that is loaded once for many files can change them only for the first.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    passWithNoTests: false,
  },
});
