/**
 * Chooses what `npm test -- --changed` runs. Most tests start the whole service, so by imports alone nearly every change
 * would concern nearly every test. Therefore imports through the service's start and through the fixtures in test/harness do
 * not count, but tests that are named like the changed file do: those of `dashboard/jobs.ts` are in `dashboardJobs.test.ts`.
 * The closest files run, up to a limit; the others are counted and left to `npm test`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { root, ScriptError } from './install.mjs';
import { readTimes } from './testTimes.mjs';

/** CPU time: about a minute on two cores. */
const work_ms_max = 100_000;
/** For files without a measured time. */
const assumed_ms = 5_000;
/** Test files that run for a change of a fixture or of the service's start, which no file is closest to. */
const samples_max = 8;

/** Files that differ from a commit, with those that are not in version control yet. */
export function changedFiles(since = 'HEAD') {
  return [
    ...gitLines(['diff', '--name-only', '--diff-filter=d', '--relative', since, '--']),
    ...gitLines(['ls-files', '--others', '--exclude-standard']),
  ];
}

/** The test files to run, whether they need a build, and a text that says why these. */
export function chooseTests(changed) {
  const sources = readSources();
  const times = readTimes();
  const estimateWork = (test) => {
    const { own_ms, children_ms } = times[test] ?? {};
    return own_ms === undefined ? assumed_ms : own_ms + (children_ms ?? 0);
  };
  const failed = new Set(Object.keys(times).filter((test) => times[test].failed));
  const groups = groupTests(changed, sources, failed);
  const close = takeWork([...groups.importing, ...groups.named].sort(byCloseness), estimateWork);
  const quickest = [...groups.through].sort((a, b) => estimateWork(a.test) - estimateWork(b.test));
  const samples = close.length > 0 ? [] : quickest.slice(0, samples_max);
  const chosen = [...groups.changed, ...groups.failed, ...groups.checks, ...close, ...samples].map(({ test }) => test);
  return {
    tests: chosen,
    build: chosen.some((test) => needsBuild(test, sources)),
    text: explain(changed, groups, new Set(chosen)),
  };
}

function gitLines(args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new ScriptError(`git ${args[0]} failed: ${stderr.trim()}`);
  return stdout.split('\n').filter(Boolean);
}

const code_folders = ['src', 'sql', 'larkspur', 'scripts', 'sdk/src', 'test', 'web', 'bench'];

/** The text and the imports of all code files, by path. */
function readSources() {
  const files = code_folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => /\.(tsx?|mjs)$/.test(path))
      .map((path) => join(folder, path)),
  );
  return new Map(
    files.map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return [path, { text, imports: listImports(path, text) }];
    }),
  );
}

// Not those of types: the compiler checks what depends on them.
const import_patterns = [
  /^(?:import|export)\s(?!type\s)[^'"`;]*?\bfrom\s'(\.[^']+)'/gm,
  /^import\s'(\.[^']+)'/gm,
  /\bimport\('(\.[^']+)'\)/g,
];

function listImports(path, text) {
  return import_patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, imported]) => join(path, '..', imported)),
  );
}

/** Quick, and they read the sources of everything. */
const source_checks = ['test/architecture/', 'test/catalogues/'];

/** The test files that a change concerns, by the reason. Each is in one group. */
function groupTests(changed, sources, failed) {
  const targets = new Set(changed);
  const tests = [...sources.keys()].filter((path) => path.endsWith('.test.ts'));
  const nameScore = nameScorer(changed, tests);
  const groups = { all: tests, changed: [], failed: [], checks: [], importing: [], named: [], through: [] };
  for (const test of tests) {
    const distance = distanceTo(targets, test, sources, isCounted);
    const score = nameScore(test);
    const reason =
      ((distance === 0 || checksFolder(test, changed)) && 'changed') ||
      (failed.has(test) && 'failed') ||
      (source_checks.some((folder) => test.startsWith(folder)) && 'checks') ||
      (distance < Infinity && 'importing') ||
      (score > 0 && 'named') ||
      (distanceTo(targets, test, sources) < Infinity && 'through');
    if (reason) groups[reason].push({ test, closeness: 4 / distance + score });
  }
  return groups;
}

/** The number of imports from a file to the next of the targets: 0 for a target itself. */
function distanceTo(targets, file, sources, counts = () => true) {
  const seen = new Set([file]);
  let reached = [file];
  for (let distance = 0; reached.length > 0; distance++) {
    if (reached.some((path) => targets.has(path))) return distance;
    reached = reached.flatMap((path) => (sources.get(path)?.imports ?? []).filter((next) => counts(path, next)));
    reached = reached.filter((path) => !seen.has(path) && seen.add(path));
  }
  return Infinity;
}

/** Fixtures may import each other; what else they import, most tests that use them are not about. */
function isCounted(path, imported) {
  const fixtures = 'test/harness/';
  return path !== 'src/main.ts' && (!path.startsWith(fixtures) || imported.startsWith(fixtures));
}

/** Folders whose files no test imports or is named like, with the tests of what they contain. */
const folder_checks = [
  ['src/platform/db/migrations/', ['test/upgrade/', 'test/db/migrate', 'test/db/filterPlans', 'test/api/reads']],
  ['src/emr/operations/', ['test/certification/']],
  ['larkspur/api/', ['test/larkspur/documentation']],
  ['src/surfaces/api/', ['test/spec/jobs/idempotencyKeys', 'test/api/openapi']],
];

function checksFolder(test, changed) {
  return folder_checks.some(
    ([folder, tests]) =>
      changed.some((path) => path.startsWith(folder)) && tests.some((prefix) => test.startsWith(prefix)),
  );
}

/** Tests, and files that are generated or documentation: their names say nothing about what a change can break. */
const unnamed = /^(test|docs|sdk\/src\/generated|src\/platform\/db\/migrations)\/|\.gen\.ts$|\.(md|py)$/;

/** Rates how much of a changed path is in a test's: rare words count more. */
function nameScorer(changed, tests) {
  const words = new Map(tests.map((test) => [test, splitWords(test)]));
  const rarity = (word) => Math.log(tests.length / tests.filter((test) => words.get(test).has(word)).length);
  const wanted = changed.filter((path) => !unnamed.test(path)).map(splitWords);
  return (test) => {
    const shared = wanted.map((each) => [...each].filter((word) => words.get(test).has(word)));
    return Math.max(0, ...shared.map((each) => each.reduce((sum, word) => sum + rarity(word), 0)));
  };
}

/** Parts of paths that say little about what a file is for. */
const general_words = new Set(
  ['src', 'test', 'product', 'platform', 'surface', 'model', 'web', 'page', 'part', 'doc', 'guide', 'index', 'v1']
    .concat(['ts', 'tsx', 'mjs', 'md', 'sql', 'json', 'css', 'spec', 'support', 'fixture'])
    .concat(['get', 'list', 'create', 'update', 'delete']),
);

function splitWords(path) {
  const words = path.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  const singular = words.split(/[^a-z0-9]+/).map((word) => word.replace(/(?<!s)s$/, ''));
  return new Set(singular.filter((word) => !general_words.has(word)));
}

function byCloseness(a, b) {
  return b.closeness - a.closeness;
}

function takeWork(tests, estimateWork) {
  let work_ms = 0;
  return tests.filter(({ test }) => {
    if (work_ms + estimateWork(test) > work_ms_max) return false;
    work_ms += estimateWork(test);
    return true;
  });
}

const uses_build =
  /\b(spawnSandbox|startProcess|startServiceProcess|runCommand|openBrowser|startInstallation)\b|\bdist\//;

/** Whether a test, or what it imports next to it, spawns the program or opens pages. */
function needsBuild(test, sources) {
  const imports = (sources.get(test)?.imports ?? []).filter((path) => /^test\/(?!harness\/)/.test(path));
  return [test, ...imports].some((path) => uses_build.test(sources.get(path)?.text ?? ''));
}

/** Their effect on tests is not known from imports. */
const concern_all = ['package-lock.json', 'vitest.config.ts', 'test/harness/global.ts', 'test/harness/fileTimes.ts'];

function explain(changed, groups, chosen) {
  const lines = (list, text, runs) => {
    const count = list.filter(({ test }) => chosen.has(test) === runs).length;
    return count === 0 ? [] : [`${`${count}`.padStart(6)}  ${text}`];
  };
  const fixture = 'only through the service or the fixtures in test/harness';
  return [
    `Changed files: ${changed.length}. Test files that run: ${chosen.size} of ${groups.all.length}:`,
    ...lines(groups.changed, 'were changed, or check the folder of a changed file', true),
    ...lines(groups.failed, 'failed in the last run', true),
    ...lines(groups.importing, 'import a changed file', true),
    ...lines(groups.named, 'are named like a changed file', true),
    ...lines(groups.through, `use a changed file ${fixture}: the quickest of them`, true),
    ...lines(groups.checks, 'check the sources', true),
    'Test files left to `npm test`:',
    ...lines([...groups.importing, ...groups.named], 'import a changed file or are named like it, less closely', false),
    ...lines(groups.through, `use a changed file ${fixture}`, false),
    ...changed.filter((path) => concern_all.includes(path)).map((path) => `   all  because of ${path}`),
  ].join('\n');
}
