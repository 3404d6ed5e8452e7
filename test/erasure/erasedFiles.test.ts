import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand, spawnSandbox } from '../harness/sandbox.ts';
import { createPatient } from './fixture.ts';

/** The files below a folder that contain one of the words. */
async function filesWith(folder: string, words: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(files.length, 'files in the data folder').toBeGreaterThan(0);
  const matches: string[] = [];
  for (const file of files) {
    const content = (await readFile(file, 'latin1')).toLowerCase();
    if (words.some((word) => content.includes(word.toLowerCase()))) matches.push(file);
  }
  return matches;
}

test('neither the most detailed log nor a file contains what was erased', async () => {
  const installation = await spawnSandbox({ small: true });
  onTestFinished(() => installation.close());
  const service = await installation.start('all', { LOG_LEVEL: 'trace' });
  const { sandbox, api } = await installation.read();
  const first = await createPatient(api, 'Erasedinlogs');
  const second = await createPatient(api, 'Leftwithclient');
  const words = ['Erasedinlogs', 'Leftwithclient', first.mrn, second.mrn];

  const erase = (...args: string[]) => runCommand(['erase', ...args, '--yes'], installation.env);
  const client = ['--client', sandbox.client_id];
  const commands = [
    await erase('patient', ...client, '--org', sandbox.org_id, '--patient', first.id),
    await erase('client', ...client),
  ];
  for (const { code, stderr } of commands) expect([code, stderr]).toStrictEqual([0, '']);
  await service.stop();

  const logged = [service.output(), ...commands.map(({ stdout, stderr }) => stdout + stderr)].join('').toLowerCase();
  expect(logged, 'the log has the jobs of the patients').toContain('job finished');
  expect(words.filter((word) => logged.includes(word.toLowerCase()))).toStrictEqual([]);
  expect(await filesWith(installation.env.DATA_DIR ?? '', words)).toStrictEqual([]);
});
