import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import { isoDay } from '../support/emrRecords.ts';
import { fetchLive } from '../support/fetchLive.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
let mrn: string;
/** The patient's encounters in Larkspur and in the live fetch, in the same order. */
let known: Body[];
let fetched: Body[];
const calls = () => known.filter(({ visitType }) => visitType === 'TEL');
const findFetched = ({ encounterId }: Body) => fetched.find(({ id }) => id === encounterId);
/** A patient whose only appointments are on these days. */
async function patientWithVisits(...days: string[]): Promise<string> {
  const { control } = fixture.api;
  const { patientId, mrn } = (await control('POST', '/control/patients', { firstName: 'Nova', lastName: 'Seen' })).body;
  for (const day of days) {
    const visit = { patientId, providerId: '501', facilityId: '11', startsAt: `${day} 08:30` };
    expect((await control('POST', '/control/appointments', visit)).status).toBe(201);
  }
  return mrn;
}

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  mrn = fixture.sandbox.example.patient_mrn;
  const { control } = fixture.api;
  const [first] = (await control('GET', '/control/appointments?patientId=10001')).body.rows;
  await control('PATCH', `/control/appointments/${first.appointmentId}`, { lockedFlag: 'Y' });
  // With a provider and a facility that Larkspur does not have.
  const bare = { patientId: '10001', providerId: '999', facilityId: '99', startsAt: '01/02/2024 08:30' };
  await control('POST', '/control/appointments', bare);
  const ahead = `02/03/${new Date().getUTCFullYear() + 2} 14:30`;
  for (const visitTypeCode of ['FU', 'NP', 'OV']) {
    const upcoming = { patientId: '10001', providerId: '501', facilityId: '11', startsAt: ahead, visitTypeCode };
    expect((await control('POST', '/control/appointments', upcoming)).status).toBe(201);
  }
  await fixture.api.untilEvent((await fixture.api.callIn({ reason: 'Bare' })).body.job_id);
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  known = (await chart.read('/api/patients/10001/encounters')).rows;
  fetched = (await fetchLive(fixture.api, { search_by: 'mrn', mrn })).data.encounters;
});
afterAll(() => fixture.close());

test(row('LFP-02'), async () => {
  const ahead = `01/02/${new Date().getUTCFullYear() + 2}`;
  const often = await patientWithVisits('03/04/2025', '11/30/2025', '12/01/2024', ahead);
  const { data } = await fetchLive(fixture.api, { search_by: 'mrn', mrn: often });
  expect(data.encounters).toHaveLength(4);
  expect(data.last_appointment_date).toBe('2025-11-30');
  const rows = (await fixture.api.control('GET', `/control/appointments?patientId=${data.ehr_id}`)).body.rows;
  const last = rows.find(({ startsAt }: Body) => startsAt.startsWith('11/30/2025'));
  for (const statusCode of ['CAN', 'NOS', 'RSC']) {
    await fixture.api.control('PATCH', `/control/appointments/${last.appointmentId}`, { statusCode });
    const again = await fetchLive(fixture.api, { search_by: 'mrn', mrn: often });
    expect(again.data.last_appointment_date, statusCode).toBe('2025-03-04');
    expect(again.data.encounters).toHaveLength(4);
    expect(Object.keys(again.data.encounters[0])).not.toContain('cancelled');
  }
  const never = await fetchLive(fixture.api, { search_by: 'mrn', mrn: await patientWithVisits() });
  expect(never.data).toMatchObject({ encounters: [], last_appointment_date: null });
});

test(row('LFP-24'), async () => {
  const { rows } = (await fixture.api.control('GET', '/control/appointments?patientId=10001')).body;
  const ids = fetched.filter((each) => each.visit_type !== 'TEL').map(({ id }) => id);
  expect(ids.sort()).toStrictEqual(rows.map(({ appointmentId }: Body) => appointmentId).sort());
  const today = new Date().toISOString().slice(0, 10);
  expect(fetched.some(({ date }) => date < today)).toBe(true);
  expect(fetched.some(({ date }) => date > today)).toBe(true);
});

test(row('LFP-25'), () => {
  expect(known.some(({ startTime }) => startTime > '13:00')).toBe(true);
  expect(fetched.map(({ id, date, start_time }) => ({ id, date, start_time }))).toStrictEqual(
    known.map((each) => ({ id: each.encounterId, date: isoDay(each.date), start_time: each.startTime })),
  );
  for (const { id, date, start_time } of fetched) {
    expect(id).toMatch(/./);
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(start_time).toMatch(/^([01]\d|2[0-3]):[0-5]\d$/);
  }
});

test(row('LFP-26'), () => {
  expect(calls().length).toBeGreaterThan(0);
  expect(new Set(known.map(({ visitType }) => visitType)).size).toBeGreaterThan(3);
  expect(fetched.map(({ visit_type, status }) => [visit_type, status])).toStrictEqual(
    known.map(({ visitType, statusCode }) => [visitType, statusCode]),
  );
  for (const { status } of fetched) expect(status).toMatch(/./);
});

test(row('LFP-27'), () => {
  expect(known.some(({ providerFirstName, providerLastName }) => providerFirstName && providerLastName)).toBe(true);
  for (const each of known) {
    expect(findFetched(each)).toMatchObject({
      provider_ehr_id: each.providerId,
      provider_first_name: each.providerFirstName,
      provider_last_name: each.providerLastName,
    });
  }
});

test(row('LFP-28'), () => {
  expect(known.some(({ reason, facilityName }) => reason && facilityName)).toBe(true);
  for (const { reason, facilityName, facilityId, ...each } of known) {
    expect(findFetched(each)).toMatchObject({ reason, facility_name: facilityName, facility_id: facilityId });
  }
});

test(row('LFP-29'), () => {
  expect(new Set(known.map(({ lockedFlag }) => lockedFlag))).toStrictEqual(new Set(['Y', 'N']));
  for (const each of known) expect(findFetched(each).locked).toBe(each.lockedFlag === 'Y' ? 'true' : 'false');
});

test(row('LFP-30'), () => {
  expect(calls().some(({ actions, caller, message }) => actions.length > 0 && caller && message)).toBe(true);
  for (const call of calls()) {
    expect(findFetched(call)).toMatchObject({
      caller: call.caller,
      message: call.message,
      actions: call.actions,
      notes: call.notes,
      assigned_to: call.assignedToName,
      answered_by: call.answeredBy,
      priority: call.priority,
      has_attachment: call.hasAttachment === 'Y' ? 'true' : 'false',
    });
  }
  const more = ['caller', 'message', 'actions', 'notes', 'assigned_to', 'answered_by', 'priority', 'has_attachment'];
  for (const visit of fetched.filter(({ visit_type }) => visit_type !== 'TEL')) {
    for (const field of more) expect(visit).not.toHaveProperty(field);
  }
});

test(row('LFP-31'), () => {
  const unnamed = { provider_first_name: null, provider_last_name: null, facility_name: null };
  expect(fetched.find(({ date }) => date === '2024-01-02')).toMatchObject({
    ...unnamed,
    reason: null,
    start_time: '08:30',
  });
  const call = fetched.find(({ reason }) => reason === 'Bare');
  expect(call).toMatchObject({ visit_type: 'TEL', caller: null, message: null, notes: null, actions: [] });
});
