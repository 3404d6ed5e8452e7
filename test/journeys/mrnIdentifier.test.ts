import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { staff } from '../../src/model/records/staff.ts';
import { startPass } from '../../src/product/records/syncPasses.ts';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { stopScheduledSyncs, until } from './support.ts';

const org_id = 'mrn-practice';
const chart_system = 'urn:meadowbrook:chart';
let fixture: TestSandbox;
let server: FhirServer;
let operator: TestOperator;
let api: Api & { access_token: string };
let account: { id: string; organization_id: string; client_id: string };
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  operator = await signInOperator(fixture);
  for (const patient of await server.resources<fhir.Patient>('Patient')) {
    const chart = { system: chart_system, value: `CH-${patient.id}` };
    await server.storeUnchecked({ ...patient, identifier: [...(patient.identifier ?? []), chart] });
  }
  api = await linkFhir(fixture, server, { user_id: 'mrn', org_id });
  await api.sync();
  await stopScheduledSyncs(fixture.owner, org_id);
  const [row] = await fixture.owner<(typeof account)[]>`
    SELECT id, organization_id, client_id FROM accounts WHERE user_id = 'mrn'`;
  if (!row) throw new Error('There is no account.');
  account = row;
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function organization() {
  const { body } = await operator.get('clients/{client}/accounts');
  return body.organizations.find((each: { org_id: string }) => each.org_id === org_id);
}

const change = (body: object, as = operator) =>
  as.patch(`clients/{client}/organizations/${account.organization_id}/emr-settings`, body);

type Row = { ehr_id: string; mrn: string };
const patients = () => fixture.owner<Row[]>`
  SELECT ehr_id, mrn FROM patients WHERE organization_id = ${account.organization_id} ORDER BY ehr_id`;

/** The MRNs by which other records name patients. */
async function namedMrns(): Promise<string[]> {
  const { organization_id } = account;
  const rows = await fixture.owner<{ mrn: string }[]>`
    SELECT patient_mrn AS mrn FROM claims WHERE organization_id = ${organization_id} AND patient_mrn IS NOT NULL
    UNION SELECT patient_mrn FROM appointments WHERE organization_id = ${organization_id} AND patient_mrn IS NOT NULL
    UNION SELECT patient_mrn FROM orders WHERE organization_id = ${organization_id} AND patient_mrn IS NOT NULL`;
  return rows.map(({ mrn }) => mrn);
}

/** Waits until no sync is queued or running. */
const untilSynced = () =>
  until('the sync', async () => {
    const [open] = await fixture.owner`SELECT FROM jobs WHERE organization_id = ${account.organization_id}
      AND type = 'sync' AND finished_at IS NULL`;
    return !open;
  });

test('linking guesses the identifier, and the dashboard and the connection report say so', async () => {
  expect((await organization()).mrn).toStrictEqual({ system: 'urn:meadowbrook:mrn', type: 'MR', source: 'guess' });
  const { body } = await api.call('GET', '/v1/account/connection-report');
  const of_identifiers = (finding: string) => finding.startsWith('MRN:');
  expect(body.data.findings.filter(of_identifiers)).toStrictEqual([
    'MRN: identifiers of type MR with system urn:meadowbrook:mrn, detected from a sample of patients.',
  ]);
  expect(JSON.stringify(body)).not.toMatch(/MB1000|CH-pat/);
});

describe('the identifiers of a few patients', () => {
  const show = (as = operator) => as.post(`clients/{client}/accounts/${account.id}/identifiers`);

  test('are shown masked, and viewing them is audited with the patients', async () => {
    const response = await show();
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const { patients: looked_at, identifiers } = response.body.sample;
    expect(looked_at).toBe(12);
    expect(identifiers).toContainEqual({
      ...{ system: 'urn:meadowbrook:mrn', type: 'MR', patients: 11 },
      examples: [expect.stringMatching(/^•••\d\d$/), expect.any(String), expect.any(String)],
    });
    expect(JSON.stringify(response.body)).not.toMatch(/MB\d|CH-/);
    const [record] = await fixture.owner<{ action: string; patients: string[] }[]>`
      SELECT action, patients FROM audit_records WHERE request_id = ${response.headers.get('x-request-id')}`;
    expect(record).toMatchObject({ action: 'dashboard.accounts.identifiers', patients: { length: 12 } });
  });

  test('are not shown to read-only operators, and not if the EMR fails', async () => {
    expect((await show(await newOperator(fixture, 'read_only'))).status).toBe(403);
    server.fail({ kind: 'error_503', method: 'GET', path: '/Patient', times: 5 });
    expect(await show()).toMatchObject({ status: 503, body: { code: 'emr_unavailable' } });
    server.reset();
  });
});

describe('another identifier', () => {
  let erased: Row;

  test('is read into every record by a full sync, and nothing is held back', async () => {
    const before = await patients();
    const named = (await namedMrns()).length;
    const used = await namedMrns();
    const patient = before.find(({ mrn }) => used.includes(mrn));
    if (!patient) throw new Error('No patient is named by other records.');
    erased = patient;
    const path = `clients/{client}/organizations/${account.organization_id}/patients`;
    const [stored] = await fixture.owner<{ id: string }[]>`SELECT id FROM patients
      WHERE organization_id = ${account.organization_id} AND ehr_id = ${erased.ehr_id}`;
    const erasure = await operator.post(`${path}/${stored?.id}/erase`, { dry_run: false });
    expect(erasure.status, JSON.stringify(erasure.body)).toBe(200);
    expect((await change({ mrn_system: chart_system })).status).toBe(200);
    await untilSynced();
    const after = await patients();
    expect(after).toHaveLength(before.length - 1);
    expect(after.every(({ mrn, ehr_id }) => mrn === `CH-${ehr_id}`)).toBe(true);
    const now_named = await namedMrns();
    expect(now_named).toHaveLength(named - 1);
    expect(now_named.every((mrn) => mrn.startsWith('CH-'))).toBe(true);
    expect(await organization()).toMatchObject({
      held_removals: [],
      mrn: { system: chart_system, type: null, source: 'organization' },
    });
  });

  test('does not bring an erased patient back, also not in records that name it by MRN', async () => {
    expect((await patients()).map(({ ehr_id }) => ehr_id)).not.toContain(erased.ehr_id);
    expect(await namedMrns()).not.toContain(`CH-${erased.ehr_id}`);
  });

  test('finds patients for writes, and the earlier one does not', async () => {
    const upload = async (patient_mrn: string) => {
      const sent = await sendDocument(fixture, { patient_mrn }, undefined, { access_token: api.access_token });
      expect(sent.status, JSON.stringify(sent.body)).toBe(200);
      return until('the upload', async () => {
        const [job] = await fixture.owner<{ state: string }[]>`SELECT state FROM jobs
          WHERE operation_id = ${sent.body.document_id} AND finished_at IS NOT NULL`;
        return job?.state;
      });
    };
    const [other] = (await patients()).filter(({ ehr_id }) => ehr_id !== erased.ehr_id);
    expect(await upload(other?.mrn ?? '')).toBe('succeeded');
    expect(await upload('MB100002')).toBe('failed');
  });

  test('is read incrementally again after the full sync', async () => {
    const passes = await fixture.owner<{ full: boolean }[]>`SELECT full_as_of IS NOT NULL AS full FROM sync_passes
      WHERE organization_id = ${account.organization_id} AND mrn_rule <> '' AND kind IN ('patients', 'claims')`;
    expect([...passes]).toStrictEqual([{ full: true }, { full: true }]);
  });

  test('is set by operators only, and for EMRs that have identifiers', async () => {
    expect((await change({ mrn_type: 'MR' }, await newOperator(fixture, 'read_only'))).status).toBe(403);
    expect((await change({})).status).toBe(400);
    const [larkspur] = await fixture.owner<{ id: string }[]>`SELECT id FROM organizations WHERE connector = 'larkspur'`;
    const path = `clients/{client}/organizations/${larkspur?.id}/emr-settings`;
    expect((await operator.patch(path, { mrn_type: 'MR' })).body).toMatchObject({
      code: 'unsupported_field',
      field: 'mrn_type',
    });
  });
});

test('a pass that was started with another rule is started over, and stays full until one ends', async () => {
  const { client_id, organization_id } = account;
  const options = { incremental: true, finds_deleted: true, full: false, sync_minutes: 15 };
  const run = 2_000_000_000;
  const undone = new Error('undone');
  const result = fixture.ctx.db.tenant(client_id, async (tx) => {
    const start = (job: number, mrn_rule: string) =>
      startPass(tx, { client_id, organization_id, kind: staff, run: job }, { ...options, mrn_rule });
    await start(run, 'a');
    await tx`UPDATE sync_passes SET done = true, full_as_of = now(), synced_as_of = now(), position = 'x'
      WHERE organization_id = ${organization_id} AND kind = 'staff'`;
    expect(await start(run, 'a')).toMatchObject({ done: true });
    // A retry of the same sync, after the rule was changed.
    expect(await start(run, 'b')).toMatchObject({ done: false, full: true, from: undefined });
    // It did not get to its end, and neither did this one.
    expect(await start(run + 1, 'b')).toMatchObject({ full: true });
    throw undone;
  });
  await expect(result).rejects.toBe(undone);
});

test('the rule of an EMR app applies to its accounts, unless their organization has its own', async () => {
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const app = appFor(server.url, credentials, { name: 'Meadowbrook' });
  const added = await operator.post('clients/{client}/emr-apps', { ...app, mrn_type: ' MR ' });
  expect(added.status, JSON.stringify(added.body)).toBe(200);
  const { body } = await operator.get('clients/{client}/emr-apps');
  expect(body.emr_apps).toMatchObject([{ mrn_system: null, mrn_type: 'MR' }]);
  await fixture.owner`UPDATE accounts SET emr_app_id = ${added.body.id} WHERE id = ${account.id}`;
  expect((await organization()).mrn.source).toBe('organization');
  expect((await change({ mrn_system: null })).status).toBe(200);
  expect((await organization()).mrn).toStrictEqual({ system: null, type: 'MR', source: 'app' });
  await untilSynced();
  const mrns = async () => (await patients()).map(({ mrn }) => mrn);
  expect(await mrns()).toContain('MB100002');
  const path = `clients/{client}/emr-apps/${added.body.id}`;
  expect((await operator.patch(path, { mrn_system: chart_system, mrn_type: null })).status).toBe(200);
  await untilSynced();
  expect((await mrns()).every((mrn) => mrn.startsWith('CH-'))).toBe(true);
});
