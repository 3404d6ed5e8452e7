import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { addClinicRow, changeClinicRow, clinicRows, expectTexts, isoDay, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
/** An appointment with every field, and one with the required fields only. */
let full: Row;
let bare: Row;
let response: ApiResponse;
/** Some of the seeded appointments. */
let seeded: Row[];
/** Larkspur's records of the appointments, by id, and of the patient and the provider. */
let rows: Map<string, Row>;
let patient: Row;
let provider: Row;
let insurances: Row[];
/** The subscriber of the first insurance. */
let spouse: Row;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const { provider_id, location_id } = fixture.sandbox.example;
  [patient] = await clinicRows(fixture, 'patients', { mrn: fixture.sandbox.example.patient_mrn });
  [provider] = await clinicRows(fixture, 'providers', { providerId: provider_id });
  const { patientId } = patient;
  await insure(patientId);
  const newPerson = await addClinicRow(fixture, 'patients', { firstName: 'Bare', lastName: 'Bones' });
  const place = { providerId: provider_id, facilityId: location_id };
  const complete = await addClinicRow(fixture, 'appointments', { ...place, ...details, patientId });
  const empty = await addClinicRow(fixture, 'appointments', {
    ...place,
    patientId: newPerson.patientId,
    startsAt: '07/15/2031 09:30',
  });
  await fixture.api.sync();
  insurances = (await clinicRows(fixture, 'patient-insurances', { patientId, activeFlag: 'Y' })).sort(
    (a, b) => a.priority - b.priority,
  );
  rows = new Map((await clinicRows(fixture, 'appointments')).map((row) => [row.appointmentId, row]));
  response = await read(complete.appointmentId);
  full = response.body.appointment;
  bare = (await read(empty.appointmentId)).body.appointment;
  const some = [...rows.keys()].filter((_, n) => n % 100 === 0);
  seeded = await Promise.all(some.map(async (ehr_id) => (await read(ehr_id)).body.appointment));
});
afterAll(() => fixture.close());

const details = {
  startsAt: '01/15/2031 09:30',
  minutes: 45,
  statusCode: 'CON',
  visitTypeCode: 'NP',
  mode: 'VIDEO',
  reason: 'Knee',
  complaintType: 'Acute',
  note: 'Bring the films',
  progressNote: 'Seen and examined',
  secondaryProviderId: '502',
  diagnoses: [
    { code: 'M25.561', description: 'Pain in right knee' },
    { code: 'I10', description: 'Essential hypertension' },
  ],
  medications: [{ name: 'Ibuprofen', strength: '400 mg', frequency: 'twice a day' }],
};

/** Replaces the insurances of the patient with two that have every field. */
async function insure(patientId: string): Promise<void> {
  for (const { insuranceId } of await clinicRows(fixture, 'patient-insurances', { patientId })) {
    await changeClinicRow(fixture, 'patient-insurances', insuranceId, { activeFlag: 'N' });
  }
  const first = { patientId, companyName: 'Example Health', subscriberNumber: 'SUB-1', groupNumber: 'GRP-1' };
  const second = { patientId, companyName: 'Sample Mutual', subscriberNumber: 'SUB-2', groupNumber: 'GRP-2' };
  const planBegins = '01/01/2026';
  spouse = await addClinicRow(fixture, 'guarantors', {
    patientId,
    firstName: 'Sam',
    lastName: 'Subscribing',
    relationshipCode: '2',
  });
  const through = { relationshipCode: '02', guarantorId: spouse.guarantorId, guarantorIsPatient: 'N' };
  await addClinicRow(fixture, 'patient-insurances', { ...first, ...through, priority: 1, planBegins });
  await addClinicRow(fixture, 'patient-insurances', { ...second, priority: 2, planBegins, relationshipCode: '01' });
}

/** Reads an appointment by its EMR id. No endpoint lists the service's ids, so they come from the database. */
async function read(ehr_id: string): Promise<ApiResponse> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM appointments WHERE ehr_id = ${ehr_id}`;
  return fixture.api.call('GET', `/v1/appointments/${row?.id}`);
}

test(row('APT-01'), () => {
  for (const { id, ehr_appointment_id } of seeded) {
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(rows.has(ehr_appointment_id)).toBe(true);
  }
});

test(row('APT-02'), () => {
  expect([full.datetime, bare.datetime]).toStrictEqual(['2031-01-15T09:30:00-05:00', '2031-07-15T09:30:00-04:00']);
  for (const { datetime, ehr_appointment_id } of seeded) {
    expect(datetime).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}[+-]\d{2}:\d{2}$/);
    const [day, time] = rows.get(ehr_appointment_id).startsAt.split(' ');
    expect(datetime.slice(0, 16)).toBe(`${isoDay(day)}T${time}`);
  }
});

test(row('APT-03'), () => {
  expect(full.duration).toBe(45);
  for (const { duration, ehr_appointment_id } of seeded) expect(duration).toBe(rows.get(ehr_appointment_id).minutes);
});

test(row('APT-04'), () => {
  expect(full).toMatchObject({ status: 'CON', appointment_mode: 'VIDEO', appointment_type: 'NP' });
  for (const { status, appointment_mode, appointment_type, ehr_appointment_id } of seeded) {
    const row = rows.get(ehr_appointment_id);
    expect([status, appointment_mode, appointment_type]).toStrictEqual([row.statusCode, row.mode, row.visitTypeCode]);
  }
});

test(row('APT-05'), () => {
  expect(full.location).toBe(fixture.sandbox.example.location_id);
  for (const { location, practice_id, ehr_appointment_id } of seeded) {
    expect(location).toBe(rows.get(ehr_appointment_id).facilityId);
    expect(practice_id).toBe('LARK01');
  }
});

test(row('APT-06'), () => {
  expect(full).toMatchObject({ reason: 'Knee', complaint_type: 'Acute' });
  for (const { reason, complaint_type, ehr_appointment_id } of seeded) {
    const row = rows.get(ehr_appointment_id);
    expect([reason, complaint_type]).toStrictEqual([row.reason, row.complaintType]);
  }
});

test(row('APT-07'), () => {
  expect(full).toMatchObject({
    patient_name: `${patient.firstName} ${patient.lastName}`,
    patient_first_name: patient.firstName,
    patient_last_name: patient.lastName,
  });
});

test(row('APT-08'), () => {
  expect(full).toMatchObject({ patient_mrn: patient.mrn, patient_ehr_id: patient.patientId });
  for (const { patient_ehr_id, ehr_appointment_id } of seeded) {
    expect(patient_ehr_id).toBe(rows.get(ehr_appointment_id).patientId);
  }
});

test(row('APT-09'), () => {
  expect(full).toMatchObject({
    patient_dob: isoDay(patient.birthDate),
    patient_gender: { M: 'male', F: 'female', U: 'unknown' }[patient.sexCode as 'M' | 'F' | 'U'],
    patient_phone: patient.cellPhone ?? patient.homePhone,
  });
  expectTexts(seeded, 'patient_dob', 'patient_gender', 'patient_phone');
});

test(row('APT-10'), () => {
  expect(full).toMatchObject({
    provider_ehr_id: provider.providerId,
    provider_name: provider.displayName,
    provider_npi: provider.npi,
  });
  for (const each of seeded) {
    for (const name of ['provider_ehr_id', 'provider_name', 'provider_npi']) expect(each[name]).toBeTypeOf('string');
  }
});

test(row('APT-11'), () => {
  expect(full.secondary_provider_ehr_id).toBe('502');
  for (const { secondary_provider_ehr_id, ehr_appointment_id } of seeded) {
    expect(secondary_provider_ehr_id).toBe(rows.get(ehr_appointment_id).secondaryProviderId);
  }
});

test(row('APT-12'), () => {
  expect(full).toMatchObject({
    insurance: 'Example Health',
    insurance_number: 'SUB-1',
    insurance_group_number: 'GRP-1',
    insurance_subscriber: `${spouse.lastName}, ${spouse.firstName}`,
  });
  expectTexts(seeded, 'insurance', 'insurance_number', 'insurance_group_number', 'insurance_subscriber');
  for (const { insurance, insurance_subscriber } of seeded) {
    if (insurance !== null) expect(insurance_subscriber).toBeTypeOf('string');
  }
});

test(row('APT-13'), () => {
  expect(full).toMatchObject({ secondary_insurance: 'Sample Mutual', secondary_insurance_number: 'SUB-2' });
  expectTexts(seeded, 'secondary_insurance', 'secondary_insurance_number');
});

test(row('APT-14'), () => {
  expect([full.insurances.length, full.diagnoses.length, full.medications.length]).toStrictEqual([2, 2, 1]);
  for (const each of [full, bare, ...seeded]) {
    for (const list of [each.insurances, each.diagnoses, each.medications]) {
      expect(list).toBeInstanceOf(Array);
      for (const element of list) expect(element).toStrictEqual(expect.any(Object));
    }
  }
});

test(row('APT-15'), () => {
  expect(full).toMatchObject({ note: 'Bring the films', progress_note: 'Seen and examined' });
  for (const { note, progress_note, ehr_appointment_id } of seeded) {
    const row = rows.get(ehr_appointment_id);
    expect([note, progress_note]).toStrictEqual([row.note, row.progressNote]);
  }
});

test(row('APT-16'), () => {
  for (const { created_at, ehr_appointment_id } of [full, ...seeded]) {
    expect(created_at).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/);
    expect(Date.parse(created_at)).toBe(Date.parse(rows.get(ehr_appointment_id).createdAt));
  }
});

test(row('APT-17'), () => {
  for (const { object_metadata } of [full, ...seeded]) {
    expect(object_metadata).toStrictEqual({
      source: expect.any(String),
      created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
    });
    expect(Date.parse(object_metadata.created_at)).toBeLessThanOrEqual(Date.now());
  }
});

test(row('APT-18'), () => {
  expect(Object.keys(bare).sort()).toStrictEqual(Object.keys(full).sort());
  expect(bare).toMatchObject({
    patient_name: 'Bare Bones',
    reason: null,
    complaint_type: null,
    patient_dob: null,
    patient_phone: null,
    secondary_provider_ehr_id: null,
    insurance: null,
    insurance_number: null,
    insurance_group_number: null,
    insurance_subscriber: null,
    secondary_insurance: null,
    secondary_insurance_number: null,
    insurances: [],
    diagnoses: [],
    medications: [],
    note: null,
    progress_note: null,
  });
});

test(row('APT-19'), async () => {
  expect(response.status).toBe(200);
  expect(response.body).toStrictEqual({ success: true, appointment: expect.any(Object) });
  const none = await fixture.api.call('GET', `/v1/appointments/${'0'.repeat(32)}`);
  expectApiError(none, 404, `Appointment with ID '${'0'.repeat(32)}' not found.`, 'id');
});

test(row('DEC-234'), () => {
  expect(full.insurances).toStrictEqual(
    insurances.map((row) => ({
      name: row.companyName,
      subscriber_number: row.subscriberNumber,
      group_number: row.groupNumber,
      priority: row.priority,
    })),
  );
});

test(row('DEC-235'), () => {
  expect(full.diagnoses).toStrictEqual(details.diagnoses);
});

test(row('DEC-236'), () => {
  expect(full.medications).toStrictEqual(details.medications);
});
