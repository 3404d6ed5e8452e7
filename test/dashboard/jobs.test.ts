import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JobRow } from '../../web/dashboard/service/api.gen.ts';
import { newClient } from '../api/support.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { endPauses, patient, pauseAfterFailure, setFault, until } from '../journeys/support.ts';
import { finishedCall, lostCall, rejectedCall } from './finishedCalls.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const list = async (query = '') => (await operator.get(`clients/{client}/jobs${query}`)).body;
const search = async (body: object) => (await operator.post('clients/{client}/jobs/search', body)).body;
const ids = (page: { rows: JobRow[] }) => page.rows.map(({ job_id }) => job_id);
const getJob = async (job_id: number) => (await operator.get(`clients/{client}/jobs/${job_id}`)).body.job;

describe('the jobs list', () => {
  test('is paginated, newest first, and contains no patient data', async () => {
    const created: number[] = [];
    for (let n = 0; n < 3; n += 1) created.push((await finishedCall(fixture, { reason: `list ${n}` })).job_id);
    const first = await list('?type=telephone_encounter.create&page_size=2');
    expect(ids(first)).toStrictEqual([created[2], created[1]]);
    expect(first.rows[0]).toMatchObject({
      type: 'telephone_encounter.create',
      state: 'succeeded',
      attempts: 1,
      account: { user_id: fixture.sandbox.user_id, org_id: fixture.sandbox.org_id },
      error_code: null,
      run_again_of: null,
    });
    expect((await getJob(first.rows[0].job_id)).account).toStrictEqual(first.rows[0].account);
    const second = await list(`?type=telephone_encounter.create&page_size=2&before=${first.next}`);
    expect(ids(second)[0]).toBe(created[0]);
    expect(JSON.stringify([first, second])).not.toContain(fixture.sandbox.example.patient_mrn);
  });

  test('shows a job whose attempts fail as retrying, with the failing step, and counts it', async () => {
    await setFault(fixture.api, 'create_telephone_encounter', 'error_500', { times: 99 });
    const { body } = await fixture.api.callIn();
    await pauseAfterFailure(fixture.owner, body.job_id);
    const page = await list('?state=retrying');
    expect(page).toMatchObject({ rows: [{ job_id: body.job_id, state: 'retrying' }], count: { jobs: 1, more: false } });
    const [row] = page.rows;
    expect(row.retrying_since).toBeTypeOf('string');
    // What was sent may have arrived: the step is open, and is looked up.
    expect(row.failing_step).toBe('create_encounter');
    expect(await getJob(body.job_id)).toMatchObject({ state: 'retrying', failing_step: 'create_encounter' });
    const { organization_id, emr } = await getJob(body.job_id);
    for (const query of [`organization_id=${organization_id}`, `emr=${emr.toLowerCase()}`]) {
      expect(ids(await list(`?state=retrying&${query}`)), query).toStrictEqual([body.job_id]);
    }
    for (const query of [`organization_id=${'0'.repeat(32)}`, 'emr=none']) {
      expect((await list(`?state=retrying&${query}`)).count, query).toStrictEqual({ jobs: 0, more: false });
    }
    // Before the first write there is no step.
    await fixture.api.control('DELETE', '/control/faults');
    await endPauses(fixture.owner);
    await fixture.api.untilEvent(body.job_id);
    expect(ids(await list('?state=retrying'))).toStrictEqual([]);
    expect(await getJob(body.job_id)).toMatchObject({ state: 'succeeded', retrying_since: null, failing_step: null });
  });

  test('can be filtered by state, type, account and time', async () => {
    const { job_id } = await rejectedCall(fixture);
    const [row] = (await list('?state=failed')).rows;
    expect(row).toMatchObject({ job_id, state: 'failed', error_code: 'emr_refused' });
    expect(ids(await list('?state=succeeded'))).not.toContain(job_id);
    expect(ids(await list('?type=sync'))).not.toContain(job_id);
    expect(ids(await list(`?account_id=${row.account.id}&state=failed`))).toContain(job_id);
    expect(ids(await list(`?account_id=${'0'.repeat(32)}`))).toStrictEqual([]);
    const at = encodeURIComponent(row.created_at);
    expect(ids(await list(`?from=${at}`))).toContain(job_id);
    expect(ids(await list(`?to=${at}`))).not.toContain(job_id);
    expect(ids(await list('?code=emr_refused&state=unfixed'))).toStrictEqual([job_id]);
    expect(ids(await list('?code=duplicate_patient'))).toStrictEqual([]);
    const finished = encodeURIComponent(row.finished_at);
    expect(ids(await list(`?finished_from=${finished}`))).toStrictEqual([job_id]);
    expect(ids(await list(`?finished_to=${finished}`))).not.toContain(job_id);
    await operator.post(`clients/{client}/jobs/${job_id}/run-again`, {});
    expect(ids(await list('?state=unfixed'))).toStrictEqual([]);
    expect((await operator.get('clients/{client}/jobs?account_id=x')).status).toBe(400);
    expect((await operator.get('clients/{client}/jobs?state=lost')).status).toBe(400);
  });

  test('distinguishes parked from queued jobs', async () => {
    const access_token = await fixture.api.link({ user_id: 'parked-user', staff: 2 });
    await fixture.api.control('POST', '/control/sessions/expire');
    const { body } = await fixture.api.callIn({ patient_mrn: patient(9).mrn }, { access_token });
    await until('the job to be parked', async () => ids(await list('?state=parked')).includes(body.job_id));
    expect(ids(await list('?state=queued'))).not.toContain(body.job_id);
    const job = await getJob(body.job_id);
    expect(job).toMatchObject({ state: 'parked', not_again: 'The job has not finished yet.' });
    expect(job.parked_since).toEqual(expect.any(String));
    expect(job.account_reason).toEqual(expect.any(String));
    await fixture.api.link({ user_id: 'parked-user', staff: 2, access_token });
    await fixture.api.link({ access_token: fixture.sandbox.access_token });
    await until('the job to end', async () => (await getJob(body.job_id)).finished_at);
  });

  test('contains only jobs of the client in the path', async () => {
    const other = await newClient(fixture);
    const [row] = await fixture.owner<{ public_id: string }[]>`SELECT public_id FROM clients WHERE id = ${other.id}`;
    const { job_id } = await finishedCall(fixture);
    expect((await operator.get(`clients/${row?.public_id}/jobs`)).body.rows).toStrictEqual([]);
    expect((await operator.get(`clients/${row?.public_id}/jobs/${job_id}`)).status).toBe(404);
    expect((await operator.post(`clients/${row?.public_id}/jobs/${job_id}/run-again`)).status).toBe(404);
    const review = { outcome: 'done', note: 'x' };
    expect((await operator.post(`clients/${row?.public_id}/jobs/${job_id}/review`, review)).status).toBe(404);
  });
});

describe('the patients of listed jobs', () => {
  const patients = async (job_ids: number[], client = '{client}') =>
    (await operator.post(`clients/${client}/jobs/patients`, { job_ids })).body.patients;

  test('are shown with the failure reason, of the client in the path only, and are in the audit log', async () => {
    const { job_id } = await rejectedCall(fixture, { patient_mrn: 'LK100004' });
    expect(await patients([job_id])).toStrictEqual([
      { job_id, mrn: 'LK100004', message: 'This chart is locked.', reference: null },
    ]);
    const { body } = await operator.get('audit?action=dashboard.jobs.patients');
    expect(body.rows[0]).toMatchObject({ outcome: '200', patients: 1 });
    const other = await newClient(fixture);
    expect(await patients([job_id], other.client_id)).toStrictEqual([]);
  });

  test('are exported as CSV without formulas, and are in the audit log', async () => {
    const { job_id } = await rejectedCall(fixture, { patient_mrn: 'LK100005' });
    const error = JSON.stringify({ code: 'emr_refused', message: ' =HYPERLINK("x")' });
    await fixture.owner`UPDATE jobs SET error = ${error}::text::json WHERE id = ${job_id}`;
    const { body: csv } = await operator.post('clients/{client}/jobs/export.csv', { mrn: 'LK100005', state: 'failed' });
    const [head, line, ...rest] = csv.split('\r\n');
    expect(head).toMatch(/^"job_id","type","state","practice"/);
    expect(line).toMatch(new RegExp(`^"${job_id}","telephone_encounter.create","failed","${fixture.sandbox.org_id}"`));
    expect(line).toMatch(/"emr_refused","' =HYPERLINK\(""x""\)"$/);
    expect(rest).toStrictEqual(['']);
    const { body } = await operator.get('audit?action=dashboard.jobs.export');
    expect(body.rows[0]).toMatchObject({ patients: 1, detail: { jobs: 1, filters: ['state'] } });
  });
});

describe('the jobs of a patient', () => {
  test('are found by the exact MRN for every job type', async () => {
    const { mrn } = patient(21);
    const call = await finishedCall(fixture, { patient_mrn: mrn });
    const event = await fixture.api.untilEvent(call.job_id);
    const emr_appointment_id = event.data.emr_encounter_id;
    const action = await fixture.api.call('POST', '/v1/telephone-encounters/actions', {
      body: { emr_appointment_id, text: 'Called back.' },
    });
    const fetched = await fixture.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn } });
    const unknown = await finishedCall(fixture, { patient_mrn: `${mrn}0` });
    const expected = [fetched.body.job_id, action.body.job_id, call.job_id];
    expect(ids(await search({ mrn }))).toStrictEqual(expected);
    expect(ids(await search({ mrn, type: 'patient.fetch' }))).toStrictEqual([fetched.body.job_id]);
    expect(ids(await search({ mrn: mrn.slice(0, -1) }))).toStrictEqual([]);
    expect(ids(await search({ mrn: `${mrn}0` }))).toStrictEqual([unknown.job_id]);
  });

  test('include the one that created the patient', async () => {
    const body = { first_name: 'Nova', last_name: 'Sought', dob: '2004-02-29', sex: 'female' };
    const created = await fixture.api.call('POST', '/v1/patients', { body });
    const { data } = await fixture.api.untilEvent(created.body.job_id);
    expect(ids(await search({ mrn: data.mrn }))).toStrictEqual([created.body.job_id]);
    expect(await getJob(created.body.job_id)).toMatchObject({ patient_mrn: data.mrn });
  });
});

describe('a job', () => {
  test('includes its steps, request, event and delivery attempts', async () => {
    const receiver = await startReceiver(respondWith(503));
    await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const { job_id, telephone_encounter_id } = await finishedCall(fixture, { reason: 'Cough' });
    const job = await until('a delivery try', async () => {
      const job = await getJob(job_id);
      return job.event.deliveries[0]?.tries.length > 0 && job;
    });
    expect(job).toMatchObject({
      operation_id: telephone_encounter_id,
      emr: 'Larkspur',
      patient_mrn: fixture.sandbox.example.patient_mrn,
      input: { reason: 'Cough' },
      event: { type: 'telephone_encounter.created' },
      event_gone: false,
      runs: [{ job_id, state: 'succeeded' }],
      review: null,
    });
    expect(job.steps.map(({ name, kind }: { name: string; kind: string }) => `${name} ${kind}`)).toStrictEqual([
      ...['started note', 'create_encounter intent', 'create_encounter outcome', 'succeeded note'],
    ]);
    const [delivery] = job.event.deliveries;
    expect(delivery).toMatchObject({ url: receiver.url, status: 'pending' });
    expect(delivery.tries[0]).toMatchObject({ attempt: 1, status_code: 503 });
    await fixture.owner`UPDATE jobs SET event_id = gen_random_uuid() WHERE id = ${job_id}`;
    expect(await getJob(job_id)).toMatchObject({ event: null, event_gone: true });
    await receiver.close();
    await fixture.owner`DELETE FROM webhook_endpoints`;
  });

  test('shows the values in the EMR before and after the change', async () => {
    const { mrn } = patient(30);
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    await setFault(fixture.api, 'update_patient', 'correct_value', {
      ...{ field: 'homePhone', value: '518-555-0199', reason: 'Completed.' },
    });
    const patched = await fixture.api.call('PATCH', `/v1/patients/${body.patients[0].id}`, {
      body: { phone: '518-555-0100' },
    });
    await fixture.api.untilEvent(patched.body.job_id);
    const { changes } = await getJob(patched.body.job_id);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ property: 'phone', before: body.patients[0].phone, after: '518-555-0100' });
    expect(changes[0].note).toContain('518-555-0199');
  });

  test('a job that is waiting shows its next attempt or the job it waits for', async () => {
    await setFault(fixture.api, 'list_patients', 'error_500', { times: 50 });
    const first = (await fixture.api.callIn({ patient_mrn: patient(40).mrn })).body.job_id;
    await until('a failed try', async () => (await getJob(first)).next_try_at);
    const second = (await fixture.api.callIn({ patient_mrn: patient(40).mrn })).body.job_id;
    expect(await getJob(second)).toMatchObject({ state: 'queued', waits_for: first, next_try_at: null });
    await fixture.api.control('DELETE', '/control/faults');
    await fixture.api.untilEvent(second);
  });

  test('a job with an unknown or malformed id returns 404', async () => {
    for (const id of ['999999', 'x', '9'.repeat(30)]) {
      expect((await operator.get(`clients/{client}/jobs/${id}`)).status).toBe(404);
    }
  });

  test('a job with an unknown outcome is listed as unresolved until it is reviewed', async () => {
    const { job_id } = await lostCall(fixture);
    expect(ids(await list('?state=unresolved'))).toContain(job_id);
    const review = { outcome: 'done', note: 'The encounter is in the chart.' };
    expect((await operator.post(`clients/{client}/jobs/${job_id}/review`, review)).status).toBe(200);
    expect(ids(await list('?state=unresolved'))).not.toContain(job_id);
    expect(ids(await list('?state=needs_review'))).toContain(job_id);
    const job = await getJob(job_id);
    expect(job).toMatchObject({
      state: 'needs_review',
      review: { ...review, by: fixture.sandbox.dashboard.email },
      not_again: 'The review found that it was saved in the EMR.',
    });
    expect((await operator.post(`clients/{client}/jobs/${job_id}/review`, review)).status).toBe(409);
    const events = await fixture.owner`SELECT FROM events WHERE job_id = ${job_id}`;
    expect(events).toHaveLength(1);
  });
});
