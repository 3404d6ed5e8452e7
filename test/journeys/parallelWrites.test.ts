import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { LoadSign } from '../../src/emr/connector.ts';
import { recordLoad } from '../../src/product/accounts/serverFacts.ts';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { stopScheduledSyncs, untilFinished } from './support.ts';

const org_id = 'parallel-practice';
let fixture: TestSandbox;
let server: FhirServer;
let operator: TestOperator;
let api: Api & { access_token: string };
let account: { id: string; organization_id: string; client_id: string };
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  operator = await signInOperator(fixture);
  server.faults.withheld = { Appointment: 'all', ServiceRequest: 'all', Slot: 'all', Claim: 'all' };
  api = await linkFhir(fixture, server, { user_id: 'parallel', org_id });
  await api.sync();
  await stopScheduledSyncs(fixture.owner, org_id);
  const [row] = await fixture.owner<(typeof account)[]>`
    SELECT id, organization_id, client_id FROM accounts WHERE user_id = 'parallel'`;
  if (!row) throw new Error('There is no account.');
  account = row;
});
beforeEach(async () => {
  server.reset();
  await fixture.owner`DELETE FROM write_limits`;
  await fixture.owner`UPDATE organizations SET parallel_writes_max = NULL`;
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function shown() {
  const { body } = await operator.get('clients/{client}/accounts');
  const organization = body.organizations.find((each: { org_id: string }) => each.org_id === org_id);
  return organization.accounts[0].parallel_writes;
}

const record = async (sign: LoadSign, times = 1) => {
  for (let n = 0; n < times; n++) {
    await fixture.ctx.db.tenant(account.client_id, (tx) => recordLoad(tx, account, sign, 4));
  }
};

/** Uploads a document for each of these patients, all accepted before the first one runs. */
async function upload(patients: readonly number[]): Promise<void> {
  const ids: string[] = [];
  await withJobsPaused(fixture, async () => {
    for (const n of patients) {
      const fields = { patient_mrn: `MB${100_000 + n}`, folder_name: `Letter ${ids.length}` };
      const { status, body } = await sendDocument(fixture, fields, undefined, { access_token: api.access_token });
      expect(status, JSON.stringify(body)).toBe(200);
      ids.push(body.document_id);
    }
  });
  const jobs = await fixture.owner<{ id: number }[]>`
    SELECT id FROM jobs WHERE operation_id = ANY (${ids}::uuid[])`;
  await untilFinished(
    fixture.owner,
    jobs.map(({ id }) => id),
  );
  const states = await fixture.owner<{ state: string }[]>`
    SELECT DISTINCT state FROM jobs WHERE operation_id = ANY (${ids}::uuid[])`;
  expect([...states]).toStrictEqual([{ state: 'succeeded' }]);
}

const setting = (parallel_writes_max: number | null, as = operator) =>
  as.patch(`clients/{client}/organizations/${account.organization_id}/emr-settings`, { parallel_writes_max });

const patients = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

test('writes start one at a time, and run in parallel after 20 records were created', async () => {
  expect(await shown()).toStrictEqual({ now: 1, max: 4, reason: 'start', at: null, held_until: null });
  server.writing.most = 0;
  // A file and its DocumentReference: 18 creates.
  await upload(patients.slice(0, 9));
  expect(server.writing.most).toBe(1);
  expect(await shown()).toMatchObject({ now: 1, reason: 'start' });
  await upload(patients.slice(0, 1));
  expect(await shown()).toMatchObject({ now: 2, max: 4, reason: 'creates', held_until: null });
});

test('a server that rejects a second write gets one at a time for an hour, and every write once', async () => {
  await record('created', 20);
  expect((await shown()).now).toBe(2);
  server.faults.writes_at_once_max = 1;
  const before = server.writes('DocumentReference').length;
  await upload(patients);
  expect(server.writes('DocumentReference').length - before).toBe(patients.length);
  expect(server.ledger.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  expect(await shown()).toMatchObject({ now: 1, reason: 'too_busy', held_until: expect.any(String) });
  await record('created', 40);
  expect((await shown()).now).toBe(1);
  await fixture.owner`UPDATE write_limits SET held_until = now()`;
  await record('created', 20);
  expect(await shown()).toMatchObject({ now: 2, reason: 'creates' });
});

test('the order of a patient’s writes is kept while others run in parallel', async () => {
  await record('created', 40);
  expect((await shown()).now).toBe(4);
  const before = server.writes('DocumentReference').length;
  await upload([1, 2, 1, 3, 1, 2, 4, 1]);
  const stored = server
    .writes('DocumentReference')
    .slice(before)
    .map(({ body }) => JSON.parse(body));
  const listFolders = (id: string) =>
    stored.filter(({ subject }) => subject.reference === `Patient/${id}`).map(({ category }) => category[0].text);
  expect(listFolders('pat-1')).toStrictEqual(['Letter 0', 'Letter 2', 'Letter 4', 'Letter 7']);
  expect(listFolders('pat-2')).toStrictEqual(['Letter 1', 'Letter 5']);
});

test('a collision and a failure of several writes lower it, a failure of a single write only delays', async () => {
  await record('created', 20);
  await record('collided');
  expect(await shown()).toMatchObject({ now: 1, reason: 'collided', held_until: expect.any(String) });
  await fixture.owner`DELETE FROM write_limits`;
  await record('created', 20);
  await record('failed');
  expect(await shown()).toMatchObject({ now: 1, reason: 'failed', held_until: expect.any(String) });
  await fixture.owner`DELETE FROM write_limits`;
  await record('created', 19);
  await record('failed');
  await record('created', 19);
  expect(await shown()).toMatchObject({ now: 1, held_until: null });
  await record('created');
  expect((await shown()).now).toBe(2);
});

test('the limit of an organization applies at once and is never exceeded', async () => {
  await record('created', 40);
  expect((await setting(3)).status).toBe(200);
  expect(await shown()).toMatchObject({ now: 3, max: 3, reason: 'setting' });
  await record('created', 40);
  expect((await shown()).now).toBe(3);
  expect((await setting(8)).status).toBe(200);
  await record('created', 20);
  expect(await shown()).toMatchObject({ now: 6, max: 8 });
  await record('created', 40);
  expect((await shown()).now).toBe(8);
  expect((await setting(null)).status).toBe(200);
  expect(await shown()).toMatchObject({ now: 4, max: 4 });
  expect((await setting(17)).status).toBe(400);
  expect((await setting(2, await newOperator(fixture, 'read_only'))).status).toBe(403);
});

test('an EMR whose limit is not measured has no such setting', async () => {
  const [larkspur] = await fixture.owner<{ id: string }[]>`SELECT id FROM organizations WHERE connector = 'larkspur'`;
  const path = `clients/{client}/organizations/${larkspur?.id}/emr-settings`;
  const refused = await operator.patch(path, { parallel_writes_max: 2 });
  expect(refused).toMatchObject({ status: 400, body: { code: 'unsupported_field', field: 'parallel_writes_max' } });
});
