import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';
import { killServer } from '../embedded/fixture.ts';
import { openApi } from '../harness/api.ts';
import { openOperator } from '../harness/operator.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { freePort, runCommand, startProcess, type TestProcess } from '../harness/sandbox.ts';
import { accept } from '../journeys/installation.ts';
import { setFault, untilFailedAttempt } from '../journeys/support.ts';

const create = 'create_telephone_encounter';

test('jobs that ran after the backup are found in the EMR and not repeated after a restore', async () => {
  const root = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'drill-'));
  const [data_dir, restored_dir] = [join(root, 'data'), join(root, 'restored')];
  const [file, passphrase_file] = [join(root, 'backup'), join(root, 'passphrase')];
  await writeFile(passphrase_file, 'a passphrase for tests\n');
  // The EMR keeps what was written after the backup, so its database is not the one that is restored.
  const emr = await freshDatabase('drill_emr');
  const env = {
    PORT: `${await freePort()}`,
    LARKSPUR_PORT: `${await freePort()}`,
    LARKSPUR_DATABASE_URL: emr.url,
    LEASE_SECONDS: '2',
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
  const before = await accept({ api }, 2);
  await api.untilEvent(before.job_id);

  // Unfinished at the backup: one with two steps, whose first attempt failed; one behind it; and another patient's.
  await setFault(api, create, 'error_429', { times: 1_000 });
  const refill = { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9005' };
  const unfinished = [await accept({ api }, 1, refill), await accept({ api }, 1), await accept({ api }, 3)];
  for (const { job_id } of [unfinished[0], unfinished[2]].filter((each) => each !== undefined)) {
    await untilFailedAttempt(api, job_id);
  }
  const command = ['backup', '--to', file, '--passphrase-file', passphrase_file, '--verify', '--json'];
  const backup = await runCommand(command, { ...env, DATA_DIR: data_dir });
  expect(backup).toMatchObject({ code: 0 });
  const count = expect.any(Number);
  expect(JSON.parse(backup.stdout)).toStrictEqual({
    ...{ file, bytes: count, database_files: count, database_bytes: count, backup_at: expect.any(String) },
    verified: { tables: count, rows: count, audit_records: count },
    has_master_key: true,
  });

  await api.control('DELETE', '/control/faults');
  for (const { job_id } of unfinished) await api.untilEvent(job_id);
  const lost = await accept({ api }, 4);
  await api.untilEvent(lost.job_id);
  const ledger = await api.ledger();
  await first.kill('SIGKILL');
  await killServer(data_dir, 'SIGQUIT');

  const restore = await runCommand(
    ['restore', '--from', file, '--data-dir', restored_dir, '--passphrase-file', passphrase_file],
    { ...env, DATA_DIR: data_dir },
  );
  expect(restore).toMatchObject({ code: 0 });
  expect(restore.stdout).toContain('Unfinished jobs: 3.');

  processes.push(await startProcess('all', { ...env, DATA_DIR: restored_dir }));
  for (const { job_id } of unfinished) {
    const event = await api.untilEvent(job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
  }
  // Not one request to write was sent, not even one that the EMR would have recognized by its marker.
  expect(await api.ledger()).toStrictEqual(ledger);

  expect((await api.call('GET', `/v1/jobs/${lost.job_id}`)).status).toBe(404);
  const after = await accept({ api }, 4);
  expect(after.job_id).toBeGreaterThan(lost.job_id);
  await api.untilEvent(after.job_id);
  expect(await api.ledger()).toHaveLength(ledger.length + 1);

  const operator = await openOperator({ sandbox });
  const { overview } = (await operator.get('clients/{client}/overview')).body;
  expect(overview.restore).toMatchObject({ unfinished_jobs: 3 });
  const verified = await runCommand(['audit', 'verify'], { ...env, DATA_DIR: restored_dir });
  expect(verified).toMatchObject({ code: 0 });
}, 300_000);
