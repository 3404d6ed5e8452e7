import { execFile } from 'node:child_process';
import { copyFile, cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

/** A copy of the program with its own package.json, because this repository may have a .env file. */
let program: string;
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const folder = join(fixture.env.DATA_DIR ?? '', 'installed');
  for (const part of ['dist/bin', 'dist/src/platform/db/migrations']) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const lines = Object.entries(fixture.env).map(([name, value]) => `${name}=${value}`);
  await writeFile(join(folder, '.env'), `${lines.join('\n')}\n`);
  program = join(folder, 'dist/bin/chartwire.js');
});
afterAll(() => fixture.close());

test('a command uses .env, and environment variables take precedence', async () => {
  const args = ['clients', 'create', '--name', 'Named in a file', '--mode', 'live'];
  const created = await chartwire(args, {});
  expect(created.stderr).toBe('');
  const [row] = await fixture.owner`SELECT public_id FROM clients WHERE name = 'Named in a file'`;
  expect(created.stdout).toContain(row?.public_id ?? 'a client in this database');
  const refused = { code: 1, stderr: expect.stringMatching(/^DATABASE_URL must be a URL/) };
  await expect(chartwire(args, { DATABASE_URL: 'nowhere' })).rejects.toMatchObject(refused);
});

function chartwire(args: string[], env: Record<string, string>): Promise<{ stdout: string; stderr: string }> {
  const { PATH = '', CHARTWIRE_TEST_ROOT = '' } = process.env;
  return promisify(execFile)(process.execPath, [program, ...args], {
    env: { PATH, CHARTWIRE_TEST_ROOT, ...env },
    cwd: fixture.env.DATA_DIR,
  });
}
