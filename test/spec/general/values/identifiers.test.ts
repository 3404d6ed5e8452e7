import { beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../../harness/api.ts';
import { row } from '../../../harness/row.ts';
import type { TestSandbox } from '../../../harness/sandbox.ts';
import { sharedSandbox } from '../../../harness/sharedSandbox.ts';
import { findAppointmentId } from '../../support/appointments.ts';
import { sendDocument } from '../../support/sendDocument.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
/** Some writes in the order of acceptance, and their events. */
let accepted: { id: string; job_id: number }[];
let events: Body[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  const call = (await fixture.api.callIn()).body;
  const visit = await fixture.api.call('POST', '/v1/appointments', {
    body: { mrn, location, provider, type: 'FU', datetime },
  });
  const event_of_call = await fixture.api.untilEvent(call.job_id);
  const { emr_encounter_id } = event_of_call.data;
  const action = await fixture.api.call('POST', '/v1/telephone-encounters/actions', {
    body: { emr_appointment_id: emr_encounter_id, text: 'Called back.' },
  });
  accepted = [
    { id: call.telephone_encounter_id, job_id: call.job_id },
    { id: visit.body.appointment_id, job_id: visit.body.job_id },
    { id: action.body.action_id, job_id: action.body.job_id },
  ];
  events = [
    event_of_call,
    await fixture.api.untilEvent(visit.body.job_id),
    await fixture.api.untilEvent(action.body.job_id),
  ];
});

/** A UUID v7: 48 bits of time, then version and variant. */
const record_id = /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/;
const lists = ['providers', 'locations', 'staff', 'pharmacies', 'patients', 'claims', 'insurance-providers'];
const listed = async (list: string): Promise<Body[]> =>
  (await fixture.api.call('GET', `/v1/${list}`)).body[list.replaceAll('-', '_')];

test(row('DEC-001'), async () => {
  for (const list of [...lists, 'referring-providers']) {
    const records = await listed(list);
    expect(records.length, list).toBeGreaterThan(0);
    for (const { id } of records) expect(id, list).toMatch(record_id);
  }
  const stored = await findAppointmentId(fixture, fixture.api);
  const { appointment } = (await fixture.api.call('GET', `/v1/appointments/${stored}`)).body;
  expect(appointment.id).toMatch(record_id);
  for (const { id } of [...accepted, ...events]) expect(id).toMatch(record_id);
  expect((await sendDocument(fixture)).body.document_id).toMatch(record_id);
  const { body } = await fixture.api.call('PATCH', '/v1/providers/ehr/501', { body: { status: 'active' } });
  expect(body.provider_id).toMatch(record_id);
});

test(row('DEC-002'), async () => {
  const ids: string[] = accepted.map(({ id }) => id);
  const before = Date.now();
  for (let n = 0; n < 5; n += 1) ids.push((await fixture.api.callIn()).body.telephone_encounter_id);
  expect([...ids].sort()).toStrictEqual(ids);
  const last = Number.parseInt(ids.at(-1)?.slice(0, 12) ?? '', 16);
  expect(last).toBeGreaterThanOrEqual(before);
  expect(last).toBeLessThanOrEqual(Date.now());
  // A record added later sorts after all earlier ones.
  const patients = (await fixture.api.call('GET', '/v1/patients?page_size=1000')).body.patients;
  await fixture.api.control('POST', '/control/patients', { firstName: 'Nova', lastName: 'Latecomer' });
  await fixture.api.sync();
  const [added] = (await fixture.api.call('GET', '/v1/patients?last_name=latecomer')).body.patients;
  for (const { id } of patients) expect(id < added.id).toBe(true);
});

test(row('DEC-003'), async () => {
  const fetched = await fixture.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn: 'x' } });
  const synced = await fixture.api.call('POST', '/v1/sync');
  const { job } = (await fixture.api.call('GET', `/v1/jobs/${accepted[0]?.job_id}`)).body;
  const jobs = [...accepted, fetched.body, synced.body, job];
  for (const { job_id } of jobs) expect(Number.isSafeInteger(job_id), `${job_id}`).toBe(true);
  expect(job.job_id).toBe(accepted[0]?.job_id);
});

test(row('DEC-004'), () => {
  expect(events.map(({ job_id }) => job_id)).toStrictEqual(accepted.map(({ job_id }) => `${job_id}`));
});

test(row('DEC-018'), async () => {
  const { access_token_reference_id: reference, access_token } = fixture.sandbox;
  expect(reference).toMatch(/^at_ref_\w+$/);
  const read = async (headers = {}) =>
    (await fixture.api.call('GET', '/v1/settings', { headers })).body.data.access_token_reference_id;
  expect(await read()).toBe(reference);
  for (const event of events) expect(event.access_token_reference_id).toBe(reference);
  await fixture.api.link({ access_token });
  expect(await read()).toBe(reference);
  const colleague = await fixture.api.link({ user_id: 'referenced', staff: 1 });
  const theirs = await read({ access_token: colleague });
  expect(theirs).toMatch(/^at_ref_\w+$/);
  expect(theirs).not.toBe(reference);
  expect(await fixture.api.link({ user_id: 'referenced', staff: 1 })).toBe(colleague);
  expect(await read({ access_token: colleague })).toBe(theirs);
});

test(row('DEC-019'), async () => {
  const body = { webhook_url: 'http://127.0.0.1:9/form' };
  const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', { body })).body;
  expect(webhook_id).toMatch(/^wh_\w+$/);
  const { webhook_urls } = (await fixture.api.call('GET', '/v1/webhook')).body;
  expect(webhook_urls.find(({ url }: Body) => url === body.webhook_url).id).toBe(webhook_id);
});

test(row('DEC-020'), async () => {
  const body = { webhook_url: 'http://127.0.0.1:9/secret' };
  const created = (await fixture.api.call('POST', '/v1/webhook', { body })).body;
  const path = `/v1/webhook/${created.webhook_id}/rotate-secret`;
  const rotated = (await fixture.api.call('POST', path, { body: {} })).body;
  const secrets = [created.webhook_secret, rotated.webhook_secret];
  expect(new Set(secrets).size).toBe(2);
  for (const secret of secrets) {
    const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]{43}=)$/.exec(secret) ?? [];
    expect(Buffer.from(encoded, 'base64')).toHaveLength(32);
  }
});

test(row('DEC-021'), async () => {
  for (const { id, event_id } of events) {
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(event_id).toBe(id);
  }
  expect(new Set(events.map(({ id }) => id)).size).toBe(3);
});
