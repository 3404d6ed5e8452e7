import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { settings } from '../../src/catalog/settings/config.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fresh clone, as far as the start looks at it: nothing is installed or built. */
async function createClone(): Promise<string> {
  const folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'ports-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['package.json', 'package-lock.json', 'scripts', 'sdk/package.json']) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  return folder;
}

async function usePort(): Promise<number> {
  const port = await freePort();
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return port;
}

/** Without npm on its PATH, a start that goes on to install fails quickly. */
function start(folder: string, env: Record<string, string>, args: string[] = []) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/start.mjs', ...args], {
    cwd: folder,
    env: { PATH: '/nonexistent', ...env },
    encoding: 'utf8',
  });
  return { stdout, stderr, status };
}

test('a port in use is reported before anything is installed or built', async () => {
  const [folder, used] = [await createClone(), await usePort()];
  const sentence = (name: string) =>
    `Port ${used} is already in use. Stop the program that uses it, or set ${name} to another port.\n`;
  const free = { PORT: String(await freePort()), LARKSPUR_PORT: String(await freePort()) };
  for (const name of ['PORT', 'LARKSPUR_PORT']) {
    const result = start(folder, { ...free, [name]: String(used) });
    expect(result).toStrictEqual({ stdout: '', stderr: sentence(name), status: 1 });
  }
  expect(await readdir(folder)).not.toContain('node_modules');
  // From .env, which variables override.
  await writeFile(join(folder, '.env'), `PORT=${used}\nLARKSPUR_PORT=${free.LARKSPUR_PORT}\n`);
  expect(start(folder, {}).stderr).toBe(sentence('PORT'));
  const installing = { stdout: expect.stringMatching(/^Installing packages/), status: 1 };
  expect(start(folder, free)).toMatchObject(installing);
  // Ports that the process would not use.
  expect(start(folder, {}, ['--role', 'worker'])).toMatchObject(installing);
  const production = { PORT: free.PORT, NODE_ENV: 'production', LARKSPUR_PORT: String(used) };
  expect(start(folder, production)).toMatchObject(installing);
});

test('checks the default ports of the settings', async () => {
  const { listPorts } = await import(new URL('../../scripts/ports.mjs', import.meta.url).href);
  for (const [name, standard] of listPorts({}, 'all')) {
    expect(settings[name as 'PORT' | 'LARKSPUR_PORT'].default).toBe(String(standard));
  }
});
