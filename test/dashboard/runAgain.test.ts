import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { documents } from '../harness/documents.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { gate, withGate } from '../journeys/gate.ts';
import { createMarker, patient, setFault, until, untilFinished } from '../journeys/support.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { finishedCall, lostCall, rejectedCall } from './finishedCalls.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const again = (job_id: number) => operator.post(`clients/{client}/jobs/${job_id}/run-again`);
const review = (job_id: number, outcome: string) =>
  operator.post(`clients/{client}/jobs/${job_id}/review`, { outcome, note: 'Checked the chart.' });
const getJob = async (job_id: number) => (await operator.get(`clients/{client}/jobs/${job_id}`)).body.job;
const applied = async (marker: string) =>
  (await fixture.api.ledger()).filter((entry) => entry.marker === marker && entry.applied);

async function expectBlocked(job_id: number, reason: RegExp): Promise<void> {
  expect((await getJob(job_id)).not_again).toMatch(reason);
  const response = await again(job_id);
  expect(response).toMatchObject({ status: 409, body: { code: 'job_not_repeatable' } });
  expect(response.body.message).toMatch(reason);
}

/** Runs a job again and waits for its event. */
async function runAgain(job_id: number) {
  const { status, body } = await again(job_id);
  expect(status, JSON.stringify(body)).toBe(200);
  return { job_id: body.job_id as number, event: await fixture.api.untilEvent(body.job_id) };
}

describe('a job that failed', () => {
  test('is run again as a new job of the same operation with its own event', async () => {
    const failed = await rejectedCall(fixture);
    const { job_id, event } = await runAgain(failed.job_id);
    expect(event).toMatchObject({
      event_type: 'telephone_encounter.created',
      data: { telephone_encounter_id: failed.telephone_encounter_id },
    });
    expect(await applied(createMarker(failed.telephone_encounter_id))).toHaveLength(1);
    expect(await getJob(job_id)).toMatchObject({ run_again_of: failed.job_id, state: 'succeeded' });
    const old = await getJob(failed.job_id);
    expect(old).toMatchObject({ state: 'failed', not_again: `It was run again as job ${job_id}.` });
    expect(old.runs.map((run: { job_id: number }) => run.job_id)).toStrictEqual([failed.job_id, job_id]);
    await expectBlocked(job_id, /succeeded/);
  });

  test('is run again once if several operators request it at the same time', async () => {
    const { job_id } = await rejectedCall(fixture);
    const responses = await Promise.all(Array.from({ length: 6 }, () => again(job_id)));
    expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 409, 409, 409, 409, 409]);
    const runs = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE run_again_of = ${job_id}`;
    expect(runs).toHaveLength(1);
    for (const { id } of runs) await fixture.api.untilEvent(id);
  });

  test('can be run again after its second run has failed', async () => {
    const failed = await rejectedCall(fixture);
    await setFault(fixture.api, 'create_telephone_encounter', 'refuse');
    const second = await runAgain(failed.job_id);
    expect(second.event.event_type).toBe('telephone_encounter.failed');
    const third = await runAgain(second.job_id);
    expect(third.event.event_type).toBe('telephone_encounter.created');
    await expectBlocked(failed.job_id, /run again as job/);
  });

  test('runs after other queued jobs of the same patient', async () => {
    const failed = await rejectedCall(fixture);
    await setFault(fixture.api, 'create_telephone_encounter', 'delay', { delay_ms: 700 });
    const waiting = (await fixture.api.callIn()).body;
    const { body } = await again(failed.job_id);
    await fixture.api.untilEvent(body.job_id);
    const [first, second] = [await getJob(waiting.job_id), await getJob(body.job_id)];
    expect(first.finished_at <= second.started_at).toBe(true);
  });

  test('cannot be run again by a read-only operator', async () => {
    const { job_id } = await rejectedCall(fixture);
    await fixture.owner`UPDATE operators SET role = 'read_only'`;
    expect((await again(job_id)).status).toBe(403);
    await fixture.owner`UPDATE operators SET role = 'owner'`;
  });

  test('cannot be run again before its account is re-linked', async () => {
    const { job_id } = await rejectedCall(fixture);
    await fixture.owner`UPDATE accounts SET status = 'login_required'`;
    await expectBlocked(job_id, /re-linked/);
    await fixture.owner`UPDATE accounts SET status = 'active'`;
  });
});

test('another run of a partial job writes only what is missing', async () => {
  await setFault(fixture.api, 'add_refill', 'refill_fails', { reason: 'Not by telephone.' });
  const partial = await finishedCall(fixture, { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9004' });
  expect(await getJob(partial.job_id)).toMatchObject({ state: 'partial', not_again: null });
  const { event } = await runAgain(partial.job_id);
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(await applied(createMarker(partial.telephone_encounter_id))).toHaveLength(1);
  expect(await applied(`${partial.telephone_encounter_id}-add_refill`)).toHaveLength(1);
});

describe('a job whose outcome is unknown', () => {
  test('cannot be run again before it is reviewed', async () => {
    await expectBlocked((await lostCall(fixture)).job_id, /Check in the EMR whether it was saved/);
  });

  test('is written by its second run if the review found it not done', async () => {
    const lost = await lostCall(fixture, 'reset');
    expect(await applied(createMarker(lost.telephone_encounter_id))).toHaveLength(0);
    expect((await review(lost.job_id, 'not_done')).status).toBe(200);
    const { event } = await runAgain(lost.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(await applied(createMarker(lost.telephone_encounter_id))).toHaveLength(1);
  });

  test('is not written twice by a second run even if the review was wrong', async () => {
    const lost = await lostCall(fixture);
    await review(lost.job_id, 'not_done');
    const { event } = await runAgain(lost.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    const sent = (await fixture.api.ledger()).filter(
      ({ marker }) => marker === createMarker(lost.telephone_encounter_id),
    );
    expect(sent).toHaveLength(1);
  });
});

describe('the patient’s status', () => {
  test('is pending, then active, when the creation is run again', async () => {
    await setFault(fixture.api, 'create_patient', 'refuse', { reason: 'No new patients today.' });
    const body = { first_name: 'Nova', last_name: 'Again', dob: '2004-02-29', sex: 'female' };
    const created = (await fixture.api.call('POST', '/v1/patients', { body })).body;
    await fixture.api.untilEvent(created.job_id);
    const { event } = await runAgain(created.job_id);
    expect(event).toMatchObject({ event_type: 'patient.created', data: { patient_id: created.patient_id } });
    const [row] = await fixture.owner`SELECT status, mrn FROM patients WHERE id = ${created.patient_id}`;
    expect(row).toMatchObject({ status: 'active', mrn: event.data.mrn });
    await expectBlocked(created.job_id, /run again as job/);
  });

  test('does not change if a PATCH has already queued the creation again', async () => {
    await setFault(fixture.api, 'create_patient', 'refuse');
    const body = { first_name: 'Nova', last_name: 'Patched', dob: '2004-02-29', sex: 'female' };
    const created = (await fixture.api.call('POST', '/v1/patients', { body })).body;
    await fixture.api.untilEvent(created.job_id);
    const patched = await fixture.api.call('PATCH', `/v1/patients/${created.patient_id}`, {
      body: { middle_name: 'Q' },
    });
    await expectBlocked(created.job_id, new RegExp(`job ${patched.body.job_id}`));
    await fixture.api.untilEvent(patched.body.job_id);
  });

  test('follows another run of an update, which is rejected if it would undo a later change', async () => {
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${patient(31).mrn}`);
    const { id } = body.patients[0];
    const patch = async (phone: string) => {
      const { body } = await fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { phone } });
      await fixture.api.untilEvent(body.job_id);
      return body.job_id as number;
    };
    await setFault(fixture.api, 'update_patient', 'refuse', { times: 2 });
    const first = await patch('518-555-0101');
    const second = await patch('518-555-0102');
    expect((await runAgain(first)).event.event_type).toBe('patient.updated');
    expect((await runAgain(second)).event.event_type).toBe('patient.updated');
    const [row] = await fixture.owner`SELECT status, open_updates, phone FROM patients WHERE id = ${id}`;
    expect(row).toMatchObject({ status: 'active', open_updates: 0, phone: '5185550102' });
    await setFault(fixture.api, 'update_patient', 'refuse');
    const third = await patch('518-555-0103');
    await patch('518-555-0104');
    await expectBlocked(third, /would undo/);
  });
});

test('a document upload cannot be run again: its file was deleted when the job finished', async () => {
  await setFault(fixture.api, 'upload_document', 'refuse');
  const form = new FormData();
  form.set('patient_mrn', fixture.sandbox.example.patient_mrn);
  form.set('folder_name', 'Letters');
  form.set('document', new Blob([new Uint8Array(documents.pdf)]), 'letter.pdf');
  const { client_id, client_secret, access_token, base_url } = fixture.sandbox;
  const headers = { client_id, client_secret, access_token };
  const sent = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body: form });
  const { document_id } = (await sent.json()) as { document_id: string };
  const [job] = await fixture.owner<{ id: number }[]>`SELECT id FROM jobs WHERE operation_id = ${document_id}`;
  const job_id = job?.id ?? 0;
  await fixture.api.untilEvent(job_id);
  await expectBlocked(job_id, /file was removed/);
});

describe('another run of an earlier change that would undo a later one', () => {
  const newChange = (type: string) => ({
    statement: 'INSERT ON jobs',
    when: `NEW.type = '${type}' AND NEW.run_again_of IS NULL`,
  });

  test('is rejected if the later change is being accepted at the same moment', async () => {
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${patient(32).mrn}`);
    const { id } = body.patients[0];
    const patch = (phone: string) => fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { phone } });
    await setFault(fixture.api, 'update_patient', 'refuse');
    const failed = (await patch('518-555-0105')).body.job_id;
    await fixture.api.untilEvent(failed);
    const [patched, rerun] = await withGate(
      fixture.owner,
      newChange('patient.update'),
      async ({ tx, untilWaiting }) => {
        const patching = patch('518-555-0106');
        const [at_gate] = await untilWaiting();
        const rerunning = again(failed);
        await until('the run to wait for the patient', async () => {
          const [waiting] = await tx`SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND ${at_gate?.pid ?? 0} = ANY (pg_blocking_pids(pid))`;
          return waiting;
        });
        return [patching, rerunning] as const;
      },
    );
    expect(await rerun).toMatchObject({ status: 409, body: { code: 'job_not_repeatable' } });
    await fixture.api.untilEvent((await patched).body.job_id);
    const [row] = await fixture.owner`SELECT status, open_updates, phone FROM patients WHERE id = ${id}`;
    expect(row).toMatchObject({ status: 'active', open_updates: 0, phone: '5185550106' });
  });

  test('changes nothing if the later change came before it in their lane', async () => {
    const change = (group_id: string) =>
      fixture.api.call('PATCH', `/v1/patients/${patient(1).mrn}/insurances/85001`, { body: { group_id } });
    await setFault(fixture.api, 'update_patient_insurance', 'refuse');
    const failed = (await change('GRPOLD')).body.job_id;
    await fixture.api.untilEvent(failed);
    const [changed, rerun] = await withJobsPaused(fixture, () =>
      // The later change has its place in the lane, but is not committed when the run is queued.
      withGate(fixture.owner, newChange('patient.insurance.update'), async ({ tx }) => {
        const changing = change('GRPNEW');
        // Accepted with others it waits for 100 ms at most, then once more on its own.
        await until('the change to wait on its own', async () => {
          const [waiting] =
            await tx`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${gate} AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND clock_timestamp() - waitstart > interval '1 second'`;
          return waiting;
        });
        return [changing, await again(failed)] as const;
      }).then(async ([changing, accepted]) => [await changing, accepted] as const),
    );
    expect(rerun.status, JSON.stringify(rerun.body)).toBe(200);
    expect(changed.body.job_id).toBeLessThan(rerun.body.job_id);
    expect((await fixture.api.untilEvent(changed.body.job_id)).event_type).toBe('patient.insurance.updated');
    expect(await fixture.api.untilEvent(rerun.body.job_id)).toMatchObject({
      event_type: 'patient.insurance.failed',
      data: { error: expect.stringMatching(/would undo/) },
    });
  });

  test('changes nothing if the later change was made while its account waited to be re-linked', async () => {
    const { mrn } = patient(1);
    const second = await fixture.api.link({ user_id: 'second-user', staff: 1 });
    const change = (group_id: string, access_token: string) =>
      fixture.api.call('PATCH', `/v1/patients/${mrn}/insurances/85001`, {
        body: { group_id },
        headers: { access_token },
      });
    await setFault(fixture.api, 'update_patient_insurance', 'refuse');
    const failed = (await change('GRPOLD', fixture.sandbox.access_token)).body.job_id;
    await fixture.api.untilEvent(failed);
    const rerun = await withJobsPaused(fixture, async () => {
      await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
      return (await again(failed)).body.job_id;
    });
    await until('the run to be parked', async () => {
      const [parked] = await fixture.owner`SELECT FROM jobs WHERE id = ${rerun} AND parked`;
      return parked;
    });
    await fixture.api.link({ user_id: 'second-user', staff: 1, access_token: second });
    const changed = (await change('GRPLATER', second)).body.job_id;
    await untilFinished(fixture.owner, [changed]);
    await fixture.api.link({ access_token: fixture.sandbox.access_token });
    expect(await fixture.api.untilEvent(rerun)).toMatchObject({
      event_type: 'patient.insurance.failed',
      data: { error: expect.stringMatching(/would undo/) },
    });
    const { body } = await fixture.api.call('GET', `/v1/patients/${mrn}/insurances`);
    expect(body.insurances).toContainEqual(
      expect.objectContaining({ emr_insurance_id: '85001', group_id: 'GRPLATER' }),
    );
  });

  test('is rejected for a visit whose patient has no MRN', async () => {
    const [visit] = await fixture.owner<{ id: string }[]>`
      UPDATE appointments SET doc = jsonb_set(doc::jsonb, '{patient_mrn}', 'null')::json
       WHERE id = (SELECT id FROM appointments WHERE NOT cancelled AND ehr_id IS NOT NULL ORDER BY id LIMIT 1)
      RETURNING replace(id::text, '-', '') AS id`;
    const change = async (note: string) => {
      const { status, body } = await fixture.api.call('PATCH', `/v1/appointments/${visit?.id}`, { body: { note } });
      expect(status, JSON.stringify(body)).toBe(200);
      const { event_type } = await fixture.api.untilEvent(body.job_id);
      return { job_id: body.job_id as number, event_type };
    };
    await setFault(fixture.api, 'update_appointment', 'refuse');
    const failed = await change('Earlier');
    expect(failed.event_type).toBe('appointment.update_failed');
    expect((await change('Later')).event_type).toBe('appointment.updated');
    await expectBlocked(failed.job_id, /would undo/);
  });

  test('is rejected if the request of the later one was deleted after its retention period', async () => {
    const change = async (group_id: string) => {
      const path = `/v1/patients/${patient(3).mrn}/insurances/${insurance_id}`;
      const { job_id } = (await fixture.api.call('PATCH', path, { body: { group_id } })).body;
      await fixture.api.untilEvent(job_id);
      return job_id as number;
    };
    const { body } = await fixture.api.call('GET', `/v1/patients/${patient(3).mrn}/insurances`);
    const insurance_id = body.insurances[0].emr_insurance_id;
    await setFault(fixture.api, 'update_patient_insurance', 'refuse');
    const failed = await change('GRPOLD');
    const later = await change('GRPLATER');
    await fixture.owner`UPDATE operations SET input = '{}', input_deleted_at = now()
      WHERE id = (SELECT operation_id FROM jobs WHERE id = ${later})`;
    await fixture.owner`UPDATE clients SET inputs_deleted_through = now()`;
    await expectBlocked(failed, /would undo/);
  });
});
