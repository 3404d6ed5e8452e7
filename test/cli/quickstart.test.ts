import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { runCommand, spawnSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'dist/bin/chartwire.js');
const has_python = await run('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).then(
  () => true,
  () => false,
);

/** A process that runs until the test ends, and what it has printed. */
function start(command: string, args: readonly string[], options: { cwd: string; env: Record<string, string> }) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  return () => output;
}

/** Prints how long a new user waits. A busy machine may be ten times slower, so that no time is checked. */
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  process.stdout.write(`quickstart: ${what}: ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  return result;
}

/** An empty folder with the examples and the packed library, compiled with strict types. */
async function createProject(): Promise<string> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'quickstart-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(root, 'dist/sdk'),
    env,
  });
  const [{ filename }] = JSON.parse(packed.stdout);
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', filename], { cwd: folder, env });
  const files = ['patient.ts', 'webhooks.ts', 'patient.py'];
  for (const file of files) await copyFile(join(root, 'examples/quickstart', file), join(folder, file));
  await copyFile(join(root, 'sdk/python/chartwire.py'), join(folder, 'chartwire.py'));
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', ...types];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...options, 'patient.ts', 'webhooks.ts'], { cwd: folder });
  return folder;
}

test('a new user gets from a started sandbox to a verified webhook and a created patient', async () => {
  const product = await spawnSandbox({ small: true });
  onTestFinished(() => product.close());
  await timed('start', () => product.start());
  const folder = await timed('install and type-check the applications', createProject);
  const { PATH = '' } = process.env;
  const env = { PATH, XDG_CONFIG_HOME: '/nonexistent', DATA_DIR: product.env.DATA_DIR ?? '' };

  await timed('verified webhook, in 3 commands', async () => {
    const port = await freePort();
    const target = `http://127.0.0.1:${port}/webhooks`;
    const listening = start(process.execPath, [program, 'listen', '--forward-to', target], { cwd: folder, env });
    await until('the listener to connect', async () => /Listening for/.test(listening()));
    const [, secret = ''] = /^Signing secret: (\S+)$/m.exec(listening()) ?? [];
    const receiver = start(process.execPath, ['webhooks.js'], {
      cwd: folder,
      env: { PATH, WEBHOOK_SECRET: secret, PORT: String(port) },
    });
    await until('the receiver to listen', async () => receiver().includes('Listening'));
    const triggered = await runCommand(['trigger', 'patient.created'], env);
    expect(triggered.code, triggered.stderr).toBe(0);
    await until('the webhook', async () => receiver().includes('Verified patient.created\n'));
  });

  const name = () =>
    `Testpatient${Math.random()
      .toString(36)
      .replace(/[^a-z]/g, '')}`;
  const applications: [string, string, string[]][] = [
    ['TypeScript', process.execPath, ['patient.js']],
    ...(has_python ? ([['Python', 'python3', ['patient.py']]] satisfies [string, string, string[]][]) : []),
  ];
  for (const [language, command, args] of applications) {
    const all_args = [...args, 'Quick', name()];
    const { stdout } = await timed(`created patient, ${language}`, () => run(command, all_args, { cwd: folder, env }));
    expect(stdout).toMatch(/^Created with MRN LK\d+\n$/);
    const { stdout: again } = await run(command, all_args, { cwd: folder, env });
    expect(again).toMatch(/^Not created \(duplicate_patient\): .*\n$/);
  }
});

test('the applications have at most 20 lines of code', async () => {
  for (const file of ['patient.ts', 'patient.py', 'webhooks.ts']) {
    const text = await readFile(join(root, 'examples/quickstart', file), 'utf8');
    const code = text.split('\n').filter((line) => !/^\s*($|\/\/|\/\*\*|#|""")/.test(line));
    expect(code.length, file).toBeLessThanOrEqual(20);
  }
});
