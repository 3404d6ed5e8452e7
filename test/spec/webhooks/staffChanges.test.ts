import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestProcess } from '../../harness/sandbox.ts';
import { withGate } from '../../journeys/gate.ts';
import { type Installation, install } from '../../journeys/installation.ts';
import { endPauses, patient, setFault, until, untilFinished } from '../../journeys/support.ts';
import { sendDocument } from '../support/sendDocument.ts';

let fixture: Installation;
let worker: TestProcess;
let staff: Staff;
beforeAll(async () => {
  fixture = await install();
  worker = await fixture.startWorker();
  staff = await signInAsStaff();
  const headers = { access_token: null };
  const endpoint = { webhook_url: 'http://127.0.0.1:9/staff', sync_events: true };
  const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', { body: endpoint, headers })).body;
  const paused = await fixture.api.call('PATCH', `/v1/webhook/${webhook_id}`, { body: { paused: true }, headers });
  expect(paused.status).toBe(200);
});
afterAll(() => fixture.close());

type SyncEvent = { type: string; created: string; data: Record<string, unknown> };

async function announced(): Promise<SyncEvent[]> {
  const rows = await fixture.owner<{ body: string }[]>`SELECT body FROM events WHERE from_sync ORDER BY created_at, id`;
  return rows.map(({ body }) => JSON.parse(body));
}

/** A member of the practice's staff, who works on Larkspur's screens and with another application that uses its API. */
type Staff = {
  write(path: string, body: object): Promise<void>;
  /** Sends the form of a page, with its hidden fields and their token. */
  submit(path: string, fields: Record<string, string>, file?: Buffer): Promise<void>;
};

async function signInAsStaff(): Promise<Staff> {
  const [number, { url, staff }] = [4, fixture.sandbox.larkspur];
  const post = async (path: string, body: object, token = ''): Promise<ApiResponse['body']> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const received = (await response.json()) as object;
    expect(response.status, JSON.stringify(received)).toBeLessThan(300);
    return received;
  };
  const { username: userName, password } = staff[number] ?? {};
  const { challengeId } = await post('/api/login', { userName, password });
  const code = { challengeId, code: fixture.api.code(number), rememberDevice: 'N' };
  const token: string = (await post('/api/login/code', code)).sessionToken;
  const headers = { cookie: `larkspur_session=${token}` };
  return {
    write: (path, body) => post(path, { ...body, externalRef: randomUUID() }, token),
    submit: async (path, fields, file) => {
      const page = await (await fetch(url + path, { headers })).text();
      const shown = [...page.matchAll(/<input[^>]* name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name,
        value,
      ]);
      const all = { ...Object.fromEntries(shown), ...fields };
      const form = file ? new FormData() : new URLSearchParams();
      for (const [name, value] of Object.entries(all)) form.append(name, String(value));
      if (file && form instanceof FormData) form.append('file', new Blob([new Uint8Array(file)]), 'scan.pdf');
      const [target = path] = path.split('?');
      const response = await fetch(url + target, { method: 'POST', redirect: 'manual', headers, body: form });
      expect(response.status, await response.text()).toBe(303);
    },
  };
}

async function newCharts(count: number): Promise<{ patientId: string; mrn: string }[]> {
  const person = { firstName: 'Staff', birthDate: '02/29/1980' };
  const charts = [];
  for (let n = 0; n < count; n++) {
    const created = await fixture.api.control('POST', '/control/patients', { ...person, lastName: `Duplicate-${n}` });
    charts.push(created.body);
  }
  return charts;
}

/** Visits that staff booked, of the first patients. */
async function newVisits(count: number): Promise<string[]> {
  const [example] = (await fixture.api.control('GET', '/control/appointments')).body.rows;
  const { providerId, facilityId } = example;
  const [year, month, day] = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10).split('-');
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    const startsAt = `${month}/${day}/${year} 06:${10 + n}`;
    const visit = { patientId: patient(n).ehr_id, providerId, facilityId, startsAt };
    ids.push((await fixture.api.control('POST', '/control/appointments', visit)).body.appointmentId);
  }
  return ids;
}

async function accepted(response: Promise<ApiResponse>): Promise<number> {
  const { status, body } = await response;
  expect(status, JSON.stringify(body)).toBe(200);
  return body.job_id ?? (await fixture.api.call('GET', `/v1/documents/${body.document_id}`)).body.document.job_id;
}

/** What the client writes meanwhile for a patient, none of which is a change by staff. */
function clientWrites(n: number): (() => Promise<number>)[] {
  const { mrn } = patient(n);
  const { provider_id: provider, location_id: location } = fixture.sandbox.example;
  const starts = new Date(Date.UTC(2029, 5, 4 + n, 14)).toISOString();
  const booking = { mrn, provider, location, type: 'FU', datetime: starts, prevent_double_booking: 'false' };
  const update = async () => {
    const [{ id }] = (await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients;
    const body = { cell_phone: `518-555-${String(1000 + n)}` };
    return accepted(fixture.api.call('PATCH', `/v1/patients/${id}`, { body }));
  };
  return [
    ...(n <= 15 ? [update] : []),
    ...(n % 3 === 0 ? [() => accepted(fixture.api.call('POST', '/v1/appointments', { body: booking }))] : []),
    ...(n % 4 === 0 ? [() => accepted(sendDocument(fixture, { patient_mrn: mrn }))] : []),
  ];
}

type StaffChange = { expected: [type: string, record: string, fields?: string[]]; act: () => Promise<void> };

/** 50 records that staff change, half of them on screens. */
async function staffChanges(): Promise<{ first: StaffChange[]; later: StaffChange[]; visits: string[] }> {
  const change = (expected: StaffChange['expected'], act: StaffChange['act']): StaffChange => ({ expected, act });
  const demographics = (n: number, fields: object) =>
    staff.write(`/api/patients/${patient(n).ehr_id}/demographics`, fields);
  const visits = await newVisits(8);
  const [duplicates, surviving] = [await newCharts(6), await newCharts(6)];
  await fixture.api.sync();
  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
  const first = [
    ...numbers(1, 15).map((n) =>
      change(['patient.updated', patient(n).mrn, ['email']], () =>
        demographics(n, { email: `staff${n}@example.test` }),
      ),
    ),
    ...numbers(16, 25).map((n) =>
      change(['patient.updated', patient(n).mrn, ['phone']], () =>
        staff.submit(`/patients/${patient(n).ehr_id}/edit`, { homePhone: `518-555-${2000 + n}` }),
      ),
    ),
    ...visits.map((ehr_id) =>
      change(['appointment.status_updated', ehr_id, ['status']], () =>
        staff.submit(`/appointments/${ehr_id}`, { statusCode: 'CHK' }),
      ),
    ),
    ...numbers(1, 6).map((n) =>
      change(['document.added', `${patient(n).mrn} Scans ${n}`], () =>
        staff.submit(`/patients/${patient(n).ehr_id}/documents/new`, { folder: `Scans ${n}` }, documents.pdf),
      ),
    ),
    ...duplicates.map(({ mrn, patientId }, n) => {
      const into = surviving[n] ?? { patientId: '', mrn: '' };
      const by_api = () => staff.write(`/api/patients/${patientId}/merge`, { intoPatientId: into.patientId });
      const on_screen = () => staff.submit(`/patients/${patientId}/merge?mrn=${into.mrn}`, {});
      return change(['patient.merged', `${mrn} ${into.mrn}`], n % 2 === 0 ? by_api : on_screen);
    }),
  ];
  const later = numbers(1, 5).map((n) =>
    change(['patient.updated', patient(n).mrn, ['phone']], () => demographics(n, { homePhone: `518-555-${3000 + n}` })),
  );
  return { first, later, visits };
}

function describeEvent({ type, data }: SyncEvent): string {
  const records: Record<string, unknown> = {
    'patient.merged': `${data.mrn} ${data.surviving_mrn}`,
    'document.added': `${data.patient_mrn} ${data.folder_name}`,
    'appointment.status_updated': data.ehr_appointment_id,
  };
  return JSON.stringify([type, records[type] ?? data.mrn, ...(data.changed_fields ? [data.changed_fields] : [])]);
}

/** Requests a sync, kills its worker once it has stored patients, and starts another one. */
async function killDuringSync(): Promise<number> {
  await setFault(fixture.api, 'list_appointments', 'delay', { delay_ms: 3_000 });
  const job_id = await accepted(fixture.api.call('POST', '/v1/sync', { body: {} }));
  await until('the sync to store patients', async () => {
    const [note] = await fixture.owner`SELECT FROM job_steps WHERE job_id = ${job_id} AND name = 'patients'`;
    return note;
  });
  await worker.stop('SIGKILL');
  worker = await fixture.startWorker();
  return job_id;
}

test('exactly what staff changed is announced, once and in order, while a client writes and the sync’s worker is killed', async () => {
  const { first, later, visits } = await staffChanges();
  expect(first.length + later.length).toBe(50);
  const before = (await announced()).length;
  const jobs: number[] = [];
  const queues = [first.filter((_, n) => n % 2 === 0), first.filter((_, n) => n % 2 === 1)];
  const working = Promise.all([
    ...queues.map(async (queue) => {
      for (const { act } of queue) await act();
    }),
    (async () => {
      for (let n = 1; n <= 25; n++) for (const write of clientWrites(n)) jobs.push(await write());
    })(),
    (async () => {
      for (const ehr_id of visits) {
        const { id } = (await fixture.api.call('GET', `/v1/appointments/ehr/${ehr_id}`)).body.appointment;
        const body = { note: `By the client: ${ehr_id}` };
        jobs.push(await accepted(fixture.api.call('PATCH', `/v1/appointments/${id}`, { body })));
      }
    })(),
  ]);
  const syncs = [await killDuringSync(), await killDuringSync()];
  await working;
  await untilFinished(fixture.owner, [...jobs, ...syncs]);
  await fixture.api.sync();
  for (const { act } of later) await act();
  syncs.push(await killDuringSync());
  await untilFinished(fixture.owner, syncs);
  await fixture.api.sync();

  const states =
    await fixture.owner`SELECT state, count(*)::int AS n FROM jobs WHERE id = ANY (${jobs}) GROUP BY state`;
  expect([...states]).toStrictEqual([{ state: 'succeeded', n: jobs.length }]);
  expect(jobs.length).toBeGreaterThan(25);
  const attempts = await fixture.owner<{ attempts: number }[]>`SELECT attempts FROM jobs WHERE id = ANY (${syncs})`;
  expect(attempts.every((job) => job.attempts > 1)).toBe(true);

  const events = (await announced()).slice(before);
  const expected = [...first, ...later].map(({ expected }) => JSON.stringify(expected));
  expect(events.map(describeEvent).toSorted()).toStrictEqual(expected.toSorted());
  const times = events.map(({ created }) => created);
  expect(times).toStrictEqual(times.toSorted());
  expect(new Set(times).size).toBe(times.length);
  for (let n = 1; n <= 5; n++) {
    const own = events.filter(({ type, data }) => type === 'patient.updated' && data.mrn === patient(n).mrn);
    expect(own.map(({ data }) => data.changed_fields)).toStrictEqual([['email'], ['phone']]);
  }
}, 300_000);

test(row('SYE-13'), async () => {
  const [visit_id] = await newVisits(1);
  await fixture.api.sync();
  const before = (await announced()).length;
  const { provider_id: provider, location_id: location } = fixture.sandbox.example;
  const person = {
    first_name: 'Crashed',
    last_name: 'Writer',
    dob: '2001-02-03',
    sex: 'female',
    phone: '518-555-0177',
  };
  const booking = { mrn: patient(31).mrn, provider, location, type: 'FU', datetime: '2029-09-03T14:00:00Z' };
  const [known] = (await fixture.api.call('GET', `/v1/patients?mrn=${patient(30).mrn}`)).body.patients;
  const visit = (await fixture.api.call('GET', `/v1/appointments/ehr/${visit_id}`)).body.appointment;
  const patch = (path: string, body: object) => fixture.api.call('PATCH', path, { body });
  const writes: (() => Promise<ApiResponse>)[] = [
    () => fixture.api.call('POST', '/v1/patients', { body: person }),
    () => patch(`/v1/patients/${known.id}`, { email: 'crashed@example.test' }),
    () => fixture.api.call('POST', '/v1/appointments', { body: booking }),
    () => sendDocument(fixture, { patient_mrn: patient(32).mrn, folder_name: 'Crashed' }),
    () => patch(`/v1/appointments/${visit?.id}`, { status: 'CHK' }),
  ];
  // One at a time: the worker stores the steps of several jobs by one statement, so a job at the gate stops the others.
  for (const write of writes) {
    const applied = async () => (await fixture.api.ledger()).filter((entry) => entry.applied).length;
    const applied_before = await applied();
    // The EMR has applied the write and responded; the worker waits before it stores that.
    const outcomes = { statement: 'INSERT ON job_steps', when: `NEW.kind = 'outcome'` };
    const job = await withGate(fixture.owner, outcomes, async ({ tx, untilWaiting }) => {
      const id = await accepted(write());
      const waiting = await untilWaiting();
      await worker.stop('SIGKILL');
      for (const { pid } of waiting) await tx`SELECT pg_terminate_backend(${pid})`;
      await tx`UPDATE lanes SET ready_at = now() + interval '1 hour' WHERE key <> 'sync'`;
      return id;
    });
    expect(await applied()).toBe(applied_before + 1);
    const [open] = await fixture.owner<{ n: number }[]>`
      SELECT count(*)::int AS n FROM job_steps WHERE job_id = ${job} AND kind = 'outcome'`;
    expect(open?.n).toBe(0);
    worker = await fixture.startWorker();
    await fixture.api.sync();
    expect((await announced()).slice(before)).toStrictEqual([]);
    await endPauses(fixture.owner);
    await untilFinished(fixture.owner, [job]);
    expect((await fixture.api.job(job)).status).toBe('succeeded');
    await fixture.api.sync();
    expect((await announced()).slice(before)).toStrictEqual([]);
    expect(await applied()).toBe(applied_before + 1);
  }
}, 300_000);
