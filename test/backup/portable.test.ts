import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';
import { killServer } from '../embedded/fixture.ts';
import { openApi } from '../harness/api.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { freePort, runCommand, startProcess, type TestProcess } from '../harness/sandbox.ts';
import { accept } from '../journeys/installation.ts';

test('a portable backup is loaded into a new database server, which continues', async () => {
  const root = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'portable-'));
  const [data_dir, restored_dir] = [join(root, 'data'), join(root, 'restored')];
  const [file, passphrase_file] = [join(root, 'backup'), join(root, 'passphrase')];
  await writeFile(passphrase_file, 'a passphrase for tests\n');
  const emr = await freshDatabase('portable_emr');
  const env = {
    PORT: `${await freePort()}`,
    LARKSPUR_PORT: `${await freePort()}`,
    LARKSPUR_DATABASE_URL: emr.url,
    LOG_LEVEL: 'silent',
  };
  const processes: TestProcess[] = [];
  onTestFinished(async () => {
    for (const each of processes) await each.kill();
    for (const folder of [data_dir, restored_dir]) await killServer(folder, 'SIGQUIT').catch(() => {});
    await rm(root, { recursive: true, force: true });
    await emr.drop();
  });

  const first = await startProcess('all', { ...env, DATA_DIR: data_dir });
  processes.push(first);
  const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
  const api = openApi(sandbox);
  // What the text format has to escape.
  const reason = 'a\tb\nc\\d \\N é 👩‍⚕️';
  const before = await accept({ api }, 2, { reason });
  const event = await api.untilEvent(before.job_id);
  const patients = (await api.call('GET', '/v1/patients')).body;
  const command = ['backup', '--to', file, '--passphrase-file', passphrase_file, '--portable'];
  expect(await runCommand(command, { ...env, DATA_DIR: data_dir })).toMatchObject({ code: 0 });
  await first.kill();

  const restore = await runCommand(
    ['restore', '--from', file, '--data-dir', restored_dir, '--passphrase-file', passphrase_file],
    { ...env, DATA_DIR: data_dir },
  );
  expect(restore).toMatchObject({ code: 0 });
  processes.push(await startProcess('all', { ...env, DATA_DIR: restored_dir }));
  expect((await api.call('GET', `/v1/webhook-events?job_id=${before.job_id}`)).body.webhook_events).toMatchObject([
    { event_type: event.event_type, data: { reason } },
  ]);
  expect((await api.call('GET', '/v1/patients')).body).toStrictEqual(patients);
  const after = await accept({ api }, 2);
  expect(after.job_id).toBeGreaterThan(before.job_id);
  await api.untilEvent(after.job_id);
  expect(await runCommand(['audit', 'verify'], { ...env, DATA_DIR: restored_dir })).toMatchObject({ code: 0 });
}, 300_000);
