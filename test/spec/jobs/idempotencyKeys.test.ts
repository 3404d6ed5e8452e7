import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { apiAs, expectApiError, newClient } from '../../api/support.ts';
import { rejectedCall } from '../../dashboard/finishedCalls.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { countRows } from '../../journeys/support.ts';
import { findAppointmentId } from '../support/appointments.ts';
import { completeBooking, completeCall, examplePatientId, free_day } from '../support/completedJobs.ts';
import { queuedCall } from '../support/queuedCall.ts';
import { registerUrl } from '../webhooks/receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const keyed = (key: string, headers: Record<string, string | null> = {}) => ({ 'idempotency-key': key, ...headers });
const replayed = (response: ApiResponse) => response.headers.get('idempotency-replayed');
const hook = (key: string, webhook_url: string, api: Api = fixture.api) =>
  api.call('POST', '/v1/webhook', { body: { webhook_url }, headers: keyed(key, { access_token: null }) });
const jobs = async () => Number((await fixture.owner`SELECT count(*) AS n FROM jobs`)[0]?.n);
const age = (age: string) =>
  fixture.owner`UPDATE idempotency_keys SET created_at = created_at - ${age}::text::interval`;

/** A valid request for every POST and PATCH endpoint that changes something. */
async function requests(): Promise<Record<string, (key: string) => Promise<ApiResponse>>> {
  const { api, sandbox } = fixture;
  const { example, larkspur, org_id } = sandbox;
  const { event } = await completeCall(fixture);
  const rejected = await rejectedCall(fixture);
  const { event: booked } = await completeBooking(fixture);
  const { id: webhook_id } = await registerUrl(api, 'http://127.0.0.1:9/keyed');
  const client_only = { access_token: null };
  const user = { user_id: 'keyed', org_id };
  const rotated = await api.link({ user_id: 'keyed-rotation', staff: 3 });
  const created = await api.call('POST', '/link/token/create', { body: user, headers: client_only });
  const [provider] = (await api.call('GET', '/v1/providers')).body.providers;
  const [location] = (await api.call('GET', '/v1/locations')).body.locations;
  const { patient_mrn: mrn, provider_id, location_id, assigned_to_id } = example;
  const [insurance] = (await api.control('GET', '/control/patient-insurances?patientId=10001')).body.rows;
  const person = larkspur.staff[2];
  const sign_in = {
    link_token: created.body.token,
    credentials: { username: person?.username, password: person?.password },
    one_time_code: api.code(2),
  };
  const booking = { mrn, location: location_id, provider: provider_id, type: 'FU', datetime: `${free_day}T10:00:00Z` };
  const send =
    (method: string, path: string, body: object, headers: Record<string, string | null> = {}) =>
    (key: string) =>
      api.call(method, path, { body, headers: keyed(key, headers) });
  return {
    'link.token.create': send('POST', '/link/token/create', user, client_only),
    'account.rotate-token': send('POST', '/v1/account/rotate-token', {}, { access_token: rotated }),
    'sandbox.public_token.create': send('POST', '/sandbox/public_token/create', sign_in, client_only),
    'sandbox.larkspur.open': send('POST', '/sandbox/larkspur/open', { mrn }, client_only),
    'telephone-encounters.create': send('POST', '/v1/telephone-encounters', {
      ...{ patient_mrn: mrn, provider_id, location_id, assigned_to_id },
    }),
    'telephone-encounters.actions.create': send('POST', '/v1/telephone-encounters/actions', {
      ...{ emr_appointment_id: event.data.emr_encounter_id, text: 'Called back.' },
    }),
    'appointments.create': send('POST', '/v1/appointments', booking),
    'appointments.update': send('PATCH', `/v1/appointments/${await findAppointmentId(fixture, fixture.api)}`, {
      note: 'Changed',
    }),
    'documents.create': sendDocument,
    'claims.create': send('POST', '/v1/claims', { appointment_id: booked.data.appointment_id }),
    'payments.create': send('POST', '/v1/payments', {
      ...{ patient_mrn: mrn, payment_method: 'Cash', reference_number: 'K1', location: location_id, amount: 5 },
    }),
    'notes.create': send('POST', '/v1/notes', { appointment_id: booked.data.appointment_id, note: 'Well.' }),
    'patient-notes.create': send('POST', '/v1/patient-notes', {
      ...{ patient_mrn: mrn, location_id, subject: 'Contact', note: 'Prefers mornings.' },
    }),
    'referring-providers.create': send('POST', '/v1/referring-providers', {
      ...{ first_name: 'Umber', last_name: 'Keyed', npi: '1234567893' },
    }),
    'referrals.create': send('POST', '/v1/referrals', {
      ...{ patient_mrn: mrn, direction: 'incoming', priority: 'routine', reason: 'Keyed' },
      ...{ referring_from_provider_ehr_id: '0', referring_to_provider_ehr_id: '501' },
    }),
    'tasks.create': send('POST', '/v1/tasks', {
      ...{ patient_mrn: mrn, subject: 'Call', description: 'Call back.' },
      ...{ assignee_user_id: assigned_to_id, phone_call_type_id: '1' },
    }),
    'tasks.notes.create': send('POST', '/v1/tasks/notes', { emr_task_id: '700001', note: 'Done.' }),
    'patients.create': send('POST', '/v1/patients', {
      ...{ first_name: 'Nova', last_name: 'Newcomer', dob: '2004-02-29', sex: 'female' },
    }),
    'patients.update': send('PATCH', `/v1/patients/${await examplePatientId(fixture)}`, { email: 'new@example.test' }),
    'patients.insurances.create': send('POST', `/v1/patients/${mrn}/insurances`, {
      ...{ member_id: 'M1', insurance_name: 'Mock Mutual' },
    }),
    'patients.insurances.update': send('PATCH', `/v1/patients/${mrn}/insurances/${insurance.insuranceId}`, {
      group_id: 'G1',
    }),
    'patients.fetch': send('POST', '/v1/patients/fetch', { search_by: 'mrn', mrn }),
    'appointments.fetch': send('POST', '/v1/appointments/fetch', { search_by: 'mrn', mrn }),
    'availability.fetch': send('POST', '/v1/availability/fetch', {
      ...{ start_date: free_day, end_date: free_day, provider_ids: [provider_id] },
    }),
    'providers.update-by-ehr-id': send('PATCH', `/v1/providers/ehr/${provider.ehr_id}`, { status: 'active' }),
    'providers.update': send('PATCH', `/v1/providers/${provider.id}`, { status: 'active' }),
    'locations.update': send('PATCH', `/v1/locations/${location.id}`, { status: 'active' }),
    'sync.create': send('POST', '/v1/sync', {}),
    'jobs.run-again': send('POST', `/v1/jobs/${rejected.job_id}/run-again`, {}, client_only),
    'jobs.cancel': send('POST', `/v1/jobs/${await queuedCall(fixture)}/cancel`, {}, client_only),
    'webhook-events.resend': send('POST', `/v1/webhook-events/${event.id}/resend`, {}),
    'webhook.create': send('POST', '/v1/webhook', { webhook_url: 'http://127.0.0.1:9/other' }, client_only),
    'webhook.update': send('PATCH', `/v1/webhook/${webhook_id}`, { sync_events: true }, client_only),
    'webhook.rotate-oldest-secret': send('POST', '/v1/webhook/rotate-secret', {}, client_only),
    'webhook.rotate-secret': send('POST', `/v1/webhook/${webhook_id}/rotate-secret`, {}, client_only),
  };
}

async function sendDocument(key: string): Promise<ApiResponse> {
  const { base_url, client_id, client_secret, access_token, example } = fixture.sandbox;
  const form = new FormData();
  form.set('folder_name', 'Letters');
  form.set('patient_mrn', example.patient_mrn);
  form.set('document', new Blob([new Uint8Array(documents.pdf)]), 'scan.pdf');
  const headers = { client_id, client_secret, access_token, 'idempotency-key': key };
  const response = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body: form });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

test(row('DEC-320'), async () => {
  const sent = await requests();
  const declared = endpoints.filter(({ method, reads }) => ['POST', 'PATCH'].includes(method) && !reads);
  const ids = declared.map(({ id }) => id).sort();
  expect(Object.keys(sent).sort(), 'an endpoint that this test sends nothing to').toStrictEqual(ids);
  for (const [id, send] of Object.entries(sent)) {
    const key = randomUUID();
    const first = await send(key);
    const accepted = declared.find((each) => each.id === id)?.accepted_status ?? 200;
    expect([first.status, replayed(first)], `${id}: ${JSON.stringify(first.body)}`).toStrictEqual([accepted, null]);
    const before = await countRows(fixture.owner);
    const again = await send(key);
    expect([again.status, replayed(again)], id).toStrictEqual([accepted, 'true']);
    expect(again.body, id).toStrictEqual(first.body);
    expect((await countRows(fixture.owner)).jobs, id).toBe(before.jobs);
  }
});

test(row('DEC-321'), async () => {
  const message = 'Send one Idempotency-Key of 1 to 255 printable characters.';
  const before = await jobs();
  for (const key of ['', 'k'.repeat(256), 'a\tb', 'a\u0085b']) {
    expectApiError(await fixture.api.callIn({}, keyed(key)), 400, message);
    expectApiError(await hook(key, 'http://127.0.0.1:9/refused'), 400, message);
  }
  expect(await jobs()).toBe(before);
  const every_character = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)).join('');
  for (const key of ['~', 'k'.repeat(254), 'k'.repeat(255), `"${every_character.trim()}"`]) {
    expect((await fixture.api.callIn({}, keyed(key))).status).toBe(200);
    expect(replayed(await fixture.api.callIn({}, keyed(key)))).toBe('true');
  }
});

test(row('DEC-322'), async () => {
  const [write, register] = [randomUUID(), randomUUID()];
  const send = [() => fixture.api.callIn({}, keyed(write)), () => hook(register, 'http://127.0.0.1:9/aged')];
  const first = [await send[0]?.(), await send[1]?.()];
  await age('23 hours 59 minutes');
  for (const [n, each] of send.entries()) {
    const again = await each();
    expect([again.status, replayed(again)]).toStrictEqual([200, 'true']);
    expect(again.body).toStrictEqual(first[n]?.body);
  }
  await age('2 minutes');
  for (const each of send) {
    const repeated = await each();
    expect([repeated.status, replayed(repeated)]).toStrictEqual([200, null]);
  }
  expect((await fixture.api.callIn({}, keyed(write))).body.job_id).not.toBe(first[0]?.body.job_id);
});

test(row('DEC-323'), async () => {
  const key = randomUUID();
  const colleague = apiAs(fixture, {
    access_token: await fixture.api.link({ user_id: 'colleague-with-key', staff: 4 }),
  });
  const mine = await fixture.api.callIn({}, keyed(key));
  const theirs = await colleague.callIn({ reason: 'Another request' }, keyed(key));
  expect([mine.status, theirs.status, replayed(theirs)]).toStrictEqual([200, 200, null]);
  expect(theirs.body.job_id).not.toBe(mine.body.job_id);
  expect((await colleague.callIn({ reason: 'Another request' }, keyed(key))).body).toStrictEqual(theirs.body);
  // Without an access token a key belongs to the client: the account and other clients may use it too.
  const ours = await hook(key, 'http://127.0.0.1:9/ours');
  const other = await newClient(fixture);
  const foreign = await hook(key, 'http://127.0.0.1:9/foreign', other.api);
  expect([ours.status, replayed(ours), foreign.status, replayed(foreign)]).toStrictEqual([200, null, 200, null]);
  expect(replayed(await hook(key, 'http://127.0.0.1:9/ours'))).toBe('true');
  expect(replayed(await hook(key, 'http://127.0.0.1:9/foreign', other.api))).toBe('true');
});

test(row('DEC-324'), async () => {
  const key = randomUUID();
  const before = await countRows(fixture.owner);
  expect((await fixture.api.callIn({ provider_id: 'nobody' }, keyed(key))).status).toBe(404);
  expect((await fixture.api.callIn({ reason: 'x'.repeat(51) }, keyed(key))).status).toBe(400);
  expect((await countRows(fixture.owner)).idempotency_keys).toBe(before.idempotency_keys);
  const accepted = await fixture.api.callIn({}, keyed(key));
  expect([accepted.status, replayed(accepted)]).toStrictEqual([200, null]);
  const again = await fixture.api.callIn({}, keyed(key));
  expect([again.status, replayed(again), again.body.job_id]).toStrictEqual([200, 'true', accepted.body.job_id]);
  const other = randomUUID();
  expect((await hook(other, 'http://10.0.0.1/')).status).toBe(400);
  const corrected = await hook(other, 'http://127.0.0.1:9/corrected');
  expect([corrected.status, replayed(corrected)]).toStrictEqual([200, null]);
});

test(row('DEC-325'), async () => {
  const client_only = { access_token: null };
  const link = { user_id: 'sealed', org_id: fixture.sandbox.org_id };
  await registerUrl(fixture.api, 'http://127.0.0.1:9/oldest');
  for (const [path, body, field] of [
    ['/link/token/create', link, 'token'],
    ['/v1/webhook', { webhook_url: 'http://127.0.0.1:9/sealed' }, 'webhook_secret'],
    ['/v1/webhook/rotate-secret', {}, 'webhook_secret'],
  ] as const) {
    const headers = keyed(randomUUID(), client_only);
    const first = await fixture.api.call('POST', path, { body, headers });
    const secret: string = first.body[field];
    expect(secret.length).toBeGreaterThan(30);
    const rows = await fixture.owner<{ whole: string; response_sealed: Buffer | null }[]>`
      SELECT idempotency_keys::text AS whole, response_sealed FROM idempotency_keys ORDER BY created_at DESC`;
    expect(rows[0]?.response_sealed?.length).toBeGreaterThan(secret.length);
    for (const { whole, response_sealed } of rows) {
      expect(whole).not.toContain(secret);
      expect(response_sealed?.includes(secret) ?? false).toBe(false);
    }
    expect((await fixture.api.call('POST', path, { body, headers })).body[field]).toBe(secret);
  }
});

test(row('DEC-326'), async () => {
  const key = randomUUID();
  const first = await fixture.api.callIn({ reason: 'Once' }, keyed(key));
  expect(first.headers.has('idempotency-replayed')).toBe(false);
  const before = await jobs();
  for (let n = 0; n < 2; n += 1) {
    const again = await fixture.api.callIn({ reason: 'Once' }, keyed(key));
    expect([again.status, again.headers.get('idempotency-replayed')]).toStrictEqual([200, 'true']);
    expect(again.body).toStrictEqual(first.body);
  }
  expect(await jobs()).toBe(before);
});
