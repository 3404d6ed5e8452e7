import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../harness/api.ts';
import { documents } from '../../harness/documents.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';

const org_id = 'fhir-staff';
let fixture: TestSandbox;
let server: FhirServer;
let api: Api & { access_token: string };
let token: string;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  token = server.bearerToken();
  api = await linkFhir(fixture, server, { user_id: 'fhir-staff', org_id });
  await until('the first sync', async () => (await api.call('GET', '/v1/claims')).body.pagination?.total_count);
  const body = { webhook_url: 'http://127.0.0.1:9/staff', sync_events: true, org_ids: [org_id] };
  const { webhook_id } = (await api.call('POST', '/v1/webhook', { body, headers: { access_token: null } })).body;
  const pause = { body: { paused: true }, headers: { access_token: null } };
  expect((await api.call('PATCH', `/v1/webhook/${webhook_id}`, pause)).status).toBe(200);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

type SyncEvent = { type: string; data: Record<string, unknown> };

/** The events that a sync announces after this change on the server, oldest first. */
async function announced(change: () => Promise<unknown>): Promise<SyncEvent[]> {
  const stored = () =>
    fixture.owner<{ id: string; body: string }[]>`SELECT id, body FROM events WHERE from_sync ORDER BY created_at`;
  await api.sync();
  const before = new Set((await stored()).map(({ id }) => id));
  await change();
  await api.sync();
  const added = (await stored()).filter(({ id }) => !before.has(id));
  return added.map(({ body }) => JSON.parse(body)).map(({ type, data }) => ({ type, data }));
}

/** Stores a resource as another application of the practice does. */
async function save<T extends fhir.FhirResource>(resource: T): Promise<T> {
  const path = resource.id === undefined ? resource.resourceType : `${resource.resourceType}/${resource.id}`;
  const response = await fetch(`${server.url}/${path}`, {
    method: resource.id === undefined ? 'POST' : 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/fhir+json',
      ...(resource.meta?.versionId !== undefined && { 'if-match': `W/"${resource.meta.versionId}"` }),
    },
    body: JSON.stringify(resource),
  });
  expect(response.status, await response.clone().text()).toBeLessThan(300);
  return (await response.json()) as T;
}

const newPatient = (family: string): fhir.Patient => ({
  resourceType: 'Patient',
  active: true,
  name: [{ family, given: ['Synthetic'] }],
  birthDate: '1980-02-29',
  gender: 'female',
});

test(row('SYE-14'), async () => {
  let [duplicate, surviving] = [newPatient('Duplicate'), newPatient('Surviving')];
  const created = await announced(async () => {
    duplicate = await save(duplicate);
    surviving = await save(surviving);
  });
  expect(created.map(({ type, data }) => [type, data.ehr_id])).toStrictEqual([
    ['patient.created', duplicate.id],
    ['patient.created', surviving.id],
  ]);
  const updated = await announced(async () => {
    surviving = await save({
      ...surviving,
      telecom: [{ system: 'phone', use: 'home', value: '518-555-0155' }],
    });
  });
  expect(updated).toMatchObject([
    { type: 'patient.updated', data: { source: 'emr', ehr_id: surviving.id, changed_fields: ['phone'] } },
  ]);
  const document: fhir.DocumentReference = {
    resourceType: 'DocumentReference',
    status: 'current',
    date: new Date().toISOString(),
    category: [{ text: 'Referrals' }],
    subject: { reference: `Patient/${duplicate.id}` },
    content: [{ attachment: { contentType: 'application/pdf', title: 'referral.pdf', data: 'JVBERi0=' } }],
  };
  let stored: fhir.DocumentReference = document;
  const added = await announced(async () => {
    stored = await save(document);
  });
  expect(added).toStrictEqual([
    {
      type: 'document.added',
      data: {
        ...{ source: 'emr', emr_document_id: stored.id, patient_mrn: duplicate.id, folder_name: 'Referrals' },
        ...{ file_name: 'referral.pdf', content_type: 'application/pdf', added_at: expect.any(String) },
      },
    },
  ]);
  // A changed document is no new one.
  expect(await announced(() => save({ ...stored, description: 'Changed' }))).toStrictEqual([]);

  const merged = await announced(() => {
    const link = [{ type: 'replaced-by' as const, other: { reference: `Patient/${surviving.id}` } }];
    return save({ ...duplicate, active: false, link });
  });
  expect(merged).toMatchObject([
    {
      type: 'patient.merged',
      data: { ehr_id: duplicate.id, surviving_ehr_id: surviving.id, surviving_patient_id: expect.any(String) },
    },
  ]);
  expect(await announced(async () => {})).toStrictEqual([]);
});

test('a staff change of an appointment is announced, and writes of ours are not', async () => {
  const person = { first_name: 'Own', last_name: 'Writer', dob: '1990-01-31', sex: 'female', phone: '518-555-0142' };
  const own = await announced(async () => {
    const accepted = await api.call('POST', '/v1/patients', { body: person });
    const { data } = await api.untilEvent(accepted.body.job_id);
    const form = new FormData();
    for (const [name, value] of Object.entries({ patient_mrn: data.mrn, folder_name: 'Own' })) form.set(name, value);
    form.set('document', new Blob([new Uint8Array(documents.pdf)]), 'own.pdf');
    const { client_id, client_secret, base_url } = fixture.sandbox;
    const headers = { client_id, client_secret, access_token: api.access_token };
    const sent = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body: form });
    const { document_id } = (await sent.json()) as { document_id: string };
    await until(
      'the upload',
      async () => (await api.call('GET', `/v1/documents/${document_id}`)).body.document.emr_document_id,
    );
    const { status, body } = await api.call('PATCH', `/v1/patients/${data.patient_id}`, {
      body: { email: 'own@example.test' },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    await api.untilEvent(body.job_id);
  });
  expect(own).toStrictEqual([]);
  const [visit] = (await server.resources<fhir.Appointment>('Appointment')).filter(({ status }) => status === 'booked');
  const canceled = await announced(() => save({ ...required(visit), status: 'cancelled' }));
  expect(canceled.map(({ type, data }) => [type, data.ehr_appointment_id])).toStrictEqual([
    ['appointment.cancelled', visit?.id],
  ]);
});

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The server has no such record.');
  return value;
}
