import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { requestDueSyncs } from '../../../src/product/records/syncPasses.ts';
import type { Api } from '../../harness/api.ts';
import { type BulkSwitches, bulk_behavior } from '../../harness/fhir/bulkSwitches.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { stopScheduledSyncs, until } from '../support.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let server: FhirServer;
let api: Api;
const org_id = 'exporting-practice';
beforeAll(async () => {
  fixture = await startSandbox({ small: true, sync_after_link: false });
  operator = await signInOperator(fixture);
  server = await startFhirServer({ data: 'small' });
  exportOnly();
  api = await linkFhir(fixture, server, { user_id: 'exporting', org_id });
  await stopScheduledSyncs(fixture.owner, org_id);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});
beforeEach(() => exportOnly());

/** A server that lists patients, coverages and practitioners by export only. */
function exportOnly(bulk: Partial<BulkSwitches> = {}): void {
  server.reset();
  Object.assign(server.faults, {
    narrow: ['Patient', 'Coverage', 'Practitioner'],
    withheld_params: {
      Patient: ['_id', 'birthdate', 'active', 'name'],
      Coverage: ['status'],
      Practitioner: ['active', 'name'],
    },
    withheld: { Appointment: 'all', Claim: 'all', ServiceRequest: 'all', Slot: 'all' },
    bulk: { ...bulk_behavior, ...bulk },
  });
}

type ExportRow = {
  state: string;
  failure: string | null;
  wait_s: number;
  chunks: number;
  files_done: number;
  left: number;
  unended: boolean;
};

/** The stored export. `left`: parts of files. `unended`: the EMR has not ended it. */
async function readExport(): Promise<ExportRow | undefined> {
  const [row] = await fixture.owner<ExportRow[]>`
    SELECT state, failure, chunks, files_done, extract(epoch FROM next_at - now())::float8 AS wait_s,
           (SELECT count(*)::int FROM bulk_export_chunks) AS left, status_url_sealed IS NOT NULL AS unended
      FROM bulk_exports`;
  return row;
}

async function lastSync(): Promise<{ id: number; state: string }> {
  const [row] = await fixture.owner<{ id: number; state: string }[]>`
    SELECT jobs.id::int, jobs.state FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE org_id = ${org_id} AND type = 'sync' ORDER BY jobs.id DESC LIMIT 1`;
  return row ?? { id: 0, state: 'none' };
}

/** Runs a scheduled sync, whose export is due: of all records (`full`) or of changes. */
async function sync(which: 'full' | 'changes'): Promise<ExportRow | undefined> {
  const full = which === 'full';
  await fixture.owner`UPDATE bulk_exports SET next_at = now() - interval '1 second',
    last_full_at = CASE WHEN ${full} THEN NULL ELSE last_full_at END`;
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' WHERE org_id = ${org_id}`;
  return runDue();
}

/** Runs what is due, which may be the next step of an export only. */
async function runDue(): Promise<ExportRow | undefined> {
  const before = await lastSync();
  await requestDueSyncs(fixture.ctx);
  await stopScheduledSyncs(fixture.owner, org_id);
  await until('the sync', async () => {
    const { id, state } = await lastSync();
    return id > before.id && state === 'succeeded';
  });
  return readExport();
}

/** Lets the next step of the export be due, and takes it. */
async function continueExport(): Promise<ExportRow | undefined> {
  await fixture.owner`UPDATE bulk_exports SET next_at = now() - interval '1 second'`;
  return runDue();
}

const stored = async (kind: 'patients' | 'patient_insurances' | 'providers') => {
  const rows = await fixture.owner<{ ehr_id: string }[]>`SELECT ehr_id FROM ${fixture.owner(kind)}
    WHERE organization_id = (SELECT id FROM organizations WHERE org_id = ${org_id}) ORDER BY ehr_id`;
  return rows.map(({ ehr_id }) => ehr_id);
};
const atServer = async (type: 'Patient' | 'Coverage' | 'Practitioner') =>
  (await server.resources<fhir.Patient>(type as 'Patient')).map(({ id = '' }) => id).sort();
const expectSame = async () => {
  expect(await stored('patients')).toStrictEqual(await atServer('Patient'));
  expect(await stored('patient_insurances')).toStrictEqual(await atServer('Coverage'));
};
const requests = (text: string) => server.ledger.filter(({ path }) => path.includes(text));
const lastExport = () => server.bulk.exports.at(-1);

async function addPatient(id: string): Promise<void> {
  const name = [{ family: 'Placeholder', given: [`Synthetic-${id}`] }];
  const identifier = [{ type: { coding: [{ code: 'MR' }] }, system: 'urn:synthetic', value: `MB-${id}` }];
  await server.storeUnchecked({ resourceType: 'Patient', id, name, identifier, gender: 'unknown', active: true });
}

async function findings(): Promise<string> {
  const { body } = await operator.get('clients/{client}/connection-reports');
  const listed = body.reports.find((each: { org_id: string }) => each.org_id === org_id);
  const { report } = (await operator.get(`clients/{client}/connection-reports/${listed.id}`)).body;
  return report.findings.join('\n');
}

test('lists that the server does not return are read by one export, which is ended at the EMR', async () => {
  await api.sync();
  await expectSame();
  expect(await stored('providers')).toStrictEqual(await atServer('Practitioner'));
  expect(server.bulk.exports).toHaveLength(1);
  expect(lastExport()).toMatchObject({ path: 'Patient/$export', since: null, running: false });
  expect(lastExport()?.types).toStrictEqual(['Patient', 'Coverage', 'Practitioner']);
  expect(await readExport()).toMatchObject({ state: 'done', failure: null, left: 0, unended: false });
  const about = await findings();
  expect(about).toContain('Patient records are read by bulk export of all patients');
  expect(about).toContain(
    'Practitioner records are read by bulk export of all patients, changes every few hours. Only',
  );
});

test('the next syncs leave the export alone until it is due, and then export the changes', async () => {
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' WHERE org_id = ${org_id}`;
  await runDue();
  expect(server.bulk.exports).toHaveLength(1);
  const as_of = lastExport()?.as_of;
  await addPatient('added-1');
  const [gone = ''] = await atServer('Coverage');
  await server.remove('Coverage', gone);
  await sync('changes');
  expect(lastExport()).toMatchObject({ since: as_of, running: false });
  const exported = lastExport()?.files.filter(({ holds }) => holds === 'output');
  expect(exported?.flatMap(({ lines }) => lines)).toHaveLength(1);
  expect(await stored('patients')).toStrictEqual(await atServer('Patient'));
  // Changes say nothing about what is missing.
  expect(await stored('patient_insurances')).toContain(gone);
  await sync('full');
  expect(lastExport()?.since).toBeNull();
  await expectSame();
});

test('records that an export of changes names as deleted are removed', async () => {
  exportOnly({ names_deleted: true });
  await addPatient('deleted-1');
  await sync('changes');
  expect(await stored('patients')).toContain('deleted-1');
  await server.remove('Patient', 'deleted-1');
  await sync('changes');
  expect(lastExport()?.since).not.toBeNull();
  await expectSame();
});

test('an export with errors removes nothing, and its errors are shown', async () => {
  exportOnly({ errors: [{ severity: 'error', code: 'processing' }] });
  await addPatient('missed-1');
  await sync('changes');
  await server.remove('Patient', 'missed-1');
  await sync('full');
  expect(await stored('patients')).toContain('missed-1');
  const about = await findings();
  expect(about).toContain('1 × processing');
  expect(about).not.toContain('Synthetic Sample');
  exportOnly({ errors: [{ severity: 'warning', code: 'informational' }] });
  await sync('full');
  await expectSame();
});

test('an export of an older copy of the records removes nothing, because it may lack what was written since', async () => {
  exportOnly({ copy_age_ms: 3_600_000 });
  await addPatient('newer-1');
  await sync('full');
  await server.remove('Patient', 'newer-1');
  await sync('full');
  expect(await stored('patients')).toContain('newer-1');
  exportOnly();
  await sync('full');
  await expectSame();
});

test('an export whose account was unlinked while its files were stored ends, and the next one is complete', async () => {
  exportOnly({ polls: 3, retry_after: '7200' });
  expect(await sync('full')).toMatchObject({ state: 'running' });
  // What an interrupted sync may leave behind: the manifest is gone with its key, the parts are not.
  await fixture.owner`UPDATE bulk_exports SET state = 'reading', chunks = 5`;
  const ended = { state: 'failed', failure: 'The account that started the export was unlinked.', left: 0 };
  expect(await continueExport()).toMatchObject(ended);
  exportOnly();
  expect(await sync('full')).toMatchObject({ state: 'done' });
  await expectSame();
});

test('an EMR that has not prepared the files after two days is not waited for', async () => {
  exportOnly({ polls: 9, retry_after: '7200' });
  expect(await sync('full')).toMatchObject({ state: 'running' });
  await fixture.owner`UPDATE bulk_exports SET started_at = started_at - interval '49 hours'`;
  const ended = { state: 'failed', failure: 'The EMR did not finish its export.' };
  expect(await continueExport()).toMatchObject(ended);
  exportOnly();
  expect(await sync('full')).toMatchObject({ state: 'done' });
});

test('an export without the records of a list removes none of them until an operator confirms', async () => {
  server.faults.hidden = ['Coverage'];
  const before = await stored('patient_insurances');
  await sync('full');
  expect(await stored('patient_insurances')).toStrictEqual(before);
  const [removals] = await fixture.owner`SELECT held_missing FROM sync_passes WHERE held_at IS NOT NULL`;
  expect(removals).toStrictEqual({ held_missing: before.length });
  exportOnly();
  await sync('full');
  await expectSame();
});

test('an EMR that needs hours holds no worker, and what is written meanwhile is not undone', async () => {
  exportOnly({ polls: 3, retry_after: '7200' });
  await addPatient('slow-1');
  const count = server.bulk.exports.length;
  const [waiting, polled] = [await sync('full'), requests('/bulk/status/').length];
  expect(waiting).toMatchObject({ state: 'running' });
  expect(waiting?.wait_s).toBeGreaterThan(300);
  expect(waiting?.wait_s).toBeLessThanOrEqual(600);
  const body = { first_name: 'Synthetic', last_name: 'Written', dob: '1990-05-14', sex: 'female' };
  const created = await api.call('POST', '/v1/patients', { body });
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  await until('the patient to be created', async () => (await api.job(created.body.job_id)).status === 'succeeded');
  // A requested sync reads the other lists, and neither polls too early nor starts another export.
  await api.sync();
  expect(requests('/bulk/status/')).toHaveLength(polled);
  for (let step = 0; step < 2; step++) expect(await continueExport()).toMatchObject({ state: 'running' });
  expect(await continueExport()).toMatchObject({ state: 'done' });
  expect(server.bulk.exports).toHaveLength(count + 1);
  await expectSame();
});

test('a server that is busy with another export is asked again later, once', async () => {
  const count = server.bulk.exports.length;
  server.fail({ kind: 'too_many_retry_after', path: '$export' });
  const busy = await sync('full');
  expect(busy).toMatchObject({ state: 'failed', failure: 'The EMR is busy with another export.' });
  expect(busy?.wait_s).toBeGreaterThan(30);
  await sync('full');
  expect(server.bulk.exports).toHaveLength(count + 1);
});

test('a kick-off whose response was lost is not repeated while the export may be running', async () => {
  const count = server.bulk.exports.length;
  server.fail({ kind: 'reset', path: '$export', performed: true });
  const lost = await sync('full');
  expect(lost).toMatchObject({ state: 'kicking_off' });
  expect(lost?.wait_s).toBeGreaterThan(3 * 3600);
  await api.sync();
  expect(server.bulk.exports).toHaveLength(count + 1);
  server.bulk.forget();
  expect(await continueExport()).toMatchObject({ state: 'done' });
  expect(server.bulk.exports).toHaveLength(count + 2);
});

test('errors while the files are prepared pass, unless the server repeats that the export has failed', async () => {
  exportOnly({ polls: 1, retry_after: '60' });
  expect(await sync('full')).toMatchObject({ state: 'running' });
  server.fail({ kind: 'html_500', path: '/bulk/status/' });
  expect(await continueExport()).toMatchObject({ state: 'running' });
  server.fail({ kind: 'error_500', path: '/bulk/status/', times: 4 });
  for (let times = 0; times < 2; times++) expect(await continueExport()).toMatchObject({ state: 'running' });
  expect(await continueExport()).toMatchObject({ state: 'failed', failure: 'The EMR reports an error.' });
});

test('a server that has lost the export after a restart prepares another one later', async () => {
  exportOnly({ polls: 1, retry_after: '60' });
  expect(await sync('full')).toMatchObject({ state: 'running' });
  server.bulk.forget();
  const lost = await continueExport();
  expect(lost).toMatchObject({ state: 'failed', failure: expect.stringContaining('no longer knows'), left: 0 });
  expect(lost?.wait_s).toBeGreaterThan(600);
  exportOnly();
  expect(await sync('full')).toMatchObject({ state: 'done' });
});

test('files that are cut off, expire, need a new token or fail once are read completely', async () => {
  exportOnly({ truncated: 1, expired: 1 });
  await addPatient('complete-1');
  server.fail({ kind: 'unauthorized', path: `/bulk/files/${server.bulk.exports.length}/2` });
  server.fail({ kind: 'html_500', path: `/bulk/files/${server.bulk.exports.length}/3` });
  server.fail({ kind: 'truncated', path: `/bulk/files/${server.bulk.exports.length}/4` });
  expect(await sync('full')).toMatchObject({ state: 'done' });
  await expectSame();
});

test('an export that stays incomplete changes nothing, and continues where it stopped', async () => {
  exportOnly({ lines_per_file: 2 });
  await addPatient('incomplete-1');
  const n = server.bulk.exports.length;
  server.fail({ kind: 'error_503', path: `/bulk/files/${n}/3`, times: 3 });
  const stopped = await sync('full');
  expect(stopped).toMatchObject({ state: 'downloading', files_done: 3, left: 3 });
  expect(await stored('patients')).not.toContain('incomplete-1');
  const plain = await fixture.owner`SELECT FROM bulk_export_chunks WHERE lines_sealed::text ~ 'resourceType'
    OR position('resourceType'::bytea IN lines_sealed) > 0`;
  expect(plain).toHaveLength(0);
  const first_file = requests(`/bulk/files/${n}/0`).length;
  expect(await continueExport()).toMatchObject({ state: 'done' });
  expect(requests(`/bulk/files/${n}/0`)).toHaveLength(first_file);
  expect(server.bulk.exports).toHaveLength(n + 1);
  await expectSame();
});

test('the erasure of a patient deletes the stored files, which are downloaded again without the patient', async () => {
  await addPatient('erased-1');
  await sync('changes');
  const n = server.bulk.exports.length;
  server.fail({ kind: 'error_503', path: `/bulk/files/${n}/5`, times: 3 });
  expect(await sync('full')).toMatchObject({ state: 'downloading', left: 5 });
  const [row] = await fixture.owner<{ id: string; organization_id: string }[]>`
    SELECT replace(id::text, '-', '') AS id, replace(organization_id::text, '-', '') AS organization_id
      FROM patients WHERE ehr_id = 'erased-1'`;
  const path = `clients/{client}/organizations/${row?.organization_id}/patients/${row?.id}/erase`;
  const erased = await operator.post(path, { dry_run: false });
  expect(erased.body.erasure.rows).toContainEqual({ table: 'bulk_export_chunks', rows: 5 });
  expect(await continueExport()).toMatchObject({ state: 'done' });
  const others = (await atServer('Patient')).filter((id) => id !== 'erased-1');
  expect(await stored('patients')).toStrictEqual(others);
  await server.remove('Patient', 'erased-1');
});

test('a file redirected to another host is read without the token, over one redirect only', async () => {
  const elsewhere = new URL(server.url).origin.replace('127.0.0.1', 'localhost');
  exportOnly({ redirects_to: elsewhere });
  await addPatient('redirected-1');
  expect(await sync('full')).toMatchObject({ state: 'done' });
  const redirected = requests('/bulk/storage/');
  expect(redirected.length).toBeGreaterThan(0);
  expect(redirected.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  await expectSame();
  exportOnly({ redirects_to: elsewhere, redirects: 2 });
  expect(await sync('full')).toMatchObject({ state: 'failed', failure: expect.stringContaining('more than once') });
  exportOnly({ redirects_to: 'http://10.0.0.1' });
  const failure = 'The address of the EMR is not allowed.';
  expect(await sync('full')).toMatchObject({ state: 'failed', failure, unended: false });
});

test('files on another host that need the token are not read, and the report says so', async () => {
  exportOnly({ files_origin: new URL(server.url).origin.replace('127.0.0.1', 'localhost') });
  const failed = await sync('full');
  expect(failed).toMatchObject({ state: 'failed', failure: expect.stringContaining('requires our token') });
  expect(await findings()).toContain('requires our token there. It is not sent.');
  server.faults.bulk = { ...bulk_behavior, ...server.faults.bulk, requires_token: false };
  expect(await sync('full')).toMatchObject({ state: 'done' });
  expect(lastExport()?.running).toBe(false);
  expect(requests('/bulk/files/').at(-1)?.headers.authorization).toBeUndefined();
});

test.each([
  [null, 'transactionTime is not a FHIR instant'],
  ['2026-11-18', 'transactionTime is not a FHIR instant'],
  ['9999-01-01T00:00:00Z', 'a time in the future'],
])('an export of the time %j is not used, and the report says why', async (transaction_time, reason) => {
  await addPatient('timeless-1');
  const before = await stored('patients');
  exportOnly({ transaction_time });
  const failed = await sync('full');
  expect(failed).toMatchObject({ state: 'failed', failure: expect.stringContaining(reason), left: 0, unended: false });
  expect(await findings()).toContain(reason);
  expect(await stored('patients')).toStrictEqual(before);
  await server.remove('Patient', 'timeless-1');
});

test('an account that may not export loses these lists, and keeps the records', async () => {
  exportOnly({ forbidden: true });
  expect(await sync('full')).toMatchObject({ state: 'failed', failure: expect.stringContaining('does not start') });
  const before = await stored('patients');
  const kicked_off = requests('$export').length;
  await sync('full');
  expect(requests('$export')).toHaveLength(kicked_off);
  expect(await stored('patients')).toStrictEqual(before);
  expect(server.bulk.running_most).toBe(1);
});

test('the only group of a server is exported, and none of several', async () => {
  const practice = await startFhirServer({ data: 'small' });
  const { faults } = server;
  Object.assign(practice.faults, structuredClone({ ...faults, bulk: { ...bulk_behavior, levels: ['Group'] } }));
  practice.faults.bulk = { ...bulk_behavior, levels: ['Group'], groups: ['part-1', 'part-2'] };
  const account = await linkFhir(fixture, practice, { user_id: 'grouped', org_id: 'grouped-practice' });
  await account.sync();
  expect((await account.call('GET', '/v1/patients')).status).toBe(400);
  practice.faults.bulk = { ...bulk_behavior, levels: ['Group'], groups: ['everyone'] };
  await account.sync();
  expect(practice.bulk.exports).toMatchObject([{ path: 'Group/everyone/$export', running: false }]);
  const listed = await account.call('GET', '/v1/patients');
  expect(listed.body.pagination.total_count).toBe((await practice.resources('Patient')).length);
  await stopScheduledSyncs(fixture.owner, 'grouped-practice');
  await practice.close();
});
