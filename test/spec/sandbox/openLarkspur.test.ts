import { beforeAll, expect, test } from 'vitest';
import { expectApiError, newClient } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { signInOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { complete, completeBooking, completeCall, completeUpload, free_day } from '../support/completedJobs.ts';
import { queuedCall } from '../support/queuedCall.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const open = (body: object): Promise<ApiResponse> =>
  fixture.api.call('POST', '/sandbox/larkspur/open', { body, headers: { access_token: null } });

/** Follows a link as a browser does, and returns the page that it opens. */
async function follow(url: string) {
  const signed_in = await fetch(url, { redirect: 'manual' });
  const cookie = signed_in.headers.get('set-cookie')?.split(';')[0] ?? '';
  const path = signed_in.headers.get('refresh')?.replace('0; url=', '') ?? '';
  const page = await fetch(new URL(path, url), { redirect: 'manual', headers: { cookie } });
  return { status: signed_in.status, path, text: await page.text(), shown: page.status };
}

/** The path that a job's link opens, whose page contains the element that the fragment names. */
async function openedPath(job_id: number): Promise<string> {
  const { body, status } = await open({ job_id });
  expect(status, JSON.stringify(body)).toBe(200);
  const { path, text, shown } = await follow(body.url);
  expect(shown).toBe(200);
  const [, anchor] = path.split('#');
  if (anchor !== undefined) expect(text).toContain(`id="${anchor}"`);
  expect(text).toContain('New from API');
  return path;
}

test(row('LKO-01'), async () => {
  const { patient_mrn, provider_id, location_id } = fixture.sandbox.example;
  const called = await completeCall(fixture, { reason: 'Seen at once' });
  const encounter = called.event.data.emr_encounter_id;
  expect(await openedPath(called.accepted.job_id)).toBe(`/patients/10001#encounter-${encounter}`);
  const action = { emr_appointment_id: encounter, text: 'Called back.' };
  const acted = await complete(fixture, '/v1/telephone-encounters/actions', action);
  expect(await openedPath(acted.accepted.job_id)).toBe(`/patients/10001#encounter-${encounter}`);
  const booked = await completeBooking(fixture, { datetime: `${free_day}T15:00:00-04:00`, provider: provider_id });
  expect(await openedPath(booked.accepted.job_id)).toMatch(
    new RegExp(`^/schedule\\?date=${free_day}#appointment-\\d+$`),
  );
  await completeUpload(fixture);
  // The response to an upload has no job_id.
  const [upload] = (await fixture.api.call('GET', '/v1/jobs?type=document.upload')).body.jobs;
  expect(await openedPath(upload.job_id)).toMatch(/^\/patients\/10001#document-\d+$/);
  const paid = await complete(fixture, '/v1/payments', {
    ...{ patient_mrn, payment_method: 'Cash', reference_number: 'O1', location: location_id, amount: 5 },
  });
  expect(await openedPath(paid.accepted.job_id)).toMatch(/^\/patients\/10001#payment-\d+$/);
  const created = await complete(fixture, '/v1/patients', {
    ...{ first_name: 'Opal', last_name: 'Opened', dob: '2001-02-03', sex: 'female' },
  });
  expect(await openedPath(created.accepted.job_id)).toMatch(/^\/patients\/(\d+)#patient-\1$/);
});

test(row('LKO-02'), async () => {
  const { body } = await open({ mrn: fixture.sandbox.example.patient_mrn });
  expect(body).toStrictEqual({ success: true, url: expect.stringContaining(`${fixture.sandbox.larkspur.url}/open/`) });
  // A preview or a link checker does not use it up.
  expect((await fetch(body.url, { method: 'HEAD' })).status).toBe(404);
  const first = await follow(body.url);
  expect([first.status, first.path, first.shown]).toStrictEqual([200, '/patients/10001', 200]);
  expect(first.text).toContain('Testpatient, Ada');
  const again = await follow(body.url);
  expect([again.status, again.path]).toStrictEqual([410, '']);
  const other = (await open({ mrn: fixture.sandbox.example.patient_mrn })).body.url;
  expect((await follow(other.replace(/.{5}$/, 'AAAAA'))).status).toBe(410);
  expect((await follow(other)).status).toBe(200);
});

test(row('LKO-03'), async () => {
  expectApiError(await open({ job_id: 999_999_999 }), 404, "Job with ID '999999999' not found.", 'job_id');
  expectApiError(await open({ mrn: 'LK-nobody' }), 404, 'Patient not found.', 'mrn');
  for (const body of [{}, { mrn: 'LK100001', job_id: 1 }]) {
    expectApiError(await open(body), 400, 'Send either job_id or mrn', 'job_id');
  }
  const waiting = await queuedCall(fixture);
  expectApiError(await open({ job_id: waiting }), 409, /has not finished yet/);
  const added = await complete(fixture, '/v1/referring-providers', {
    ...{ first_name: 'Umber', last_name: 'Opened', npi: '1245319599' },
  });
  expectApiError(await open({ job_id: added.accepted.job_id }), 409, /is not about a patient/);
});

test(row('LKO-04'), async () => {
  const { accepted } = await completeCall(fixture);
  const other = await newClient(fixture);
  for (const body of [{ job_id: accepted.job_id }, { mrn: fixture.sandbox.example.patient_mrn }]) {
    const refused = await other.api.call('POST', '/sandbox/larkspur/open', { body, headers: { access_token: null } });
    expectApiError(refused, 403, /Only the client in sandbox.json/);
  }
  const operator = await signInOperator(fixture);
  const { client_id } = fixture.sandbox;
  const opened = await operator.post('sandbox/open', { client_id, job_id: accepted.job_id });
  expect((await follow(opened.body.url)).path).toMatch(/^\/patients\/10001#encounter-\d+$/);
  const refused = await operator.post('sandbox/open', { client_id: other.client_id, job_id: accepted.job_id });
  expect([refused.status, refused.body.code]).toStrictEqual([403, 'sandbox_client_required']);
  const [record] = await fixture.owner<{ job_id: number; patients: number }[]>`
    SELECT job_id::int, cardinality(patients) AS patients FROM audit_records
     WHERE action = 'dashboard.sandbox.open' AND outcome = '200' ORDER BY id DESC LIMIT 1`;
  expect(record).toStrictEqual({ job_id: accepted.job_id, patients: 1 });
});
