/**
 * `npm run check:node24`: runs the built service and a part of the tests with Node 24, the version of the Docker image. The
 * npm package `node` contains the program; it is installed into a temporary folder, so that nobody else downloads it.
 * Arguments replace the test files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ended, firstWrite, ready } from './firstWrite.mjs';
import { root, runScript, ScriptError } from './install.mjs';

/** What depends most on Node: HTTP, TLS, streams, crypto, processes, native modules, the embedded database. */
const default_tests = [
  'test/api/reads.test.ts',
  'test/api/process/server.test.ts',
  'test/api/idempotency.test.ts',
  'test/audit/tampering.test.ts',
  'test/backup',
  'test/cli/commands.test.ts',
  'test/db',
  'test/embedded',
  'test/jobs/lease.test.ts',
  'test/sdk',
  'test/security',
  'test/time',
  'test/webhooks/deliver.test.ts',
];

await runScript(async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'chartwire-node24-'));
  try {
    const node = install(scratch);
    await start(node, join(scratch, 'data'));
    runTests(node, process.argv.slice(2));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

/** Returns the path of the program. */
function install(scratch) {
  const options = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
  const npm = spawnSync('npm', ['install', '--prefix', scratch, ...options, 'node@24'], {
    cwd: scratch,
    stdio: 'inherit',
  });
  if (npm.status !== 0) throw new ScriptError('npm could not install the package node@24. Is the registry reachable?');
  const node = join(scratch, 'node_modules/node/bin/node');
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status !== 0 || !stdout.startsWith('v24.')) throw new ScriptError(`${node} is not Node 24.`);
  process.stdout.write(`ok: Node ${stdout.trim()}\n`);
  return node;
}

/** Starts the built sandbox and waits for its first write. */
async function start(node, data) {
  const env = { PATH: environment(node).PATH, DATA_DIR: data, PORT: '0', LARKSPUR_PORT: '0', LOG_LEVEL: 'warn' };
  const service = [join(root, 'dist/bin/chartwire.js'), 'serve'];
  const child = spawn(node, process.getuid?.() === 0 ? [...service, '--allow-nobody'] : service, { cwd: root, env });
  try {
    await ready(child);
    const job = await firstWrite(JSON.parse(readFileSync(join(data, 'sandbox.json'), 'utf8')));
    process.stdout.write(`ok: a first write finished: ${job.type} ${job.status}\n`);
  } finally {
    child.kill('SIGTERM');
    await ended(child);
  }
  if (child.exitCode !== 0) throw new ScriptError(`The service ended with ${child.exitCode ?? child.signalCode}.`);
}

function runTests(node, chosen) {
  const files = chosen.length > 0 ? chosen : default_tests;
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(node, [vitest, 'run', ...files], {
    cwd: root,
    stdio: 'inherit',
    env: environment(node),
  });
  if (status !== 0) throw new ScriptError('Tests failed with Node 24.');
  process.stdout.write('ok: the tests passed\n');
}

/** Programs that look for `node` find this one. */
function environment(node) {
  return { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) };
}
