import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/platform/db/database.ts';
import { writes } from '../../src/product/writes/writes.ts';
import type { ApiResponse } from '../harness/api.ts';
import { documents } from '../harness/documents.ts';
import { figure } from '../harness/figure.ts';
import type { TestProcess } from '../harness/sandbox.ts';
import { type Gate, withGate } from '../journeys/gate.ts';
import { type Installation, install } from '../journeys/installation.ts';
import { patient, untilFinished } from '../journeys/support.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';

/** `n` differs between the requests of a write, so that the EMR sees no duplicate. */
type Request = { write: string; send(fixture: Installation, n: number): Promise<ApiResponse> };

/** One per point; each has a valid check digit. */
const npis = [
  '1999000106',
  '1999000114',
  '1999000122',
  '1999000130',
  '1999000148',
  '1999000155',
  '1999000163',
  '1999000171',
];

const requests: readonly Request[] = [
  {
    write: 'telephone_encounter.create',
    send: ({ api }) => api.callIn({ refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9005' }),
  },
  {
    write: 'patient.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/patients', {
        body: {
          ...{ first_name: 'Synthetic', last_name: `Crash${'abcdefgh'.charAt(n)}`, dob: '1990-05-14', sex: 'female' },
          ...{ phone: `518-555-01${10 + n}`, address_street: '5 Placeholder Lane', address_city: 'Exampleton' },
          ...{ address_state: 'NY', address_zip: '12999' },
        },
      }),
  },
  { write: 'document.upload', send: (fixture, n) => sendDocument(fixture, { notes: `Crash ${n}` }) },
  {
    write: 'payment.post',
    send: ({ api }, n) =>
      api.call('POST', '/v1/payments', {
        body: {
          ...{ patient_mrn: patient(6).mrn, payment_method: 'Check', reference_number: `Crash ${n}` },
          ...{ location: '11', amount: 10.01 + n },
        },
      }),
  },
  {
    write: 'appointment.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/appointments', {
        body: {
          ...{ mrn: patient(2).mrn, location: '11', provider: '501', type: 'OV', reason: 'Follow-up' },
          datetime: `2031-03-03T1${n}:00:00-05:00`,
        },
      }),
  },
  {
    write: 'appointment.update',
    send: async ({ api, owner }, n) => {
      const [row] = await owner<{ id: string }[]>`SELECT id FROM appointments WHERE patient_mrn = ${patient(2).mrn}
        AND ehr_id IS NOT NULL ORDER BY id LIMIT 1`;
      return api.call('PATCH', `/v1/appointments/${row?.id}`, { body: { note: `Crash ${n}` } });
    },
  },
  {
    write: 'claim.create',
    send: async ({ api, owner }, n) => {
      // The visits that were booked above.
      const [visit] = await owner<{ id: string }[]>`SELECT id FROM appointments
        WHERE patient_mrn = ${patient(2).mrn} AND ehr_id IS NOT NULL ORDER BY id OFFSET ${n} LIMIT 1`;
      return api.call('POST', '/v1/claims', { body: { appointment_id: visit?.id } });
    },
  },
  {
    write: 'patient.update',
    send: async ({ api, owner }, n) => {
      const [row] = await owner<{ id: string }[]>`SELECT id FROM patients WHERE mrn = ${patient(3).mrn}`;
      return api.call('PATCH', `/v1/patients/${row?.id}`, { body: { phone: `518-555-01${20 + n}` } });
    },
  },
  {
    write: 'patient.insurance.add',
    send: ({ api }, n) =>
      api.call('POST', `/v1/patients/${patient(4).mrn}/insurances`, {
        body: { member_id: `TST10${n}`, insurance_name: 'Mock Mutual', priority: '3' },
      }),
  },
  {
    write: 'patient.insurance.update',
    send: ({ api }, n) =>
      api.call('PATCH', `/v1/patients/${patient(1).mrn}/insurances/85001`, { body: { group_id: `GRP${n}` } }),
  },
  {
    write: 'telephone_encounter_action.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/telephone-encounters/actions', {
        body: { emr_appointment_id: '30001', text: `Called back, time ${n}.` },
      }),
  },
  {
    write: 'note.upload',
    send: async ({ api, owner }, n) => {
      const [row] = await owner<{ id: string }[]>`
        SELECT replace(id::text, '-', '') AS id FROM appointments WHERE ehr_id IS NOT NULL ORDER BY ehr_id LIMIT 1`;
      return api.call('POST', '/v1/notes', { body: { appointment_id: row?.id, note: `Note ${n}` } });
    },
  },
  {
    write: 'patient_note.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/patient-notes', {
        body: { patient_mrn: patient(6).mrn, location_id: '11', subject: 'Contact', note: `Note ${n}` },
      }),
  },
  {
    write: 'referring_provider.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/referring-providers', {
        body: { first_name: 'Umber', last_name: `Crash${'abcdefgh'.charAt(n)}`, npi: npis[n] },
      }),
  },
  {
    write: 'referral.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/referrals', {
        body: {
          ...{ patient_mrn: patient(6).mrn, direction: 'incoming', priority: 'routine', reason: `Referral ${n}` },
          ...{ referring_from_provider_ehr_id: '8003', referring_to_provider_ehr_id: '501' },
          documents: [{ filename: 'letter.pdf', content_base64: documents.pdf.toString('base64') }],
        },
      }),
  },
  {
    write: 'task.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/tasks', {
        body: {
          ...{ patient_mrn: patient(5).mrn, subject: 'Call', description: `Call back, time ${n}.` },
          ...{ assignee_user_id: '703', phone_call_type_id: '1' },
        },
      }),
  },
  {
    write: 'task_note.create',
    send: ({ api }, n) =>
      api.call('POST', '/v1/tasks/notes', { body: { emr_task_id: '700001', note: `Called, time ${n}.` } }),
  },
];

/** A statement in whose middle the worker is killed. */
type Point = Gate & { name: string; in_emr?: boolean };

const points: readonly Point[] = [
  { name: 'has the lease', statement: 'UPDATE ON jobs', when: `NEW.state = 'running'` },
  { name: 'stores the intent', statement: 'INSERT ON job_steps', when: `NEW.kind = 'intent'` },
  { name: 'waits for the EMR, which is applying the write', in_emr: true, statement: 'INSERT ON ledger' },
  { name: 'stores the outcome', statement: 'INSERT ON job_steps', when: `NEW.kind = 'outcome'` },
  { name: 'commits the end', statement: 'INSERT ON events', when: 'NEW.job_id IS NOT NULL' },
];

test('every write that changes something in the EMR has a request', () => {
  const types = writes.filter(({ reads_only }) => !reads_only).map(({ type }) => type);
  expect(requests.map(({ write }) => write).sort()).toStrictEqual(types.sort());
});

let fixture: Installation;
let worker: TestProcess;
beforeAll(async () => {
  fixture = await install();
  worker = await fixture.startWorker();
});
afterAll(() => fixture.close());

const selected = requests.slice(0, figure('CRASH_WRITES', 1));
const cases = selected.flatMap((request) => points.map((point, n) => [request.write, point.name, request, point, n]));

test.each(cases as [string, string, Request, Point, number][])(
  '%s is done once if the worker is killed while it %s',
  async (_write, _point, request, point, n) => {
    const database = point.in_emr ? fixture.emr_owner : fixture.owner;
    const operation_id = await blocked(database, point, async () => {
      const { status, body } = await request.send(fixture, n);
      expect([200, 202], JSON.stringify(body)).toContain(status);
      const [row] = await fixture.owner<{ operation_id: string }[]>`
      SELECT operation_id FROM jobs ORDER BY id DESC LIMIT 1`;
      return row?.operation_id ?? '';
    });
    worker = await fixture.startWorker();
    await expectDoneOnce(operation_id);
  },
);

/**
 * Sends a request while the point is blocked, kills the worker there, and continues. In our own database the statement
 * is cancelled, as if the database had failed with the worker; the EMR finishes its write.
 */
async function blocked(database: Sql, point: Point, send: () => Promise<string>): Promise<string> {
  return withGate(database, point, async ({ tx, untilWaiting }) => {
    const operation_id = await send();
    const waiting = await untilWaiting();
    await worker.stop('SIGKILL');
    if (!point.in_emr) for (const { pid } of waiting) await tx`SELECT pg_terminate_backend(${pid}::integer)`;
    return operation_id;
  });
}

/** One job, which succeeded, with one event; each of its steps applied once in the EMR. */
async function expectDoneOnce(operation_id: string): Promise<void> {
  const { api, owner } = fixture;
  const jobs = await owner<{ id: number }[]>`SELECT id::int4 FROM jobs WHERE operation_id = ${operation_id}`;
  const job_ids = jobs.map(({ id }) => id);
  expect(job_ids).toHaveLength(1);
  await untilFinished(owner, job_ids);
  const rows = await owner`SELECT jobs.state, attempts, count(events.id) AS events
      FROM jobs LEFT JOIN events ON events.job_id = jobs.id WHERE jobs.id = ANY (${job_ids}) GROUP BY jobs.id`;
  expect(rows).toMatchObject([{ state: 'succeeded', events: 1 }]);
  const steps = await owner<{ marker: string }[]>`
    SELECT DISTINCT detail ->> 'marker' AS marker FROM job_steps WHERE job_id = ANY (${job_ids}) AND kind = 'intent'`;
  const sent = (await api.ledger()).filter(({ marker }) => marker?.startsWith(operation_id));
  const applied = sent.filter((entry) => entry.applied).map(({ marker }) => marker);
  expect(applied.sort()).toStrictEqual(steps.map(({ marker }) => marker).sort());
  expect(applied.length).toBeGreaterThan(0);
}
