/**
 * `npm test`: runs all checks. Arguments are passed to Vitest. Files with failed tests are run a second time,
 * alone, because a busy machine can be too slow for a test. If they pass, the run passes and lists them.
 *
 * `--changed` checks only what differs from the last commit, and `--changed=COMMIT` what differs from another one: the
 * quick checks, and the tests that are closest to the changed files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from './build.mjs';
import { changedFiles, chooseTests } from './changedTests.mjs';
import { ensureInstalled, root, runScript, ScriptError } from './install.mjs';
import { databasesRoot } from './testFolders.mjs';
import { formatTimes, storeTimes } from './testTimes.mjs';

/** The files of the run are in these folders, and their paths identify the processes of the run. */
const test_root = mkdtempSync(join(tmpdir(), 'chartwire-test-'));
/** Of the databases; in memory if possible. */
const databases_root = mkdtempSync(join(databasesRoot(), 'chartwire-test-'));
const report_file = join(test_root, 'report.json');
/** Above this number the cause is hardly the machine. */
const max_repeated_files = 5;
/** A write that is lost or doubled only sometimes is what these tests are for, so a failure in them counts. */
const not_repeated = 'test/promises/';
const running = new Set();
let result;
let interrupted = false;
/** Whether a failed check has stopped the others, which then have no time to clean up. */
let stopped = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = true;
    stopRunning(signal);
  });
}

await runScript(async () => {
  try {
    await runSteps();
  } finally {
    await cleanUp();
  }
  if (process.exitCode) return;
  for (const name of result.repeated) process.stdout.write(`Failed first, passed when repeated: ${name}\n`);
  process.stdout.write(`${result.passed} passed, 0 failed\n`);
});

async function runSteps() {
  ensureInstalled();
  const chromium = ensureChromium();
  ensureLogServer();
  const args = process.argv.slice(2);
  const changed = args.find((arg) => /^--changed(=|$)/.test(arg));
  const others = args.filter((arg) => arg !== changed);
  const selected = changed ? await checkChanged(changed.split('=')[1]) : await checkAll();
  const env = {
    ...chromium,
    CHARTWIRE_TEST_ROOT: test_root,
    CHARTWIRE_TEST_DATABASES: databases_root,
    CHARTWIRE_TEST_REPORT: report_file,
  };
  const tests = step('Tests', () => runTests([...selected, ...others], env));
  const [first] = await together([tests, ...(changed ? [] : [checkGenerated()])]);
  storeTimes(first);
  process.stdout.write(`\n${formatTimes(first)}\n`);
  const failed = first.files.filter(({ ok }) => !ok);
  const passed = (files) => files.filter(({ ok }) => ok).reduce((sum, file) => sum + file.passed, 0);
  result = { passed: passed(first.files), repeated: [] };
  if (failed.length === 0) return;
  const paths = failed.map(({ file }) => file);
  if (paths.length > max_repeated_files || paths.some((path) => path.startsWith(not_repeated))) {
    throw new ScriptError(`\n=== Tests: FAILED\n${paths.join('\n')}`);
  }
  const second = await step('Failed tests again', () => runTests([...paths, '--no-file-parallelism'], env));
  const again = second.files.filter(({ ok }) => !ok);
  if (again.length > 0) throw new ScriptError(`\n=== Tests: FAILED twice\n${again.map(({ file }) => file).join('\n')}`);
  result.passed += passed(second.files);
  result.repeated = failed.flatMap(({ file, failures }) => failures.map((name) => `${file} > ${name}`));
}

/** The checks that the tests wait for. Returns which test files to run: all. */
async function checkAll() {
  await together([checkSources(), buildAll()]);
  return [];
}

async function checkSources() {
  await quietStep('Format and lint', '@biomejs/biome/bin/biome', ['check', '.']);
  await quietStep('Types', 'typescript/bin/tsc', ['--noEmit']);
  // Vite removes types without checking them. The build checks those of the other pages.
  await quietStep('Dashboard types', 'typescript/bin/tsc', ['-p', 'web/dashboard']);
}

/** In a process of its own: compiling would delay the other checks. */
function buildAll() {
  return quietStep('Build', '../scripts/build.mjs', []);
}

/** While the tests run, because it needs the build and they do not need its result. */
async function checkGenerated() {
  if (!existsSync(join(root, 'dist/scripts/generate.js'))) return;
  await quietStep('Generated files', '../dist/scripts/generate.js', ['--check']);
}

/** Waits for work that runs at the same time. The first failure stops the rest. */
async function together(work) {
  let failure;
  const results = await Promise.all(
    work.map((each) =>
      each.catch((error) => {
        failure ??= error;
        stopped ||= running.size > 0;
        stopRunning('SIGTERM');
      }),
    ),
  );
  if (failure) throw failure;
  return results;
}

function stopRunning(signal) {
  for (const child of running) child.kill(signal);
}

/** The quick checks of what has changed since a commit. Returns which test files to run. */
async function checkChanged(since) {
  const changed = changedFiles(since);
  if (changed.length === 0) {
    throw new ScriptError('Nothing has changed. To compare with another commit: npm test -- --changed=COMMIT');
  }
  const chosen = chooseTests(changed);
  process.stdout.write(`${chosen.text}\nGenerated files are left to \`npm test\` as well.\n`);
  const biome = ['check', '--no-errors-on-unmatched', ...changed];
  await step('Format and lint', () => run('@biomejs/biome/bin/biome', biome));
  const types_file = join(root, 'node_modules/.cache/chartwire.tsbuildinfo');
  await step('Types', () => run('typescript/bin/tsc', ['--noEmit', '--incremental', '--tsBuildInfoFile', types_file]));
  if (changed.some((path) => path.startsWith('web/'))) {
    await step('Dashboard types', () => run('typescript/bin/tsc', ['-p', 'web/dashboard']));
  }
  if (chosen.build) await step('Build', () => build());
  return chosen.tests;
}

/** Returns the results of the files, whether they passed or not. Anything else that goes wrong throws. */
async function runTests(args, env) {
  rmSync(report_file, { force: true });
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/testReport.mjs')}`];
  const failure = await run('vitest/vitest.mjs', ['run', ...reporters, ...args], env).catch((error) => error);
  if (interrupted || !existsSync(report_file)) throw failure ?? new ScriptError('Vitest wrote no report.');
  const report = JSON.parse(readFileSync(report_file, 'utf8'));
  if (failure && (report.errors > 0 || report.files.every(({ ok }) => ok))) throw failure;
  return report;
}

async function step(name, work) {
  process.stdout.write(`\n=== ${name}\n`);
  const started = Date.now();
  try {
    return await work();
  } catch (error) {
    if (error instanceof ScriptError) throw new ScriptError(`\n=== ${name}: FAILED\n${error.message}`);
    throw error;
  } finally {
    process.stdout.write(`=== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
  }
}

/** A step that runs at the same time as others: its output is shown when it has ended. */
async function quietStep(name, program, args) {
  const started = Date.now();
  const output = [];
  try {
    await run(program, args, {}, output);
  } catch (error) {
    throw new ScriptError(`\n=== ${name}: FAILED\n${Buffer.concat(output)}${error.message}`);
  }
  process.stdout.write(`\n${Buffer.concat(output)}=== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}

/** Runs a program from node_modules. With `output` it is collected there instead of being shown. */
async function run(program, args, env = {}, output = undefined) {
  const child = spawn(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    stdio: output ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, ...env },
  });
  running.add(child);
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  running.delete(child);
  if (interrupted) throw new ScriptError('Interrupted.');
  if (code !== 0) throw new ScriptError(`${program} exited with code ${code}.`);
}

/** Finds Chromium for the browser tests, or installs it if possible. */
function ensureChromium() {
  if (!hasBrowserTests()) return {};
  const path = findChromium() ?? installChromium();
  if (path) return { CHROMIUM_PATH: path };
  const remedy = 'install it (Debian: apt-get install chromium-headless-shell), or set CHROMIUM_PATH';
  if (process.env.CI === 'true') throw new ScriptError(`Chromium not found. Browser tests need it: ${remedy}.`);
  process.stdout.write(`Chromium not found: skipping the browser tests. To run them, ${remedy}.\n`);
  return {};
}

function hasBrowserTests() {
  return readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .some((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').includes("'playwright-core'"));
}

function findChromium() {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  // The headless build needs a quarter less processor time: the full browser also renders its own toolbar for every window.
  const paths = ['chromium-headless-shell', 'chromium'].flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env.CHROMIUM_PATH, ...paths].find((path) => path && existsSync(path));
}

function installChromium() {
  return installPackages('Chromium', ['chromium-headless-shell']) ? findChromium() : undefined;
}

/**
 * rsyslog, which tests of the audit log's collector run. Where systemd runs, its package would start a log server for
 * the machine, so there, as without clamd, the tests use servers of their own unless it is installed already.
 */
function ensureLogServer() {
  if (existsSync('/usr/sbin/rsyslogd') || existsSync('/run/systemd/system')) return;
  installPackages('rsyslog', ['rsyslog', 'rsyslog-gnutls']);
}

/** Returns whether the packages are installed: only root on Debian can. */
function installPackages(name, packages) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  process.stdout.write(`Installing ${name} (apt-get) …\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return [
    ['update', '-q'],
    ['install', '-q', '-y', '--no-install-recommends', ...packages],
  ].every((args) => spawnSync('apt-get', args, { stdio: 'inherit', env }).status === 0);
}

/** Processes that outlive the run are killed and fail it. */
async function cleanUp() {
  // Processes that are stopping get 20 seconds, because the machine may be busy.
  for (let waited_ms = 0; waited_ms < 20_000 && leftovers().length > 0; waited_ms += 100) await sleep(100);
  const left = leftovers();
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has exited in the meantime.
    }
  }
  if (left.length > 0) await sleep(200);
  for (const folder of [test_root, databases_root]) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
  if (left.length === 0 || interrupted || stopped) return;
  const list = left.map(({ pid, command }) => `  ${pid} ${command}`).join('\n');
  process.stderr.write(`\n=== FAILED: processes were still running after the tests and were killed\n${list}\n`);
  process.exitCode = 1;
}

/** Processes with a folder of the run in their command line, environment or working directory. */
function leftovers() {
  if (process.platform !== 'linux') return leftoversByCommand();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => processTexts(pid).some(namesRun))
    .map((pid) => ({
      pid: Number(pid),
      command: readOr('', `/proc/${pid}/cmdline`)
        .replace(/[\0 ]+/g, ' ')
        .trim(),
    }))
    .filter(({ command }) => command !== '');
}

function namesRun(text) {
  return [test_root, databases_root].some((folder) => text.includes(folder));
}

function processTexts(pid) {
  let folder = '';
  try {
    folder = readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // It has exited, or belongs to another user.
  }
  return [folder, readOr('', `/proc/${pid}/cmdline`), readOr('', `/proc/${pid}/environ`)];
}

function readOr(fallback, path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback;
  }
}

function leftoversByCommand() {
  return spawnSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(namesRun)
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line.trim().replace(/^\d+ /, '') }));
}
