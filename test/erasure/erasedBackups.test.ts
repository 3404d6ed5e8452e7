import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { connect } from '../../src/platform/db/database.ts';
import { addErasedTables, rewriteErasedTables } from '../../src/platform/db/erasedTables.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openEmbedded } from '../../src/platform/db/openServer.ts';
import { extractBackup } from '../../src/product/backup/restoreBackup.ts';
import { install } from '../backup/installation.ts';
import { type Api, createApi } from '../harness/api.ts';
import { freshDatabase } from '../harness/postgres.ts';

/** The planted words that a file below the folder contains, each with the files. */
async function findWords(folder: string, words: readonly string[]): Promise<Record<string, string[]>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const hits: Record<string, string[]> = {};
  for (const file of files) {
    const content = (await readFile(file, 'latin1')).toLowerCase();
    for (const word of words.filter((each) => content.includes(each))) {
      hits[word] = [...(hits[word] ?? []), file.slice(folder.length + 1)];
    }
  }
  return hits;
}

/** Creates a patient whose name, street, e-mail address and requests contain the word. */
async function plant(api: Api, word: string): Promise<string> {
  const hook = { webhook_url: 'http://127.0.0.1:9/hook' };
  await api.call('POST', '/v1/webhook', { body: hook, headers: { access_token: null } });
  const body = {
    ...{ first_name: 'Ida', last_name: word, dob: '1980-02-03', sex: 'female' },
    ...{ address_street: `12 ${word} Street`, email: `${word}@example.org` },
  };
  const created = await api.call('POST', '/v1/patients', { body });
  const { data } = await api.untilEvent(created.body.job_id);
  const call = await api.callIn({ patient_mrn: data.mrn, message: `Asked for ${word}` });
  await api.untilEvent(call.body.job_id);
  const changed = await api.call('PATCH', `/v1/patients/${data.patient_id}`, { body: { address_line2: `${word} 2` } });
  await api.untilEvent(changed.body.job_id);
  return data.patient_id;
}

test('promise 48: a backup made after an erasure contains no byte of what was erased', async () => {
  // No sync reads what other practices wrote to the shared EMR.
  const installation = await install({ SYNC_MINUTES: '10000' });
  const { data_dir, restored_dir } = installation;
  const service = await installation.start(data_dir);
  const { sandbox, api } = await installation.read();
  const server = await openEmbedded(loadConfig({ DATA_DIR: data_dir }), () => {});
  onTestFinished(() => server.release());
  const owner = connect(server.owner, { max: 1 });
  onTestFinished(() => owner.end({ timeout_ms: 1_000 }));
  // Autovacuum would sometimes remove the traces before the backup.
  await owner`ALTER SYSTEM SET autovacuum = off`;
  await owner`SELECT pg_reload_conf()`;
  const client = JSON.parse(
    (await installation.run(data_dir, ['clients', 'create', '--name', 'Two', '--json'])).stdout,
  );

  const practice_token = await api.link({ user_id: 'second-user', org_id: 'second-practice', staff: 8 });
  const of_client = createApi({ ...sandbox, ...client, access_token: '' });
  const client_token = await of_client.link({ user_id: 'third-user', org_id: 'third-practice', staff: 9 });
  const words = { patient: 'plantedofpatient', practice: 'plantedofpractice', client: 'plantedofclient' };
  const patient_id = await plant(api, words.patient);
  await plant(createApi({ ...sandbox, access_token: practice_token }), words.practice);
  await plant(createApi({ ...sandbox, ...client, access_token: client_token }), words.client);

  // The planner's statistics, which autovacuum collects at some time, contain samples of the values.
  await owner`ANALYZE`;
  const [sampled] = await owner`SELECT FROM pg_stats WHERE histogram_bounds::text LIKE ${`%${words.client}%`}
    OR most_common_vals::text LIKE ${`%${words.client}%`}`;
  expect(sampled, 'the statistics contain the planted word').toBeDefined();

  const own = ['--client', sandbox.client_id];
  for (const args of [
    ['patient', ...own, '--org', sandbox.org_id, '--patient', patient_id],
    ['practice', ...own, '--org', 'second-practice'],
    ['client', '--client', client.client_id],
  ]) {
    expect(await installation.run(data_dir, ['erase', ...args, '--yes'])).toMatchObject({ code: 0, stderr: '' });
  }
  const all = Object.values(words);
  await owner`CHECKPOINT`;
  const before = await findWords(join(data_dir, 'postgres', 'base'), all);
  expect(Object.keys(before).sort(), 'table files before the backup').toStrictEqual([...all].sort());

  expect(await installation.backUp()).toMatchObject({ code: 0 });
  await extractBackup(loadConfig({ DATA_DIR: restored_dir }), installation.backup_file, 'a passphrase for tests');
  expect(await readdir(join(restored_dir, 'postgres', 'pg_wal'))).not.toStrictEqual([]);
  expect(await findWords(restored_dir, all)).toStrictEqual({});
  expect(await owner`SELECT FROM erased_tables`).toHaveLength(0);
  await service.stop();
});

test('a backup fails with the reason while another session can see erased rows or uses their table', async () => {
  const { address, drop } = await freshDatabase();
  onTestFinished(drop);
  await migrate(address);
  const sql = connect(address, { max: 1 });
  const other = connect(address, { max: 1, application_name: 'nightly report' });
  onTestFinished(async () => {
    await Promise.all([sql, other].map((each) => each.end({ timeout_ms: 1_000 })));
  });
  await sql.begin((tx) => addErasedTables(tx, ['patients']));

  await other.begin('BEGIN ISOLATION LEVEL REPEATABLE READ', async (tx) => {
    await tx`SELECT FROM clients`;
    await expect(rewriteErasedTables(address, { wait_ms: 1 })).rejects.toThrow(
      /because a transaction can still see it \(process \d+, nightly report, since .*\)\. No backup was made\./,
    );
  });
  await other.begin(async (tx) => {
    // A lock without a snapshot. Processes of the server may have one for a moment.
    await tx`LOCK TABLE patients IN ACCESS SHARE MODE`;
    await expect(rewriteErasedTables(address, { wait_ms: 2_000, lock_ms: 10 })).rejects.toThrow(
      /because the table patients is in use \(process \d+, nightly report, since .*\)/,
    );
  });
  expect(await sql`SELECT name FROM erased_tables`).toMatchObject([{ name: 'patients' }]);

  expect(await rewriteErasedTables(address)).toStrictEqual(['patients']);
  expect(await sql`SELECT name FROM erased_tables`).toHaveLength(0);
});
