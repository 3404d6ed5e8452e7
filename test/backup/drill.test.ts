import { expect, test } from 'vitest';
import { killServer } from '../embedded/fixture.ts';
import { signInOperator } from '../harness/operator.ts';
import { accept } from '../journeys/installation.ts';
import { setFault, untilFailedAttempt } from '../journeys/support.ts';
import { expectNewGeneration, followChanges } from './followChanges.ts';
import { install } from './installation.ts';

const create = 'create_telephone_encounter';

test('jobs that ran after the backup are found in the EMR and not repeated after a restore', async () => {
  const installation = await install({ LEASE_SECONDS: '2' });
  const { data_dir, restored_dir } = installation;
  const first = await installation.start(data_dir);
  const { sandbox, api } = await installation.read();
  const before = await accept({ api }, 2);
  await api.untilEvent(before.job_id);

  // Unfinished at the backup: one with two steps, whose first attempt failed; one behind it; and another patient's.
  await setFault(api, create, 'error_429', { times: 1_000 });
  const refill = { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9005' };
  const unfinished = [await accept({ api }, 1, refill), await accept({ api }, 1), await accept({ api }, 3)];
  for (const { job_id } of [unfinished[0], unfinished[2]].filter((each) => each !== undefined)) {
    await untilFailedAttempt(api, job_id);
  }
  const followed = await followChanges(api);
  const backup = await installation.backUp('--verify', '--json');
  expect(backup).toMatchObject({ code: 0 });
  const count = expect.any(Number);
  expect(JSON.parse(backup.stdout)).toStrictEqual({
    ...{
      file: installation.backup_file,
      bytes: count,
      database_files: count,
      database_bytes: count,
      backup_at: expect.any(String),
    },
    verified: { tables: count, rows: count, audit_records: count },
    has_master_key: true,
  });

  await api.control('DELETE', '/control/faults');
  for (const { job_id } of unfinished) await api.untilEvent(job_id);
  const lost = await accept({ api }, 4);
  await api.untilEvent(lost.job_id);
  const ledger = await api.ledger();
  await first.stop('SIGKILL');
  await killServer(data_dir, 'SIGQUIT');

  const restore = await installation.restore();
  expect(restore).toMatchObject({ code: 0 });
  expect(restore.stdout).toContain('Unfinished jobs: 3.');

  await installation.start(restored_dir);
  for (const { job_id } of unfinished) {
    const event = await api.untilEvent(job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
  }
  // Not one request to write was sent, not even one that the EMR would have recognized by its marker.
  expect(await api.ledger()).toStrictEqual(ledger);

  expect((await api.call('GET', `/v1/jobs/${lost.job_id}`)).status).toBe(404);
  await expectNewGeneration(api, followed);
  const after = await accept({ api }, 4);
  expect(after.job_id).toBeGreaterThan(lost.job_id);
  await api.untilEvent(after.job_id);
  expect(await api.ledger()).toHaveLength(ledger.length + 1);

  const operator = await signInOperator({ sandbox });
  const { overview } = (await operator.get('clients/{client}/overview')).body;
  expect(overview.restore).toMatchObject({ unfinished_jobs: 3 });
  const verified = await installation.run(restored_dir, ['audit', 'verify']);
  expect(verified).toMatchObject({ code: 0 });
});
