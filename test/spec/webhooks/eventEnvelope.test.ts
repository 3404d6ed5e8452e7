import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiAs } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, startReceiver } from '../../harness/servers/receiver.ts';
import { until } from '../../journeys/support.ts';
import {
  type Completed,
  complete,
  completeBooking,
  completeCall,
  completeUpload,
  rejectedWrites,
} from '../support/completedJobs.ts';
import { registerUrl, untilReceived } from './receivers.ts';

type Envelope = Record<string, ApiResponse['body']>;

let fixture: TestSandbox;
let receiver: Receiver;
let registered_at: number;
/** A completed request for each event type, and every webhook call that followed. */
const requests: Record<string, Completed> = {};
let calls: Envelope[];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  receiver = await startReceiver();
  await registerUrl(fixture.api, receiver.url);
  registered_at = Date.now();
  const created = await completeCall(fixture, { reason: 'Cough' });
  const action = { emr_appointment_id: created.event.data.emr_encounter_id, text: 'Called back.' };
  const search = { search_by: 'mrn', mrn: fixture.sandbox.example.patient_mrn };
  requests['telephone_encounter.created'] = created;
  requests['telephone_encounter_action.created'] = await complete(fixture, '/v1/telephone-encounters/actions', action);
  requests['appointment.created'] = await completeBooking(fixture);
  requests['document.uploaded'] = await completeUpload(fixture);
  requests['patient.live_fetch_completed'] = await complete(fixture, '/v1/patients/fetch', search);
  for (const [type, refuse] of Object.entries(rejectedWrites)) requests[type] = await refuse(fixture);
  // The rejected action needs a second telephone encounter.
  await untilReceived(receiver, Object.keys(requests).length + 1);
  await expireLink();
  calls = receiver.received.map(({ body }) => JSON.parse(body));
});
afterAll(async () => {
  await receiver.close();
  await fixture.close();
});

/** Expires the link, waits for the event and links again. */
async function expireLink(): Promise<void> {
  await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
  await fixture.api.callIn({ patient_mrn: 'LK100050' });
  await until('the account to need a login', async () => (await fixture.api.call('GET', '/v1/staff')).status === 403);
  await untilReceived(receiver, Object.keys(requests).length + 2);
  await fixture.api.link({ access_token: fixture.sandbox.access_token });
}

const findCall = (type: string): Envelope => {
  const id = requests[type]?.event.id;
  const match = calls.find((call) => (id === undefined ? call.type === type : call.id === id));
  if (!match) throw new Error(`There is no call for ${type}.`);
  return match;
};

/** The event types of the specification and of its decisions. */
const documented = [
  ...['telephone_encounter.created', 'telephone_encounter.created_partial', 'telephone_encounter.failed'],
  ...['telephone_encounter_action.created', 'patient.insurance.added', 'patient.insurance.updated'],
  ...['patient.insurance.failed', 'document.uploaded', 'document.upload_failed', 'patient.created', 'patient.failed'],
  ...['appointment.created', 'login_required'],
  ...['telephone_encounter_action.failed', 'appointment.failed', 'patient.updated', 'patient.update_failed'],
  ...['patient.live_fetch_completed', 'patient.live_fetch_failed', 'sync.completed', 'sync.failed'],
];

test(row('EVT-01'), () => {
  for (const call of calls) expect(call.id).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  for (const [type, { event }] of Object.entries(requests)) expect(findCall(type).id).toBe(event.id);
});

test(row('EVT-02'), () => {
  expect(calls.length).toBeGreaterThan(10);
  for (const call of calls) expect(call.object).toBe('event');
});

test(row('EVT-03'), () => {
  for (const { created } of calls) {
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const at = Date.parse(created);
    expect(new Date(at).toISOString()).toBe(created);
    expect(at).toBeGreaterThan(registered_at - 5_000);
    expect(at).toBeLessThan(Date.now() + 5_000);
  }
});

test(row('EVT-04'), () => {
  for (const type of Object.keys(requests)) expect(findCall(type).type).toBe(type);
  for (const { type } of calls) expect(documented).toContain(type);
});

test(row('EVT-05'), () => {
  for (const [type, { accepted }] of Object.entries(requests)) {
    if (type.startsWith('document.')) expect(findCall(type)).not.toHaveProperty('job_id');
    else expect(findCall(type).job_id).toBe(String(accepted.job_id ?? accepted.data.job_id));
  }
  expect(findCall('login_required')).not.toHaveProperty('job_id');
});

test(row('EVT-06'), async () => {
  const colleague = await fixture.api.link({ user_id: 'colleague', staff: 1 });
  const own = async (access_token: string) =>
    (await fixture.api.call('GET', '/v1/settings', { headers: { access_token } })).body.data.access_token_reference_id;
  const [mine, theirs] = [await own(fixture.sandbox.access_token), await own(colleague)];
  expect([typeof mine, typeof theirs, mine === theirs]).toStrictEqual(['string', 'string', false]);
  for (const call of calls.filter(({ type }) => !type.startsWith('document.'))) {
    expect(call.access_token_reference_id).toBe(mine);
  }
  const api = apiAs(fixture, { access_token: colleague });
  const { id } = await api.untilEvent((await api.callIn()).body.job_id);
  const sent = await until('the call of the colleague’s event', async () =>
    receiver.received.map(({ body }) => JSON.parse(body)).find((call) => call.id === id),
  );
  expect(sent.access_token_reference_id).toBe(theirs);
});

test(row('EVT-07'), () => {
  for (const { data } of calls) {
    expect([typeof data, Array.isArray(data), data === null]).toStrictEqual(['object', false, false]);
  }
  const { accepted } = requests['telephone_encounter.created'] as Completed;
  expect(findCall('telephone_encounter.created').data.telephone_encounter_id).toBe(accepted.telephone_encounter_id);
  expect(findCall('login_required').data.user_id).toBe(fixture.sandbox.user_id);
});

test(row('EVT-08'), () => {
  for (const { method, url, headers } of receiver.received) {
    expect([method, url]).toStrictEqual(['POST', new URL(receiver.url).pathname]);
    expect(headers['content-type']).toMatch(/^application\/json/);
  }
  const all_fields = ['access_token_reference_id', 'created', 'data', 'id', 'job_id', 'object', 'type'];
  const left_out: Record<string, string[]> = {
    'document.uploaded': ['access_token_reference_id', 'job_id'],
    'document.upload_failed': ['access_token_reference_id', 'job_id'],
    login_required: ['job_id'],
  };
  for (const call of calls) {
    const expected = all_fields.filter((field) => !left_out[call.type]?.includes(field));
    expect(Object.keys(call).sort()).toStrictEqual(expected);
  }
});
