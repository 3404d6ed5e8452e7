import { runBenchChecks } from './benchChecks.ts';
import type { Checked } from './check/main.ts';
import { runCluster } from './failovers.ts';
import { mixedFigures } from './mixed/figures.ts';
import { runMixed } from './mixed/run.ts';
import { promises } from './promises/catalogue.ts';
import { runTests, titlePattern } from './runTests.ts';

/** What a stage found. `figures` are texts by the row of the promise. */
export type StageResult = { passed: boolean; figures: Record<number, string>; invariants?: Checked[]; error?: string };

export type StageOptions = {
  /** A folder of its own. */
  folder: string;
  seed: number;
  /** The length of the whole run. */
  minutes: number;
  /** Limits the run to one promise. */
  only?: number | undefined;
};

export type Stage = {
  name: string;
  rows: readonly number[];
  /** Shorter runs leave it out. */
  minutes_min: number;
  run(options: StageOptions): Promise<StageResult>;
};

/** A test of `npm test` with a larger figure, in proportion to the length of the run. */
type LongTest = {
  name: string;
  row: number;
  /** The environment variable that sets the figure. */
  variable: string;
  short: number;
  long: number;
  per_minute: number;
  describe(figure: number): string;
};

const long_tests: readonly LongTest[] = [
  {
    ...{ name: 'change feed', row: 46, variable: 'FEED_CHANGES', short: 1_000, long: 100_000, per_minute: 500 },
    describe: (changes) => `${number(changes)} changes, committed out of order: every copy equals the database`,
  },
  {
    ...{ name: 'crash points', row: 2, variable: 'CRASH_WRITES', short: 1, long: 10, per_minute: 0.5 },
    describe: (writes) => `${writes} kinds of writes, a kill at each of 5 points: each done once`,
  },
  {
    ...{ name: 'idempotency keys', row: 3, variable: 'IDEMPOTENCY_KEYS', short: 100, long: 5_000, per_minute: 30 },
    describe: (keys) => `${number(keys)} keys, each sent twice at once, 3 kills: one job each`,
  },
  {
    ...{ name: 'database restarts', row: 4, variable: 'RESTARTS', short: 2, long: 10, per_minute: 0.3 },
    describe: (restarts) => `${restarts} restarts: every acknowledged write applied once`,
  },
  {
    ...{ name: 'product killed', row: 5, variable: 'PRODUCT_KILLS', short: 1, long: 20, per_minute: 0.4 },
    describe: (kills) =>
      `${counted(kills, 'kill')} of the whole product during writes: everything acknowledged was applied once`,
  },
  {
    ...{ name: 'frozen workers', row: 6, variable: 'FREEZES', short: 1, long: 200, per_minute: 1 },
    describe: (freezes) => `${counted(freezes, 'worker')} frozen during a write: every late result discarded`,
  },
  {
    ...{ name: 'expired links', row: 8, variable: 'EXPIRED_JOBS', short: 20, long: 500, per_minute: 10 },
    describe: (jobs) => `${jobs} parked jobs: one login_required, all finished in order after re-linking`,
  },
  {
    ...{ name: 'fairness', row: 9, variable: 'FAIRNESS_JOBS', short: 300, long: 10_000, per_minute: 90 },
    describe: (jobs) => `started within 2 s next to ${number(jobs)} queued jobs`,
  },
  {
    ...{ name: 'order', row: 10, variable: 'ORDER_WRITES', short: 100, long: 5_000, per_minute: 40 },
    describe: (writes) => `${number(writes)} writes of 5 patients: 0 inversions`,
  },
  {
    ...{
      name: 'retry schedule',
      row: 12,
      variable: 'LADDER_SAMPLES',
      short: 200,
      long: 1_000_000,
      per_minute: 100_000,
    },
    describe: (samples) => `${number(samples)} pauses of each step: all within ±20 %`,
  },
  {
    ...{ name: 'payments', row: 40, variable: 'PAYMENTS', short: 40, long: 5_000, per_minute: 50 },
    describe: (payments) =>
      `${number(payments)} payments and ${number(payments / 5)} claims, a worker killed after every 12: the ledger agrees to the cent`,
  },
  {
    ...{ name: 'uploads', row: 22, variable: 'UPLOADS', short: 40, long: 100, per_minute: 10 },
    describe: (uploads) => `${uploads} documents of 5 MB at once: memory bounded`,
  },
  {
    ...{ name: 'generated requests', row: 23, variable: 'GENERATED_REQUESTS', short: 5, long: 1_000, per_minute: 10 },
    describe: (requests) => `${number(requests)} valid and ${number(requests)} broken requests per operation`,
  },
  {
    ...{ name: 'availability', row: 27, variable: 'AVAILABILITY_RUNS', short: 2_000, long: 1_000_000, per_minute: 500 },
    describe: (schedules) => `${number(schedules)} generated schedules: 0 differences`,
  },
  {
    ...{ name: 'rolling restart', row: 35, variable: 'ROLLING_ROUNDS', short: 1, long: 10, per_minute: 0.1 },
    describe: (rounds) => `4 processes restarted, ${counted(rounds, 'round')}: 0 failed requests`,
  },
  {
    ...{ name: 'session renewals', row: 43, variable: 'EXPIRIES', short: 50, long: 1_000, per_minute: 30 },
    describe: (expiries) => `${number(expiries)} expiries, 4 jobs and a request each, 3 processes: one redemption each`,
  },
  {
    ...{
      name: 'sync interleavings',
      row: 44,
      variable: 'SYNC_INTERLEAVINGS',
      short: 200,
      long: 10_000,
      per_minute: 200,
    },
    describe: (orders) => `${number(orders)} orders of page reads and commits: no announced state undone`,
  },
];

const mixed: Stage = {
  name: 'mixed run',
  rows: [1, 3, 4, 5, 6, 7, 8, 10, 11, 18, 19, 25, 42, 43, 44, 45],
  minutes_min: 0,
  run: async ({ folder, seed, minutes }) => {
    const result = await runMixed({ folder, seed, minutes: minutes / 2 });
    process.stdout.write(`${JSON.stringify({ ...result, invariants: undefined }, null, 2)}\n`);
    const passed = result.problems.length === 0 && result.invariants.every(({ violations }) => violations === 0);
    return { passed, figures: mixedFigures(result), invariants: result.invariants };
  },
};

/** The restore drill is repeated as a whole: each run has its own backup, loss and restore. */
const drills: Stage = {
  name: 'restore drill',
  rows: [36],
  minutes_min: 0,
  run: async (options) => {
    const times = clamp(Math.round(options.minutes / 10), 1, 5);
    let passed = true;
    for (let n = 0; n < times && passed; n++) passed = (await runTests(options, findTests(36))).failed === 0;
    return { passed, figures: { 36: `${counted(times, 'restore')}: ${passed ? 'no' : 'a'} write repeated` } };
  },
};

/** The short forms of the promises that have no longer one. */
const short_tests: Stage = {
  name: 'short tests',
  rows: [7, 13, 14, 15, 16, 17, 18, 19, 20, 21, 24, 25, 26, 28, 29, 33, 37, 38, 39, 41, 42, 45, 48],
  minutes_min: 10,
  run: async (options) => {
    const rows = options.only === undefined ? short_tests.rows : [options.only];
    const { passed, failed } = await runTests(options, rows.flatMap(findTests));
    const figures = rows.map((row) => [row, `${counted(countPassed(passed, row), 'test')} passed`]);
    return { passed: failed === 0, figures: Object.fromEntries(figures) };
  },
};

/** Figures that need a machine without other work. */
const bench: Stage = {
  name: 'bench checks',
  rows: [13, 30, 31, 32],
  minutes_min: 30,
  run: ({ only }) => runBenchChecks(only),
};

/** Needs root and Debian's packages, see the guide High availability. */
const failovers: Stage = {
  name: 'failovers',
  rows: [34],
  minutes_min: 60,
  run: ({ minutes }) => runCluster(clamp(Math.round(minutes / 6), 1, 10)),
};

export const stages: readonly Stage[] = [mixed, ...long_tests.map(longStage), drills, short_tests, failovers, bench];

function longStage({ name, row, variable, short, long, per_minute, describe }: LongTest): Stage {
  return {
    name,
    rows: [row],
    minutes_min: 0,
    run: async (options) => {
      const figure = clamp(Math.round(per_minute * options.minutes), short, long);
      const seeds = ['AVAILABILITY_SEED', 'GENERATED_SEED', 'SYNC_SEED'].map((name) => [name, `${options.seed}`]);
      const env = { [variable]: `${figure}`, ...Object.fromEntries(seeds) };
      const { failed } = await runTests(options, findTests(row), env);
      const text = describe(figure);
      return { passed: failed === 0, figures: { [row]: failed === 0 ? text : `${text}: FAILED` } };
    },
  };
}

function findTests(row: number) {
  return promises.find((each) => each.row === row)?.tests ?? [];
}

/** How many of the tests that passed belong to a promise. A `test.each` counts once per case. */
function countPassed(passed: readonly { file: string; title: string }[], row: number): number {
  const own = findTests(row);
  return passed.filter(({ file, title }) =>
    own.some((each) => file.endsWith(each.file) && new RegExp(titlePattern(each.title)).test(title)),
  ).length;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function counted(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}
