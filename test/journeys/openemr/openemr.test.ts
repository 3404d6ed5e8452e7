import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../harness/api.ts';
import { linkOpenEmr, newPatient, visit_types } from '../../harness/openemr/linkOpenEmr.ts';
import { type OpenEmrServer, startOpenEmr } from '../../harness/openemr/startOpenEmr.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, startReceiver } from '../../harness/servers/receiver.ts';
import { sendDocument } from '../../spec/support/sendDocument.ts';
import { stopScheduledSyncs, until } from '../support.ts';

const org_id = 'thistle';
let fixture: TestSandbox;
let server: OpenEmrServer;
let operator: TestOperator;
let receiver: Receiver;
let api: Api & { access_token: string };
beforeAll(async () => {
  [fixture, server, receiver] = await Promise.all([startSandbox({ small: true }), startOpenEmr(), startReceiver()]);
  operator = await signInOperator(fixture);
  const registered = await fixture.api.call('POST', '/v1/webhook', {
    body: { webhook_url: receiver.url },
    headers: { access_token: null },
  });
  expect(registered.status, JSON.stringify(registered.body)).toBe(200);
  api = await linkOpenEmr(fixture, server, { user_id: 'quill', org_id });
  await stopScheduledSyncs(fixture.owner, org_id);
  await setVisitTypes(visit_types);
  await api.sync();
});
afterAll(async () => {
  await fixture.close();
  await server.close();
  await receiver.close();
});

async function organization() {
  const { body } = await operator.get('clients/{client}/accounts');
  return body.organizations.find((each: { org_id: string }) => each.org_id === org_id);
}

async function setVisitTypes(types: object[] | null) {
  const { id } = await organization();
  return operator.patch(`clients/{client}/organizations/${id}/emr-settings`, { visit_types: types });
}

async function finished(response: { status: number; body: { job_id: number } }) {
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return api.untilEvent(response.body.job_id);
}

const ids = () => ({
  location: String(server.practice.facilities[0]?.uuid),
  provider: String(server.practice.users[1]?.uuid),
  nurse: String(server.practice.users[0]?.uuid),
});

test('a sync reads patients, providers, staff, locations, appointments and the visit types that were set', async () => {
  const lists = {
    patients: (await api.call('GET', '/v1/patients')).body.patients,
    providers: (await api.call('GET', '/v1/providers')).body.providers,
    locations: (await api.call('GET', '/v1/locations')).body.locations,
    staff: (await api.call('GET', '/v1/staff')).body.staff,
    visit_types: (await api.call('GET', '/v1/visit-types')).body.visit_types,
  };
  expect(lists.patients.map(({ mrn }: { mrn: string }) => mrn).sort()).toStrictEqual(['3', 'OE-1001', 'OE-1002']);
  expect(lists.providers.map(({ ehr_id }: { ehr_id: string }) => ehr_id)).toContain(ids().provider);
  // Not the homes of patients, which FHIR lists as locations.
  expect(lists.locations.map(({ name }: { name: string }) => name).sort()).toStrictEqual([
    'Thistle East',
    'Thistle Family Practice',
  ]);
  // Not the entry of the address book.
  expect(lists.staff).toHaveLength(3);
  expect(lists.visit_types).toStrictEqual(visit_types.map(({ code, description }) => ({ code, description })));
  const rows = await fixture.owner<{ doc: { datetime: string; duration: number; status: string } }[]>`
    SELECT doc FROM appointments WHERE organization_id = (SELECT id FROM organizations WHERE org_id = ${org_id})`;
  const times = rows.map(({ doc: { datetime, duration, status } }) => ({ datetime, duration, status }));
  expect(times.toSorted((a, b) => a.datetime.localeCompare(b.datetime))).toStrictEqual([
    { datetime: '2026-03-02T10:00:00-05:00', duration: 20, status: '-' },
    // Booked by the API: OpenEMR shows 00:00 as its end.
    { datetime: '2026-03-03T09:30:00-05:00', duration: 15, status: '-' },
  ]);
});

test('a patient, an appointment, a call with an action and a document are written, and reported by webhook', async () => {
  const created = await finished(await api.call('POST', '/v1/patients', { body: newPatient('Jo', 'Wren') }));
  expect(created.event_type, JSON.stringify(created)).toBe('patient.created');
  const { mrn } = created.data;
  expect(server.practice.patients.at(-1)).toMatchObject({ fname: 'Jo', lname: 'Wren', sex: 'Female', pubpid: mrn });

  const booked = await finished(
    await api.call('POST', '/v1/appointments', {
      body: {
        mrn,
        location: ids().location,
        provider: ids().provider,
        type: '5',
        datetime: '2031-03-03T09:00:00-05:00',
      },
    }),
  );
  expect(booked.event_type, JSON.stringify(booked)).toBe('appointment.created');
  expect(server.practice.appointments.at(-1)).toMatchObject({
    pc_startTime: '09:00:00',
    pc_duration: '900',
    pc_catid: '5',
  });

  const call = await finished(
    await api.call('POST', '/v1/telephone-encounters', {
      body: {
        patient_mrn: mrn,
        provider_id: ids().provider,
        location_id: ids().location,
        assigned_to_id: ids().nurse,
        reason: 'Cough',
        caller: 'Mother',
        message: 'Coughs at night',
      },
    }),
  );
  expect(call.event_type, JSON.stringify(call)).toBe('telephone_encounter.created');
  expect(server.practice.encounters.at(-1)).toMatchObject({ class_code: 'VR', reason: 'Cough', pc_catid: '12' });
  expect(server.practice.messages.at(-1)).toMatchObject({ to: 'admin', from: 'quill', title: 'Phone Call' });

  const action = await finished(
    await api.call('POST', '/v1/telephone-encounters/actions', {
      body: { emr_appointment_id: call.data.emr_encounter_id, text: 'Called back' },
    }),
  );
  expect(action.event_type, JSON.stringify(action)).toBe('telephone_encounter_action.created');
  expect(server.practice.notes.map(({ subjective }) => subjective)).toStrictEqual([
    'Caller: Mother\nCoughs at night',
    expect.stringMatching(/: Called back$/),
  ]);

  const stored = await sendDocument(
    { sandbox: { ...fixture.sandbox, access_token: api.access_token } },
    { patient_mrn: mrn, folder_name: 'Lab Report' },
  );
  const [job] = await fixture.owner<{ id: number }[]>`
    SELECT id::int4 FROM jobs WHERE operation_id = ${stored.body.document_id}`;
  const uploaded = await api.untilEvent(job?.id ?? 0);
  expect(uploaded.event_type, JSON.stringify(uploaded)).toBe('document.uploaded');
  expect(server.practice.documents.at(-1)).toMatchObject({ category: 'Lab Report' });

  const events = [created, booked, call, uploaded].map(({ event_type }) => event_type);
  await until('the webhooks', async () => {
    const received = receiver.received.map(({ body }) => JSON.parse(body).type);
    return events.every((type) => received.includes(type));
  });
});

test('a category that OpenEMR does not have is refused, although OpenEMR would accept it', async () => {
  const before = server.practice.documents.length;
  const sandbox = { ...fixture.sandbox, access_token: api.access_token };
  const { body } = await sendDocument({ sandbox }, { patient_mrn: 'OE-1002', folder_name: 'Nowhere' });
  const [job] = await fixture.owner<{ id: number }[]>`
    SELECT id::int4 FROM jobs WHERE operation_id = ${body.document_id}`;
  const event = await api.untilEvent(job?.id ?? 0);
  expect(event.data).toMatchObject({ failure_reason: expect.stringContaining('no document category') });
  expect(server.practice.documents).toHaveLength(before);
});

test('visit types are checked, and belong to EMRs that do not list theirs', async () => {
  expect((await setVisitTypes([{ code: 'OV', description: 'Office', minutes: null }])).body).toMatchObject({
    message: 'The code of a visit type must be the number of a calendar category.',
    field: 'visit_types',
  });
  const twice = { code: '5', description: 'Office', minutes: null };
  expect((await setVisitTypes([twice, twice])).status).toBe(400);
  expect((await organization()).settings.visit_types).toStrictEqual(visit_types);
  const { body } = await operator.get('clients/{client}/accounts');
  const larkspur = body.organizations.find((each: { emr: string }) => each.emr === 'larkspur');
  const path = `clients/{client}/organizations/${larkspur.id}/emr-settings`;
  expect((await operator.patch(path, { visit_types: [twice] })).body).toMatchObject({ code: 'unsupported_field' });
});

test('a session that expired is renewed, and one that cannot be renewed needs a person', async () => {
  server.expireTokens('access');
  await api.sync();
  server.expireTokens('all');
  const { body } = await api.call('POST', '/v1/sync', { body: {} });
  await until('the account to need a person', async () => {
    const [row] = await fixture.owner`SELECT FROM accounts WHERE user_id = 'quill' AND status = 'login_required'`;
    return row;
  });
  expect(body.job_id).toBeGreaterThan(0);
});
