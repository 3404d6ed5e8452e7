import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newClient } from '../../api/support.ts';
import { finishedCall, rejectedCall } from '../../dashboard/finishedCalls.ts';
import { newOperator, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { createMarker, patient, setFault } from '../../journeys/support.ts';
import { newPerson } from '../patients/charts.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

type Sent = { request?: Record<string, unknown>; key?: string; send_saved_again?: boolean };
const path = (job_id: number) => `clients/{client}/jobs/${job_id}/edit`;
const getJob = async (job_id: number) => (await operator.get(`clients/{client}/jobs/${job_id}`)).body.job;
const getForm = async (job_id: number) => (await operator.get(path(job_id))).body.form;
const listUnfixed = async () => {
  const { body } = await operator.get('clients/{client}/jobs?state=unfixed&page_size=200');
  return body.rows.map((each: { job_id: number }) => each.job_id);
};
const applied = async (marker: string) =>
  (await fixture.api.ledger()).filter((entry) => entry.marker === marker && entry.applied);

/** The request of a job as the page sends it: the fields with a value. */
async function readRequest(job_id: number): Promise<Record<string, unknown>> {
  const { fields } = await getForm(job_id);
  const sent = fields.filter(({ value }: { value: unknown }) => value !== null);
  return Object.fromEntries(sent.map(({ name, value }: { name: string; value: unknown }) => [name, value]));
}

async function edit(job_id: number, { request, key = randomUUID(), ...rest }: Sent = {}, by = operator) {
  return by.post(path(job_id), { request: request ?? (await readRequest(job_id)), key, ...rest });
}

async function expectRefused(job_id: number, reason: RegExp): Promise<void> {
  expect((await getJob(job_id)).not_editable).toMatch(reason);
  for (const response of [
    await operator.get(path(job_id)),
    await operator.post(path(job_id), { request: {}, key: randomUUID() }),
    await operator.post(`${path(job_id)}/dry-run`, { request: {} }),
  ]) {
    expect(response).toMatchObject({ status: 409, body: { code: 'job_not_editable' } });
    expect(response.body.message).toMatch(reason);
  }
}

const unknownMedication = (fields = {}) =>
  finishedCall(fixture, { refill_medication_name: 'Unobtainium', reference: 'call-7', ...fields });

test(row('EDT-01'), async () => {
  const failed = await unknownMedication();
  const form = await getForm(failed.job_id);
  const field = (name: string) => form.fields.find((each: { name: string }) => each.name === name);
  const [listed] = field('refill_medication_name').accepted;
  expect(listed).toBeTypeOf('string');
  expect(field('provider_id')).toMatchObject({ required: true, searchable: true, value: '501' });
  expect(field('provider_id').names[0].label).toMatch(/\w/);
  expect(form.fields.map(({ description }: { description: string }) => description).join()).not.toContain('/v1/');
  const choices = await operator.post(`${path(failed.job_id)}/choices`, { field: 'provider_id', search: '501' });
  expect(choices.body.choices).toContainEqual(field('provider_id').names[0]);
  expect(await listUnfixed()).toContain(failed.job_id);

  const request = { ...(await readRequest(failed.job_id)), refill_medication_name: listed };
  const dry = await operator.post(`${path(failed.job_id)}/dry-run`, { request });
  expect(dry.body.result).toMatchObject({ dry_run: true, would: [{ action: 'create' }, { action: 'create' }] });
  const { status, body } = await edit(failed.job_id, { request });
  expect(status, JSON.stringify(body)).toBe(200);
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event).toMatchObject({ event_type: 'telephone_encounter.created', reference: 'call-7' });
  const new_id = event.data.telephone_encounter_id;
  expect(new_id).not.toBe(failed.telephone_encounter_id);
  expect(await applied(createMarker(new_id))).toHaveLength(1);
  expect(await applied(createMarker(failed.telephone_encounter_id))).toHaveLength(0);

  // Both jobs say so, to operators and to the application.
  expect(await getJob(body.job_id)).toMatchObject({ edited_from_job_id: failed.job_id, state: 'succeeded' });
  const old = await getJob(failed.job_id);
  expect(old).toMatchObject({ state: 'failed', edited_copy: { job_id: body.job_id, state: 'succeeded' } });
  expect(await fixture.api.job(failed.job_id)).toMatchObject({
    edited_copy_job_id: body.job_id,
    edited_from_job_id: null,
  });
  expect((await fixture.api.job(body.job_id)).edited_from_job_id).toBe(failed.job_id);
  expect(await listUnfixed()).not.toContain(failed.job_id);
  await expectRefused(failed.job_id, new RegExp(`edited and sent again as job ${body.job_id}`));
  expect(old.not_again).toMatch(/edited and sent again/);
  await expectRefused(body.job_id, /succeeded/);

  // The audit log has the names of the changed fields, and no value of them.
  const [audited] = await fixture.owner<{ detail: unknown; job_id: number; actor: string }[]>`
    SELECT detail, job_id, actor FROM audit_records WHERE action = 'dashboard.jobs.edit.create' AND outcome = '200'
     ORDER BY id DESC LIMIT 1`;
  expect(audited).toMatchObject({
    job_id: failed.job_id,
    detail: { edited_from_job_id: failed.job_id, changed: ['refill_medication_name'] },
  });
  expect(JSON.stringify(audited?.detail)).not.toContain(listed);
});

describe('an edited request', () => {
  test('is accepted once if it is sent twice, or by several operators, at the same time', async () => {
    const { job_id } = await rejectedCall(fixture);
    const request = { ...(await readRequest(job_id)), reason: 'Again' };
    const key = randomUUID();
    const same = await Promise.all([1, 2, 3].map(() => edit(job_id, { request, key })));
    expect(same.map(({ status }) => status)).toStrictEqual([200, 200, 200]);
    const [sent] = same.map(({ body }) => body.job_id);
    expect(same.map(({ body }) => body.job_id)).toStrictEqual([sent, sent, sent]);
    // The same key with other content, and another operator's form, are not sent.
    const refused = [
      await edit(job_id, { request: { ...request, reason: 'Other' }, key }),
      await edit(job_id, { request }),
    ];
    for (const { status, body } of refused) expect([status, body.code]).toStrictEqual([409, 'job_not_editable']);
    await fixture.api.untilEvent(sent);

    const other = await rejectedCall(fixture);
    const of_other = await readRequest(other.job_id);
    const races = await Promise.all([
      ...[1, 2, 3].map(() => edit(other.job_id, { request: of_other })),
      operator.post(`clients/{client}/jobs/${other.job_id}/run-again`),
    ]);
    expect(races.map(({ status }) => status).sort()).toStrictEqual([200, 409, 409, 409]);
    const copies =
      await fixture.owner`SELECT id FROM operations WHERE edited_from_job_id IN (${job_id}, ${other.job_id})`;
    const runs = await fixture.owner`SELECT id FROM jobs WHERE run_again_of = ${other.job_id}`;
    expect(copies.length + runs.length).toBe(2);
    // They would use up the fault of the next test.
    await expect.poll(() => fixture.owner`SELECT FROM jobs WHERE finished_at IS NULL`).toHaveLength(0);
  });

  test('is checked like one of the application, field by field, and not stored if it is rejected', async () => {
    const { job_id } = await rejectedCall(fixture);
    const request = await readRequest(job_id);
    const { provider_id: _left_out, ...incomplete } = request;
    const cases: [Record<string, unknown>, object][] = [
      [incomplete, { status: 400, body: { code: 'missing_field', field: 'provider_id' } }],
      [
        { ...request, provider_id: '999' },
        { status: 404, body: { code: 'provider_not_found', field: 'provider_id' } },
      ],
      [
        { ...request, reason: 'x'.repeat(51) },
        { status: 400, body: { code: 'invalid_field', field: 'reason' } },
      ],
      [
        { ...request, resolved: true, job_id: 1 },
        { status: 400, body: { code: 'unexpected_fields' } },
      ],
      // The application would take the event for that of another request.
      [
        { ...request, reference: 'of-another-call' },
        { status: 400, body: { code: 'unexpected_fields', field: 'reference' } },
      ],
    ];
    const countWrites = () => fixture.owner`SELECT id FROM operations WHERE type <> 'sync'`;
    const before = await countWrites();
    for (const [sent, expected] of cases) expect(await edit(job_id, { request: sent })).toMatchObject(expected);
    expect(await countWrites()).toHaveLength(before.length);
    const body = { request, key: randomUUID(), client_id: 'other', account_id: 'other' };
    expect((await operator.post(path(job_id), body)).body.code).toBe('unexpected_fields');
    expect(await getJob(job_id)).toMatchObject({ edited_copy: null, not_editable: null });
  });

  test('has free times to choose from, whatever its duration is', async () => {
    await setFault(fixture.api, 'create_appointment', 'refuse', { reason: 'The desk is closed.' });
    const { location_id: location, provider_id: provider } = fixture.sandbox.example;
    const datetime = `${new Date().getUTCFullYear() + 2}-07-09T10:00:00-04:00`;
    const booking = { mrn: patient(2).mrn, location, provider, type: 'FU', datetime };
    const { body } = await fixture.api.call('POST', '/v1/appointments', { body: booking });
    await fixture.api.untilEvent(body.job_id);
    for (const duration of ['20', '30.5', 'half an hour', '-1', '']) {
      const sent = { field: 'datetime', request: { ...booking, duration } };
      const response = await operator.post(`${path(body.job_id)}/choices`, sent);
      expect(response.status, duration).toBe(200);
      expect(response.body.choices.length, duration).toBeGreaterThan(0);
    }
    for (const datetime of ['9999-12-31T10:00', '2026-02-30', 'tomorrow']) {
      const sent = { field: 'datetime', request: { ...booking, datetime } };
      expect((await operator.post(`${path(body.job_id)}/choices`, sent)).status, datetime).toBe(200);
    }
  });

  test('is sent only after a confirmation if a part of the old one is saved', async () => {
    await setFault(fixture.api, 'add_refill', 'refill_fails', { reason: 'Not by telephone.' });
    const partial = await finishedCall(fixture, { refill_medication_name: 'Lisinopril' });
    expect((await getForm(partial.job_id)).saved_steps).toStrictEqual(['create_encounter']);
    const refused = await edit(partial.job_id);
    expect(refused).toMatchObject({ status: 409, body: { code: 'job_not_editable' } });
    expect(refused.body.message).toMatch(/create encounter\. Confirm/);
    const { body } = await edit(partial.job_id, { send_saved_again: true });
    expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.created');
  });

  test('is run again in place of its job if it is canceled', async () => {
    const { job_id } = await rejectedCall(fixture);
    // A failure after which the same request can succeed, and which has one reason.
    await fixture.owner`UPDATE jobs SET error = jsonb_set(error::jsonb, '{code}', '"internal"') WHERE id = ${job_id}`;
    const listRepeatable = async () =>
      (await operator.get('clients/{client}/overview/repeatable?code=internal')).body.job_ids;
    expect(await listRepeatable()).toContain(job_id);
    const copy = await withJobsPaused(fixture, async () => {
      const { body } = await edit(job_id);
      expect((await operator.post(`clients/{client}/jobs/${body.job_id}/cancel`)).status).toBe(200);
      return body.job_id;
    });
    expect(await listUnfixed()).toContain(job_id);
    expect(await listRepeatable()).not.toContain(job_id);
    expect((await operator.post(`clients/{client}/jobs/${job_id}/run-again`)).status).toBe(409);
    expect((await operator.post(`clients/{client}/jobs/${copy}/run-again`)).status).toBe(200);
  });

  test('is listed in place of its job if it fails, and is edited in turn', async () => {
    const { job_id } = await unknownMedication();
    const copy = (await edit(job_id)).body.job_id;
    await fixture.api.untilEvent(copy);
    const unfixed = await listUnfixed();
    expect([unfixed.includes(job_id), unfixed.includes(copy)]).toStrictEqual([false, true]);
    const { refill_medication_name: _none, ...request } = await readRequest(copy);
    const second = (await edit(copy, { request })).body.job_id;
    expect((await fixture.api.untilEvent(second)).event_type).toBe('telephone_encounter.created');
    expect(await listUnfixed()).not.toContain(copy);
  });
});

test(row('EDT-02'), async () => {
  const person = newPerson();
  const create = () => fixture.api.call('POST', '/v1/patients', { body: person });
  await fixture.api.untilEvent((await create()).body.job_id);
  const failed = await create();
  const { data } = await fixture.api.untilEvent(failed.body.job_id);
  const { existing_patient } = await getJob(failed.body.job_id);
  expect(existing_patient).toMatchObject({ mrn: data.duplicate_patient_mrn });
  const form = await getForm(failed.body.job_id);
  expect(form.existing_patient).toStrictEqual(existing_patient);
  const sex = form.fields.find(({ name }: { name: string }) => name === 'sex');
  expect(sex.choices).toContainEqual({ value: 'female', label: 'Female' });
  const request = { ...(await readRequest(failed.body.job_id)), first_name: 'Another', dob: '1991-05-02' };
  const { body } = await edit(failed.body.job_id, { request });
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('patient.created');
  const patch = await fixture.api.call('PATCH', `/v1/patients/${failed.body.patient_id}`, {
    body: { dob: '1991-05-02' },
  });
  expect(patch).toMatchObject({ status: 409, body: { code: 'edited_copy_exists' } });
  expect(patch.body.message).toContain(`as job ${body.job_id}. Use what that job creates instead.`);

  const second = await create();
  await fixture.api.untilEvent(second.body.job_id);
  const canceled = await withJobsPaused(fixture, async () => {
    const sent = { ...(await readRequest(second.body.job_id)), first_name: 'Third', dob: '1992-06-03' };
    const copy = (await edit(second.body.job_id, { request: sent })).body.job_id;
    await operator.post(`clients/{client}/jobs/${copy}/cancel`);
    return copy;
  });
  const again = await fixture.api.call('PATCH', `/v1/patients/${second.body.patient_id}`, {
    body: { dob: '1992-06-03' },
  });
  expect(again).toMatchObject({ status: 409, body: { code: 'edited_copy_exists' } });
  expect(again.body.message).toContain(`as job ${canceled}. That job was canceled: send a new request.`);
  // A canceled copy can be edited in turn. Then that is what counts.
  const third = { ...(await readRequest(canceled)), first_name: 'Fourth', dob: '1993-07-04' };
  const last = (await edit(canceled, { request: third })).body.job_id;
  expect((await fixture.api.untilEvent(last)).event_type).toBe('patient.created');
  const late = await fixture.api.call('PATCH', `/v1/patients/${second.body.patient_id}`, {
    body: { dob: '1992-06-03' },
  });
  expect(late.body.message).toContain(`as job ${last}. Use what that job creates instead.`);
});

describe('editing is refused', () => {
  test('for a job that is not finished, whose account is unlinked, and whose request or patient was deleted', async () => {
    await withJobsPaused(fixture, async () => {
      const waiting = (await fixture.api.callIn()).body;
      await expectRefused(waiting.job_id, /not finished/);
      return waiting.job_id;
    }).then((job_id) => fixture.api.untilEvent(job_id));
    const { job_id } = await rejectedCall(fixture);
    await fixture.owner`UPDATE accounts SET status = 'revoked'`;
    await expectRefused(job_id, /unlinked/);
    await fixture.owner`UPDATE accounts SET status = 'login_required'`;
    await expectRefused(job_id, /re-linked/);
    await fixture.owner`UPDATE accounts SET status = 'active'`;
    const operation = fixture.owner`(SELECT operation_id FROM jobs WHERE id = ${job_id})`;
    await fixture.owner`UPDATE operations SET input = '{}', input_deleted_at = now() WHERE id = ${operation}`;
    await expectRefused(job_id, /deleted after the retention period/);
    // An erased patient's operations are deleted, with their jobs.
    await fixture.owner`DELETE FROM operations WHERE id = ${operation}`;
    expect((await operator.get(path(job_id))).status).toBe(404);
    expect((await operator.post(path(job_id), { request: {}, key: randomUUID() })).status).toBe(404);
  });

  test('for a job of a restored backup until it was run again, because it may have been carried out', async () => {
    const { job_id } = await rejectedCall(fixture);
    await fixture.owner`INSERT INTO restores (backup_at, unfinished_jobs, last_job_id, last_step)
      VALUES (now(), 0, ${job_id}, (SELECT max(n) FROM job_steps))`;
    await expectRefused(job_id, /restored from a backup/);
    await setFault(fixture.api, 'create_telephone_encounter', 'refuse', { reason: 'This chart is locked.' });
    const { body } = await operator.post(`clients/{client}/jobs/${job_id}/run-again`);
    await fixture.api.untilEvent(body.job_id);
    expect((await edit(body.job_id)).status).toBe(200);
    await fixture.owner`DELETE FROM restores`;
  });

  test('an update of an insurance that a later one has replaced is not editable', async () => {
    const change = (group_id: string) =>
      fixture.api.call('PATCH', `/v1/patients/${patient(1).mrn}/insurances/85001`, { body: { group_id } });
    await setFault(fixture.api, 'update_patient_insurance', 'refuse', { reason: 'The plan has ended.' });
    const { job_id } = (await change('EARLIER')).body;
    await fixture.api.untilEvent(job_id);
    expect((await getJob(job_id)).not_editable).toBe(null);
    const later = await fixture.api.untilEvent((await change('LATER')).body.job_id);
    expect(later.event_type).toBe('patient.insurance.updated');
    await expectRefused(job_id, /would undo/);
  });

  test('a copy fails if a later update was being accepted when it was sent', async () => {
    const change = (group_id: string) =>
      fixture.api.call('PATCH', `/v1/patients/${patient(1).mrn}/insurances/85001`, { body: { group_id } });
    await setFault(fixture.api, 'update_patient_insurance', 'refuse', { reason: 'The plan has ended.' });
    const { job_id } = (await change('EARLIER')).body;
    await fixture.api.untilEvent(job_id);
    const copy = await withJobsPaused(fixture, async () => {
      const later = (await change('LATER')).body.job_id;
      // Nobody sees the update until it is committed.
      const setPatient = (
        mrn: string,
      ) => fixture.owner`UPDATE operations SET input = jsonb_set(input::jsonb, '{patient_mrn}', to_jsonb(${mrn}::text))
        WHERE id = (SELECT operation_id FROM jobs WHERE id = ${later})`;
      await setPatient('not-committed');
      const { body } = await edit(job_id);
      await setPatient(patient(1).mrn);
      return body.job_id;
    });
    const event = await fixture.api.untilEvent(copy);
    expect(event).toMatchObject({
      event_type: 'patient.insurance.failed',
      data: { error: expect.stringContaining('would undo it') },
    });
    await expectRefused(copy, /would undo/);
    const run_again = await operator.post(`clients/{client}/jobs/${copy}/run-again`);
    expect(run_again).toMatchObject({ status: 409, body: { code: 'job_not_repeatable' } });
  });

  test('for roles that may not change anything, and for jobs of other clients', async () => {
    const { job_id } = await rejectedCall(fixture);
    const request = await readRequest(job_id);
    for (const role of ['support', 'read_only'] as const) {
      const other = await newOperator(fixture, role);
      expect((await other.get(path(job_id))).status).toBe(403);
      expect((await edit(job_id, { request }, other)).status).toBe(403);
      expect((await other.post(`${path(job_id)}/dry-run`, { request })).status).toBe(403);
      expect((await other.post(`${path(job_id)}/choices`, { field: 'provider_id' })).status).toBe(403);
    }
    const { client_id } = await newClient(fixture);
    const foreign = `clients/${client_id}/jobs/${job_id}/edit`;
    expect((await operator.get(foreign)).status).toBe(404);
    expect((await operator.post(foreign, { request, key: randomUUID() })).status).toBe(404);
    expect((await operator.post(`${foreign}/dry-run`, { request })).status).toBe(404);
    expect((await operator.post(`${path(99_999_999)}`, { request, key: randomUUID() })).status).toBe(404);
    expect(await getJob(job_id)).toMatchObject({ edited_copy: null });
  });
});
