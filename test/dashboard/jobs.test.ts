import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JobRow } from '../../src/model/dashboard/jobs.ts';
import { newClient } from '../api/support.ts';
import { openOperator, type TestOperator } from '../harness/operator.ts';
import { answering, startReceiver } from '../harness/receiver.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { patient, setFault, until } from '../journeys/journey.ts';
import { endedCall, lostCall, refusedCall } from './badEndings.ts';

let world: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  operator = await openOperator(world);
});
afterAll(() => world.close());
beforeEach(() => world.api.control('DELETE', '/control/faults'));

const list = async (query = '') => (await operator.get(`clients/{client}/jobs${query}`)).body;
const search = async (body: object) => (await operator.post('clients/{client}/jobs/search', body)).body;
const ids = (page: { rows: JobRow[] }) => page.rows.map(({ job_id }) => job_id);
const whole = async (job_id: number) => (await operator.get(`clients/{client}/jobs/${job_id}`)).body.job;

describe('the jobs list', () => {
  test('is paginated, newest first, and contains no patient data', async () => {
    const made: number[] = [];
    for (let n = 0; n < 3; n += 1) made.push((await endedCall(world, { reason: `list ${n}` })).job_id);
    const first = await list('?type=telephone_encounter.create&page_size=2');
    expect(ids(first)).toStrictEqual([made[2], made[1]]);
    expect(first.rows[0]).toMatchObject({
      type: 'telephone_encounter.create',
      state: 'succeeded',
      attempts: 1,
      account: { user_id: world.sandbox.user_id, org_id: world.sandbox.org_id },
      error_code: null,
      run_again_of: null,
    });
    const second = await list(`?type=telephone_encounter.create&page_size=2&before=${first.next}`);
    expect(ids(second)[0]).toBe(made[0]);
    expect(JSON.stringify([first, second])).not.toContain(world.sandbox.example.patient_mrn);
  });

  test('can be filtered by state, type, account and time', async () => {
    const { job_id } = await refusedCall(world);
    const [row] = (await list('?state=failed')).rows;
    expect(row).toMatchObject({ job_id, state: 'failed', error_code: 'refused' });
    expect(ids(await list('?state=succeeded'))).not.toContain(job_id);
    expect(ids(await list('?type=sync'))).not.toContain(job_id);
    expect(ids(await list(`?account_id=${row.account.id}&state=failed`))).toContain(job_id);
    expect(ids(await list(`?account_id=${'0'.repeat(32)}`))).toStrictEqual([]);
    const at = encodeURIComponent(row.created_at);
    expect(ids(await list(`?from=${at}`))).toContain(job_id);
    expect(ids(await list(`?to=${at}`))).not.toContain(job_id);
    expect((await operator.get('clients/{client}/jobs?account_id=x')).status).toBe(400);
    expect((await operator.get('clients/{client}/jobs?state=lost')).status).toBe(400);
  });

  test('distinguishes parked from queued jobs', async () => {
    const access_token = await world.api.link({ user_id: 'parked-user', staff: 2 });
    await world.api.control('POST', '/control/sessions/expire');
    const { body } = await world.api.callIn({ patient_mrn: patient(9).mrn }, { access_token });
    await until('the job to be parked', async () => ids(await list('?state=parked')).includes(body.job_id));
    expect(ids(await list('?state=queued'))).not.toContain(body.job_id);
    const job = await whole(body.job_id);
    expect(job).toMatchObject({ state: 'parked', not_again: 'The job has not finished yet.' });
    expect(job.parked_since).toEqual(expect.any(String));
    expect(job.account_reason).toEqual(expect.any(String));
    await world.api.link({ user_id: 'parked-user', staff: 2, access_token });
    await world.api.link({ access_token: world.sandbox.access_token });
    await until('the job to end', async () => (await whole(body.job_id)).finished_at);
  });

  test('contains only jobs of the client in the path', async () => {
    const other = await newClient(world);
    const [row] = await world.owner<{ public_id: string }[]>`SELECT public_id FROM clients WHERE id = ${other.id}`;
    const { job_id } = await endedCall(world);
    expect((await operator.get(`clients/${row?.public_id}/jobs`)).body.rows).toStrictEqual([]);
    expect((await operator.get(`clients/${row?.public_id}/jobs/${job_id}`)).status).toBe(404);
    expect((await operator.post(`clients/${row?.public_id}/jobs/${job_id}/run-again`)).status).toBe(404);
    const review = { outcome: 'done', note: 'x' };
    expect((await operator.post(`clients/${row?.public_id}/jobs/${job_id}/review`, review)).status).toBe(404);
  });
});

describe('the jobs of a patient', () => {
  test('are found by the exact MRN for every job type', async () => {
    const { mrn } = patient(21);
    const call = await endedCall(world, { patient_mrn: mrn });
    const event = await world.api.untilEvent(call.job_id);
    const emr_appointment_id = event.data.emr_encounter_id;
    const action = await world.api.call('POST', '/v1/telephone-encounters/actions', {
      body: { emr_appointment_id, text: 'Called back.' },
    });
    const fetched = await world.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn } });
    const unknown = await endedCall(world, { patient_mrn: `${mrn}0` });
    const wanted = [fetched.body.job_id, action.body.job_id, call.job_id];
    expect(ids(await search({ mrn }))).toStrictEqual(wanted);
    expect(ids(await search({ mrn, type: 'patient.fetch' }))).toStrictEqual([fetched.body.job_id]);
    expect(ids(await search({ mrn: mrn.slice(0, -1) }))).toStrictEqual([]);
    expect(ids(await search({ mrn: `${mrn}0` }))).toStrictEqual([unknown.job_id]);
  });

  test('include the one that created the patient', async () => {
    const body = { first_name: 'Nova', last_name: 'Sought', dob: '2004-02-29', sex: 'female' };
    const made = await world.api.call('POST', '/v1/patients', { body });
    const { data } = await world.api.untilEvent(made.body.job_id);
    expect(ids(await search({ mrn: data.mrn }))).toStrictEqual([made.body.job_id]);
    expect(await whole(made.body.job_id)).toMatchObject({ patient_mrn: data.mrn });
  });
});

describe('a job', () => {
  test('includes its steps, request, event and delivery attempts', async () => {
    const receiver = await startReceiver(answering(503));
    await world.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const { job_id, telephone_encounter_id } = await endedCall(world, { reason: 'Cough' });
    const job = await until('a delivery try', async () => {
      const shown = await whole(job_id);
      return shown.event.deliveries[0]?.tries.length > 0 && shown;
    });
    expect(job).toMatchObject({
      operation_id: telephone_encounter_id,
      emr: 'Larkspur',
      patient_mrn: world.sandbox.example.patient_mrn,
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
    await world.owner`UPDATE jobs SET event_id = gen_random_uuid() WHERE id = ${job_id}`;
    expect(await whole(job_id)).toMatchObject({ event: null, event_gone: true });
    await receiver.close();
    await world.owner`DELETE FROM webhook_endpoints`;
  });

  test('shows the values in the EMR before and after the change', async () => {
    const { mrn } = patient(30);
    const { body } = await world.api.call('GET', `/v1/patients?mrn=${mrn}`);
    await setFault(world.api, 'update_patient', 'correct_value', {
      ...{ field: 'homePhone', value: '518-555-0199', reason: 'Completed.' },
    });
    const patched = await world.api.call('PATCH', `/v1/patients/${body.patients[0].id}`, {
      body: { phone: '518-555-0100' },
    });
    await world.api.untilEvent(patched.body.job_id);
    const { changes } = await whole(patched.body.job_id);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ property: 'phone', before: body.patients[0].phone, after: '518-555-0100' });
    expect(changes[0].note).toContain('518-555-0199');
  });

  test('that is waiting shows its next attempt or the job it waits for', async () => {
    await setFault(world.api, 'list_patients', 'error_500', { times: 50 });
    const first = (await world.api.callIn({ patient_mrn: patient(40).mrn })).body.job_id;
    await until('a failed try', async () => (await whole(first)).next_try_at);
    const second = (await world.api.callIn({ patient_mrn: patient(40).mrn })).body.job_id;
    expect(await whole(second)).toMatchObject({ state: 'queued', waits_for: first, next_try_at: null });
    await world.api.control('DELETE', '/control/faults');
    await world.api.untilEvent(second);
  });

  test('with an unknown or malformed id returns 404', async () => {
    for (const id of ['999999', 'x', '9'.repeat(30)]) {
      expect((await operator.get(`clients/{client}/jobs/${id}`)).status).toBe(404);
    }
  });

  test('with an unknown outcome is listed as unresolved until it is reviewed', async () => {
    const { job_id } = await lostCall(world);
    expect(ids(await list('?state=unresolved'))).toContain(job_id);
    const review = { outcome: 'done', note: 'The encounter is in the chart.' };
    expect((await operator.post(`clients/{client}/jobs/${job_id}/review`, review)).status).toBe(200);
    expect(ids(await list('?state=unresolved'))).not.toContain(job_id);
    expect(ids(await list('?state=needs_review'))).toContain(job_id);
    const job = await whole(job_id);
    expect(job).toMatchObject({
      state: 'needs_review',
      review: { ...review, by: world.sandbox.dashboard.email },
      not_again: 'The review found that it was saved in the EMR.',
    });
    expect((await operator.post(`clients/{client}/jobs/${job_id}/review`, review)).status).toBe(409);
    const events = await world.owner`SELECT FROM events WHERE job_id = ${job_id}`;
    expect(events).toHaveLength(1);
  });
});
