import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { appointments } from '../../../src/model/records/appointments.ts';
import { connectAccount } from '../../../src/product/accounts/connectAccount.ts';
import { refreshRecords } from '../../../src/product/records/refreshRecords.ts';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, endRetries, setFault, untilFailedAttempt } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { addClinicRow, changeClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { registerUrl, removeWebhook } from '../webhooks/receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  // What a fetch changes must not come from a sync.
  await pauseSyncs(fixture, 'list_providers');
});
afterAll(() => fixture.close());

/** A year without seeded appointments. */
const year = new Date().getUTCFullYear() + 3;
const day = (n: number) => `${year}-05-${String(n).padStart(2, '0')}`;
const usDay = (n: number) => `05/${String(n).padStart(2, '0')}/${year}`;

const send = (body: Row): Promise<ApiResponse> => fixture.api.call('POST', '/v1/appointments/fetch', { body });

async function fetchLive(body: Row): Promise<Row> {
  const response = await send(body);
  expect(response.status, JSON.stringify(response.body)).toBe(202);
  return fixture.api.untilEvent(response.body.job_id);
}

/** Fetches and returns the data of the completed event. */
async function completed(body: Row): Promise<Row> {
  const { event_type, data } = await fetchLive(body);
  expect(event_type, JSON.stringify(data)).toBe('appointment.live_fetch_completed');
  return data;
}

const ehrIds = (data: Row): string[] => data.appointments.map((each: Row) => each.ehr_appointment_id).sort();

let patients: Row[] = [];
/** Adds an appointment in the EMR, which no sync has read. */
async function addInEmr(n: number, fields: Row = {}): Promise<string> {
  if (patients.length === 0) patients = await clinicRows(fixture, 'patients');
  const { time = '09:00', ...values } = fields;
  const visit = { patientId: patients[0].patientId, providerId: '501', facilityId: '11', minutes: 20 };
  const added = await addClinicRow(fixture, 'appointments', { ...visit, startsAt: `${usDay(n)} ${time}`, ...values });
  return String(added.appointmentId);
}

const readByEhrId = (ehr_id: string) => fixture.api.call('GET', `/v1/appointments/ehr/${ehr_id}`);

async function expectRejected(body: Row, message: string | RegExp, field: string, status = 400): Promise<void> {
  const before = await countAcceptedWork(fixture);
  expectApiError(await send(body), status, message, field);
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
}

test(row('LIV-01'), async () => {
  const [first, second] = [await addInEmr(2), await addInEmr(3, { time: '23:30' })];
  await addInEmr(4, { time: '00:10' });
  const response = await send({ start_date: day(2), end_date: day(3) });
  expect(response.status).toBe(202);
  const message = 'Appointment fetch queued. A webhook event follows on completion.';
  expect(response.body).toStrictEqual({ success: true, message, job_id: expect.any(Number) });
  const { event_type, data } = await fixture.api.untilEvent(response.body.job_id);
  expect(event_type).toBe('appointment.live_fetch_completed');
  expect(data).toMatchObject({ success: true, appointment_count: 2, start_date: day(2), end_date: day(3) });
  expect(ehrIds(data)).toStrictEqual([first, second].sort());
  const nothing = await completed({ search_by: 'date_range', start_date: day(30), end_date: day(30) });
  expect(nothing).toMatchObject({ success: true, appointment_count: 0, appointments: [] });
});

test(row('LIV-02'), async () => {
  const missing = 'Missing required parameters: start_date, end_date.';
  await expectRejected({}, missing, 'start_date');
  await expectRejected({ start_date: day(1) }, missing, 'end_date');
  await expectRejected({ end_date: day(1), start_date: '' }, missing, 'start_date');
  await expectRejected({ search_by: 'provider', provider_ids: ['501'] }, missing, 'start_date');
  const format = 'Invalid date format. Use ISO format (YYYY-MM-DD).';
  for (const start_date of ['05/01/2031', '2031-2-3', '2031-02-30', '2031-02-03T00:00:00Z', 'x']) {
    await expectRejected({ start_date, end_date: day(1) }, format, 'start_date');
  }
  await expectRejected({ start_date: day(1), end_date: 'tomorrow' }, format, 'end_date');
  await expectRejected({ start_date: day(2), end_date: day(1) }, 'end_date must be after start_date.', 'end_date');
  const long = 'Date range cannot exceed 7 days.';
  await expectRejected({ start_date: day(1), end_date: day(8) }, long, 'end_date');
  expect((await send({ start_date: day(20), end_date: day(20) })).status).toBe(202);
  expect((await send({ start_date: day(20), end_date: day(26) })).status).toBe(202);
});

test(row('LIV-03'), async () => {
  await expectRejected({ search_by: 'mrn' }, 'Missing required field: mrn', 'mrn');
  await expectRejected(
    { search_by: 'phone', mrn: 'x' },
    /^search_by must be one of: date_range, mrn, provider/,
    'search_by',
  );
  const ours = await addInEmr(5, { patientId: patients[2].patientId, createdBy: 'Avery Deskwell' });
  await addInEmr(5, { patientId: patients[3].patientId });
  const { mrn, patientId } = patients[2];
  const all = await clinicRows(fixture, 'appointments', { patientId: String(patientId) });
  const data = await completed({ search_by: 'mrn', mrn });
  expect(data).toMatchObject({ start_date: null, end_date: null, appointment_count: all.length });
  expect(ehrIds(data)).toStrictEqual(all.map((each) => String(each.appointmentId)).sort());
  for (const each of data.appointments) {
    expect(each).toMatchObject({ patient_mrn: mrn, created_at: expect.any(String) });
    expect(each).toHaveProperty('created_by');
  }
  const narrowed = await completed({ search_by: 'mrn', mrn, start_date: day(5), end_date: day(5) });
  expect(ehrIds(narrowed)).toStrictEqual([ours]);
  expect(narrowed.appointments[0].created_by).toBe('Avery Deskwell');
  const range = await completed({ start_date: day(5), end_date: day(5) });
  expect(range.appointments[0]).not.toHaveProperty('created_by');
  const unknown = await fetchLive({ search_by: 'mrn', mrn: 'NOBODY' });
  expect(unknown.event_type).toBe('appointment.live_fetch_failed');
  expect(unknown.data.reasons).toMatchObject([{ code: 'patient_not_found' }]);
});

test(row('LIV-04'), async () => {
  const search = { search_by: 'provider', start_date: day(6), end_date: day(6) };
  await expectRejected(search, 'Missing required field: provider_ids', 'provider_ids');
  const count = 'provider_ids must contain 1 to 10 providers';
  await expectRejected({ ...search, provider_ids: [] }, count, 'provider_ids');
  const eleven = Array.from({ length: 11 }, (_, n) => `${n}`);
  await expectRejected({ ...search, provider_ids: eleven }, count, 'provider_ids');
  await expectRejected({ ...search, provider_ids: [5] }, /provider_ids/, 'provider_ids');
  const unknown = "Provider with EMR ID 'x' not found.";
  await expectRejected({ ...search, provider_ids: ['501', 'x'] }, unknown, 'provider_ids', 404);
  const one = 'Date range cannot exceed 5 days for one provider.';
  await expectRejected({ ...search, end_date: day(11), provider_ids: ['501'] }, one, 'end_date');
  const several = 'Date range cannot exceed 1 day for several providers.';
  await expectRejected({ ...search, end_date: day(7), provider_ids: '501,502' }, several, 'end_date');
  const first = await addInEmr(6, { providerId: '501' });
  const second = await addInEmr(6, { providerId: '502', secondaryProviderId: '501', time: '11:00' });
  const other = await addInEmr(6, { providerId: '502', time: '13:00' });
  await addInEmr(6, { providerId: '503', time: '13:00' });
  const searched = (fields: Row) => completed({ ...search, ...fields }).then(ehrIds);
  expect(await searched({ provider_ids: ['501'], end_date: day(10) })).toStrictEqual([first, second].sort());
  expect(await searched({ provider_ids: ' 501 , 502,501' })).toStrictEqual([first, second, other].sort());
});

test(row('LIV-05'), async () => {
  const added = await addInEmr(12);
  const cursor = (await fixture.api.call('GET', '/v1/changes?cursor=latest&kinds=appointments')).body.next_cursor;
  expect((await readByEhrId(added)).status).toBe(404);
  const search = { start_date: day(12), end_date: day(12) };
  const { appointments } = await completed(search);
  const cached = (await readByEhrId(added)).body.appointment;
  // Other tests book in the same practice.
  const own = (rows: { id: string }[]) => rows.filter(({ id }) => id === cached.id);
  expect(own(appointments)).toStrictEqual([{ ...cached, note: null, progress_note: null }]);
  await changeClinicRow(fixture, 'appointments', added, { statusCode: 'CAN', note: 'Called' });
  await completed(search);
  expect((await readByEhrId(added)).body.appointment).toMatchObject({ id: cached.id, status: 'CAN', note: 'Called' });
  const changes = async () => own((await fixture.api.call('GET', `/v1/changes?cursor=${cursor}`)).body.changes);
  // The feed waits for transactions of other tests on the same database server.
  await expect
    .poll(changes)
    .toMatchObject([{ kind: 'appointments', op: 'upsert', emr_id: added, record: { status: 'CAN' } }]);
});

test(row('LIV-06'), async () => {
  const { id } = await registerUrl(fixture.api, `http://127.0.0.1:9/${crypto.randomUUID()}`);
  onTestFinished(async () => void (await removeWebhook(fixture.api, id)));
  const body = { paused: true, sync_events: true };
  await fixture.api.call('PATCH', `/v1/webhook/${id}`, { body, headers: { access_token: null } });
  const announced = async () =>
    (await fixture.owner<{ body: string }[]>`SELECT body FROM events WHERE from_sync ORDER BY created_at, id`).map(
      (each) => (JSON.parse(each.body) as Row).type,
    );
  const search = { start_date: day(14), end_date: day(14) };
  const { mrn } = patients[1];
  const booking = { mrn, location: '11', provider: '501', type: 'OV', datetime: `${day(14)}T09:00:00-04:00` };
  const { job_id } = (await fixture.api.call('POST', '/v1/appointments', { body: booking })).body;
  const { data } = await fixture.api.untilEvent(job_id);
  await completed(search);
  expect(await announced()).toStrictEqual([]);
  const staff = await addInEmr(14, { time: '15:00' });
  await completed(search);
  expect(await announced()).toStrictEqual(['appointment.created']);
  await changeClinicRow(fixture, 'appointments', String(data.ehr_appointment_id), { statusCode: 'CHK' });
  await changeClinicRow(fixture, 'appointments', staff, { statusCode: 'CAN' });
  await completed(search);
  const all = ['appointment.created', 'appointment.status_updated', 'appointment.cancelled'];
  expect((await announced()).toSorted()).toStrictEqual(all.toSorted());
  await completed(search);
  expect(await announced()).toHaveLength(3);
});

test(row('LIV-07'), async () => {
  const { mrn } = patients[1];
  const booking = { mrn, location: '11', provider: '501', type: 'OV', datetime: `${day(15)}T09:00:00-04:00` };
  const { appointment_id: id, job_id } = (await fixture.api.call('POST', '/v1/appointments', { body: booking })).body;
  await fixture.api.untilEvent(job_id);
  const [account] = await fixture.owner<{ client_id: string; organization_id: string; account_id: string }[]>`
    SELECT client_id, organization_id, id AS account_id FROM accounts WHERE status = 'active' LIMIT 1`;
  if (!account) throw new Error('Expected an account.');
  const { operations } = await connectAccount(fixture.ctx, account, new AbortController().signal);
  const days = { from: day(15), to: day(15) };
  const fetchWhile = (meanwhile: () => Promise<void>) =>
    refreshRecords(fixture.ctx, account, appointments, async () => {
      const matches = (await operations.findAppointments?.({ days })) ?? [];
      await meanwhile();
      return matches.map(({ created_by: _who, ...source }) => source);
    });
  const note = async () => (await fixture.api.call('GET', `/v1/appointments/${id}`)).body.appointment.note;
  const [shown] = await fetchWhile(async () => {
    const change = await fixture.api.call('PATCH', `/v1/appointments/${id}`, { body: { note: 'Ours' } });
    await fixture.api.untilEvent(change.body.job_id);
  });
  expect(await note()).toBe('Ours');
  expect(shown?.shown.id).toBe(id);
  await changeClinicRow(fixture, 'appointments', String(shown?.ehr_id), { note: 'By staff' });
  await fetchWhile(async () => {});
  expect(await note()).toBe('By staff');
});

test(row('LIV-09'), async () => {
  const visible = await addInEmr(16, { note: 'Private', progressNote: 'Very private' });
  const hidden = await addInEmr(16, { providerId: '504', time: '11:00' });
  const settings = (status: string) => fixture.api.call('PATCH', '/v1/providers/ehr/504', { body: { status } });
  expect((await settings('inactive')).status).toBe(200);
  onTestFinished(async () => void (await settings('active')));
  const data = await completed({ start_date: day(16), end_date: day(16) });
  expect(data).toMatchObject({ appointment_count: 1, appointments: [{ note: null, progress_note: null }] });
  expect(ehrIds(data)).toStrictEqual([visible]);
  expect((await readByEhrId(hidden)).status).toBe(404);
  const cached = (await readByEhrId(visible)).body.appointment;
  expect(cached).toMatchObject({ note: 'Private', progress_note: 'Very private' });
});

test(row('LIV-10'), async () => {
  await setFault(fixture.api, 'list_appointments', 'error_500', { times: 1000 });
  const { job_id } = (await send({ start_date: day(17), end_date: day(17) })).body;
  await untilFailedAttempt(fixture.api, job_id);
  await endRetries(fixture.owner, job_id);
  await endPauses(fixture.owner);
  const { event_type, data } = await fixture.api.untilEvent(job_id);
  await fixture.api.control('DELETE', '/control/faults');
  await pauseSyncs(fixture, 'list_providers');
  expect(event_type).toBe('appointment.live_fetch_failed');
  expect(data).toStrictEqual({
    failure_reason: expect.any(String),
    reasons: [{ code: expect.any(String), description: data.failure_reason }],
  });
});

test(row('LIV-11'), async () => {
  const sends = Array.from({ length: 1001 }, (_, n) => n);
  for (let n = 0; n < sends.length; n += 20) {
    await Promise.all(sends.slice(n, n + 20).map(() => addInEmr(18)));
  }
  const { event_type, data } = await fetchLive({ start_date: day(18), end_date: day(18) });
  expect(event_type).toBe('appointment.live_fetch_failed');
  expect(data.failure_reason).toBe('More than 1000 appointments match. Narrow the search.');
  expect(data.reasons).toMatchObject([{ code: 'too_many_matches' }]);
});

test(row('LIV-12'), async () => {
  const added = await addInEmr(19);
  const body = { start_date: day(19), end_date: day(19) };
  const response = await fixture.api.call('POST', '/v1/appointments/fetch?dry_run=true', { body });
  expect(response.status).toBe(200);
  expect(response.body).toMatchObject({ dry_run: true, emr_checked: true, would: [{ action: 'read' }] });
  expect((await readByEhrId(added)).status).toBe(404);
});
