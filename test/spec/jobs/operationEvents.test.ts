import { beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, signInToLarkspur } from '../../journeys/support.ts';
import {
  type Completed,
  complete,
  completeBooking,
  completeCall,
  free_day,
  rejectedWrites,
  rejection_reason,
} from '../support/completedJobs.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

const search = (body: Record<string, unknown>) => complete(fixture, '/v1/patients/fetch', body);

test(row('EVT-09'), async () => {
  const { ehr_id } = patient(1);
  const before = await chart.list(ehr_id, 'encounters');
  const { event } = await completeCall(fixture);
  expect(event.event_type).toBe('telephone_encounter.created');
  const known = before.map(({ encounterId }) => encounterId);
  const added = (await chart.list(ehr_id, 'encounters')).filter(({ encounterId }) => !known.includes(encounterId));
  expect(added.map(({ encounterId }) => encounterId)).toStrictEqual([event.data.emr_encounter_id]);
});

test(row('EVT-10'), async () => {
  for (const reason of ['Cough', undefined]) {
    const { accepted, event } = await completeCall(fixture, { reason });
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      emr_encounter_id: encounter.encounterId,
      patient_mrn: encounter.mrn,
      provider_id: encounter.providerId,
      location_id: encounter.facilityId,
      assigned_to_id: encounter.assignedTo,
      reason: encounter.reason,
    });
  }
});

test(row('EVT-14'), async () => {
  const unknown = await completeCall(fixture, { patient_mrn: 'LK999999' });
  expect(unknown.event.event_type).toBe('telephone_encounter.failed');
  expect(unknown.event.data.failure_reason).toContain('LK999999');
  const refused = await rejectedWrites['telephone_encounter.failed'](fixture);
  expect(refused.event.event_type).toBe('telephone_encounter.failed');
  for (const { accepted } of [unknown, refused]) {
    const sent = (await fixture.api.ledger()).filter(({ marker }) =>
      marker.startsWith(accepted.telephone_encounter_id),
    );
    expect(sent.filter(({ applied }) => applied)).toStrictEqual([]);
  }
});

test(row('EVT-15'), async () => {
  const { accepted, event } = await completeCall(fixture, { refill_medication_name: 'Warfarin' });
  expect(event.data).toStrictEqual({
    telephone_encounter_id: accepted.telephone_encounter_id,
    patient_mrn: fixture.sandbox.example.patient_mrn,
    refill_medication_name: 'Warfarin',
    failure_reason: expect.stringContaining('Warfarin'),
  });
});

test(row('EVT-16'), async () => {
  const { event } = await rejectedWrites['telephone_encounter.failed'](fixture);
  expect(event.data).toHaveProperty('refill_medication_name', null);
});

test(row('EVT-30'), async () => {
  const { accepted, event } = await completeBooking(fixture, { datetime: `${free_day}T11:00:00-04:00` });
  expect(event.event_type).toBe('appointment.created');
  expect(event.data.appointment_id).toBe(accepted.appointment_id);
  const { ehr_appointment_id } = event.data;
  const { body } = await fixture.api.control('GET', `/control/appointments?appointmentId=${ehr_appointment_id}`);
  const [year, month, day] = free_day.split('-');
  expect(body.rows).toMatchObject([{ patientId: patient(1).ehr_id, startsAt: `${month}/${day}/${year} 11:00` }]);
});

test(row('EVT-37'), async () => {
  const taken = { datetime: `${free_day}T15:00:00-04:00`, duration: '20' };
  expect((await completeBooking(fixture, taken)).event.event_type).toBe('appointment.created');
  const failures: Completed[] = [
    await rejectedWrites['appointment.failed'](fixture),
    await completeBooking(fixture, { mrn: 'LK999999' }),
  ];
  for (const { event } of failures) {
    expect(event.event_type).toBe('appointment.failed');
    expect(event.data.failure_reason).toMatch(/\S/);
  }
  expect(failures[0]?.event.data.failure_reason).toBe(rejection_reason);
  expect(failures[1]?.event.data.failure_reason).toContain('LK999999');
});

test(row('EVT-38'), async () => {
  const { mrn, ehr_id } = patient(1);
  const { body } = await fixture.api.control('GET', `/control/patients?patientId=${ehr_id}`);
  const [{ firstName, lastName }] = body.rows;
  const one = (await search({ search_by: 'mrn', mrn })).event;
  expect(one.event_type).toBe('patient.live_fetch_completed');
  expect(one.data).toMatchObject({ mrn, ehr_id, first_name: firstName, last_name: lastName });
  for (const field of ['medications', 'pharmacies', 'encounters']) expect(one.data).toHaveProperty(field);
  expect(one.data.patients).toHaveLength(1);

  const none = (await search({ search_by: 'mrn', mrn: 'NOBODY' })).event;
  expect(none.data).toStrictEqual({ success: true, patient_count: 0, patients: [] });
  await fixture.api.control('PATCH', '/control/patients/10002', { birthDate: '02/03/1950' });
  await fixture.api.control('PATCH', '/control/patients/10003', { birthDate: '02/03/1950' });
  const several = (await search({ search_by: 'dob', dob: '1950-02-03' })).event;
  expect(several.data.patients.map((each: { mrn: string }) => each.mrn).sort()).toEqual(
    expect.arrayContaining([patient(2).mrn, patient(3).mrn]),
  );
  expect(Object.keys(several.data).sort()).toStrictEqual(['patient_count', 'patients', 'success']);
});
