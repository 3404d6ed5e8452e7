import type * as fhir from 'fhir/r4.js';
import { beforeAll, describe, expect, test } from 'vitest';
import type { InsuranceUpdate } from '../../../../src/emr/operations/insurance.ts';
import type { EmrWrite, Saved } from '../../../../src/emr/operations/operation.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import type { NewPatient } from '../../../../src/emr/operations/patients.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { booking, document, empty_patient, guarantor, insurance } from '../inputs.ts';
import { type Charts, linkCharts, markedBy, performWrite } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

let count = 0;
const newMarker = () => `${String(++count).padStart(4, '0')}-step`;

const insured: NewPatient = {
  ...empty_patient,
  middle_name: 'Bea',
  phone: '518-555-0177',
  cell_phone: '518-555-0178',
  email: 'nova@example.org',
  address_street: '7 Mock Lane',
  address_line2: 'Apt 3',
  address_city: 'Exampleton',
  address_state: 'NY',
  address_zip: '12207',
  pcp: { first_name: 'Harper', last_name: 'Samplewell' },
  emergency_contact: { first_name: 'Kit', last_name: 'Fixtureson', relation: 'sister', phone: '518-555-0179' },
  coverages: [
    { company: { name: 'Mock Mutual' }, member_id: 'M-1', priority: 1 },
    { company: { name: 'Unheard Of Plan' }, member_id: null, priority: 2 },
  ],
};
const ofPerson = (input: InsuranceUpdate, marker: string): InsuranceUpdate => ({
  ...input,
  subscriber: { ...insurance.subscriber, first_name: `Parenta ${marker}` },
});

/** Each write and the records it must create, whatever is lost on the way. */
type Case = { write: (emr: Operations) => EmrWrite<never, unknown>; input: unknown; makes: Record<string, number> };
const cases: Record<string, Case> = {
  'a patient': { write: (emr) => emr.createPatient, input: empty_patient, makes: { Patient: 1 } },
  'a patient with two insurances': {
    write: (emr) => emr.createPatient,
    input: insured,
    makes: { Patient: 1, Coverage: 2 },
  },
  'a patient with a guarantor, a pharmacy and a referral': {
    write: (emr) => emr.createPatient,
    input: {
      ...empty_patient,
      payer: guarantor,
      coverages: [{ company: { name: 'Mock Mutual' }, member_id: 'M-1', priority: 1 }],
      pharmacy_ehr_id: 'pharm-1',
      referring: { ehr_id: 'ref-1' },
      rendering_provider_ehr_id: 'prac-1',
    },
    makes: { Patient: 1, RelatedPerson: 1, Account: 1, Coverage: 1, ServiceRequest: 1 },
  },
  'a guarantor': {
    write: (emr) => emr.addGuarantor,
    input: { ...guarantor, patient_ehr_id: 'pat-1' },
    makes: { RelatedPerson: 1 },
  },
  'an appointment': { write: (emr) => emr.createAppointment, input: booking, makes: { Appointment: 1 } },
  'a document with a task': {
    write: (emr) => emr.uploadDocument,
    input: document,
    makes: { DocumentReference: 1, Task: 1 },
  },
  'an insurance with a subscriber': {
    write: (emr) => emr.addPatientInsurance,
    input: insurance,
    makes: { Coverage: 1, RelatedPerson: 1 },
  },
  'another subscriber of an insurance': {
    // Another person with every write: the same one would keep the record.
    write: ({ updatePatientInsurance: { send, find } }) => ({
      send: (input: InsuranceUpdate, marker: string) => send(ofPerson(input, marker), marker),
      ...(find && { find: (marker: string, input: InsuranceUpdate) => find(marker, ofPerson(input, marker)) }),
    }),
    input: { insurance_ehr_id: 'cov-1', relationship: '02' },
    makes: { Coverage: 1, RelatedPerson: 1 },
  },
};

describe.each(Object.entries(cases))('%s', (_name, { write, input, makes }) => {
  test.each([
    ['with conditional create', true],
    ['without conditional create', false],
  ])('is created once on a server %s, whichever request or response is lost', async (_server, conditional_create) => {
    server.faults.conditional_create = conditional_create;
    charts = await linkCharts(server);
    // The first one also looks whether the server keeps markers.
    await performWrite(write(charts.emr), input as never, newMarker());
    charts.requests();
    await performWrite(write(charts.emr), input as never, newMarker());
    const requests = charts.requests();
    expect(requests).toBeGreaterThan(0);
    for (let n = 1; n <= requests; n++) {
      for (const when of ['before', 'after'] as const) {
        const marker = newMarker();
        charts.lose(n, when);
        const created = await performWrite(write(charts.emr), input as never, marker);
        expect(created).toMatchObject({ ehr_id: expect.any(String) });
        for (const [type, number] of Object.entries(makes)) {
          const marked = await markedBy(server, type as 'Patient', marker);
          expect(marked.length, `${type}, request ${n} lost ${when}`).toBe(number);
        }
      }
    }
  });

  test('is not sent again if the server cannot be searched for it', async () => {
    server.faults.search_by_identifier = false;
    server.faults.conditional_create = false;
    const { emr, lose, requests } = await linkCharts(server);
    // The first one also probes the searches that it needs.
    await performWrite(write(emr), input as never, newMarker());
    requests();
    await performWrite(write(emr), input as never, newMarker());
    lose(requests(), 'after');
    const marker = newMarker();
    // A patient is found by what was sent. Everything else is left to a person.
    const outcome = await performWrite(write(emr), input as never, marker).catch((error: Error) => error.message);
    if (typeof outcome === 'string') expect(outcome).toMatch(/no find|did not finish/);
    for (const [type, number] of Object.entries(makes)) {
      expect((await markedBy(server, type as 'Patient', marker)).length, type).toBe(number);
    }
  });
});

test('a new patient is stored as sent and found by its MRN', async () => {
  const marker = newMarker();
  const { ehr_id, mrn } = await charts.emr.createPatient.send(insured, marker);
  const read_back = await charts.emr.findPatient(mrn);
  const {
    payer: _p,
    coverages: _c,
    check_eligibility: _e,
    pharmacy_ehr_id: _ph,
    pcp,
    emergency_contact,
    ...said
  } = insured;
  expect(read_back).toStrictEqual({
    ...said,
    ehr_id,
    mrn,
    chart_status: 'active',
    insurance_name: 'Mock Mutual',
    insurance_subscriber_number: 'M-1',
  });
  const [patient] = await markedBy<fhir.Patient>(server, 'Patient', marker);
  expect(patient?.generalPractitioner).toStrictEqual([{ display: 'Harper Samplewell' }]);
  expect(patient?.contact?.[0]).toMatchObject({ name: { family: 'Fixtureson', given: ['Kit'] } });
  const coverages = await markedBy<fhir.Coverage>(server, 'Coverage', marker);
  expect(coverages.map(({ payor, order }) => [order, payor])).toStrictEqual([
    [1, [{ reference: 'Organization/payer-2', display: 'Mock Mutual' }]],
    // No company has this name, so the coverage has the name only.
    [2, [{ display: 'Unheard Of Plan' }]],
  ]);
});

test.each([
  ['no_email_reason', { no_email_reason: 'declined' }],
  ['default_facility_id', { default_facility_ehr_id: 'loc-1' }],
  ['check_eligibility', { check_eligibility: true }],
])('rejects a field that a FHIR Patient does not have (%s) by name before writing', async (field, more) => {
  const marker = newMarker();
  const failure = await awaitFailure(charts.emr.createPatient.send({ ...empty_patient, ...more }, marker));
  const message = `Field '${field}' is not supported by this EMR.`;
  expect(failure).toMatchObject({ code: 'not_supported', message });
  expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
});

test('an update changes the given fields, keeps the previous address and returns the values before and after', async () => {
  const { ehr_id } = await charts.emr.createPatient.send(insured, newMarker());
  const update = {
    patient_ehr_id: ehr_id,
    save_previous_address: true,
    phone: '212-555-0101',
    address_city: 'Newtown',
    email: '',
  };
  const { changes } = await charts.emr.updatePatient.send(update, newMarker());
  expect(changes.map(({ property, before, after }) => [property, before, after]).sort()).toStrictEqual([
    ['address_city', 'Exampleton', 'Newtown'],
    ['email', 'nova@example.org', null],
    ['phone', '518-555-0177', '212-555-0101'],
  ]);
  const patient = (await server.resources<fhir.Patient>('Patient')).find(({ id }) => id === ehr_id);
  expect(patient?.address).toMatchObject([
    { use: 'home', city: 'Newtown', line: ['7 Mock Lane', 'Apt 3'], postalCode: '12207' },
    { use: 'old', city: 'Exampleton', period: { end: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) } },
  ]);
  expect(patient?.telecom).toContainEqual({ system: 'phone', use: 'mobile', value: '518-555-0178' });
});

describe('a concurrent change', () => {
  const update = { save_previous_address: true, cell_phone: '212-555-0102' };
  const chart = async (id: string) => {
    const stored = (await server.resources<fhir.Patient>('Patient')).find((each) => each.id === id);
    if (!stored) throw new Error('The patient is gone.');
    return structuredClone(stored);
  };
  /** Somebody else saves the chart between our read and our write. */
  const race = async (change: (patient: fhir.Patient) => void) => {
    const { ehr_id } = await charts.emr.createPatient.send(insured, newMarker());
    charts.before('PUT', async () => {
      const patient = await chart(ehr_id);
      change(patient);
      const { meta: _version, ...changed } = patient;
      await server.storeUnchecked(changed);
    });
    return ehr_id;
  };

  test('a concurrent change of another field is kept', async () => {
    const ehr_id = await race((patient) => {
      patient.birthDate = '1991-01-01';
    });
    const { changes } = await charts.emr.updatePatient.send({ ...update, patient_ehr_id: ehr_id }, newMarker());
    expect(changes).toHaveLength(1);
    expect(await charts.emr.findPatient(ehr_id)).toMatchObject({ dob: '1991-01-01', cell_phone: '212-555-0102' });
  });

  test('a concurrent change of the same field is not overwritten', async () => {
    const ehr_id = await race((patient) => {
      patient.telecom = [{ system: 'phone', use: 'mobile', value: '315-555-0103' }];
    });
    const failure = await awaitFailure(
      charts.emr.updatePatient.send({ ...update, patient_ehr_id: ehr_id }, newMarker()),
    );
    expect(failure).toMatchObject({
      kind: 'refused',
      code: 'record_changed',
      message: 'Cell phone was changed in the EMR at the same time. Nothing was saved.',
    });
    expect(await charts.emr.findPatient(ehr_id)).toMatchObject({ cell_phone: '315-555-0103' });
  });
});

test('an update whose response was lost is found, with the previous values unknown', async () => {
  const { ehr_id } = await charts.emr.createPatient.send(insured, newMarker());
  const update = { patient_ehr_id: ehr_id, save_previous_address: true, cell_phone: '212-555-0102' };
  charts.lose(3, 'after');
  const puts = () => server.writes('Patient').filter(({ method, performed }) => method === 'PUT' && performed).length;
  const before = puts();
  const { changes } = (await performWrite(charts.emr.updatePatient, update, newMarker())) as Saved;
  expect(puts() - before).toBe(1);
  expect(changes).toMatchObject([
    { property: 'cell_phone', before: null, after: '212-555-0102', corrected: { sent: '212-555-0102' } },
  ]);
});

describe('an insurance', () => {
  test('is stored as sent, and all its fields are in the audit trail', async () => {
    const { ehr_id, changes } = await charts.emr.addPatientInsurance.send(insurance, newMarker());
    const listed = await charts.emr.listPatientInsurances('pat-2');
    expect(listed.find((each) => each.emr_insurance_id === ehr_id)).toStrictEqual({
      emr_insurance_id: ehr_id,
      priority: 2,
      insurance_ehr_id: 'payer-2',
      insurance_name: 'Mock Mutual',
      insurance_subscriber_number: 'MEM-9',
      group_id: 'GRP-9',
      plan_begin_date: '2026-01-01',
      copayment: '12.50',
      relationship_to_subscriber: '19',
      guarantor_id: expect.any(String),
      is_guarantor_patient: false,
    });
    const trail = Object.fromEntries(changes.map(({ property, before, after }) => [property, [before, after]]));
    expect(trail).toMatchObject({
      member_id: [null, 'MEM-9'],
      copayment: [null, '12.50'],
      'subscriber_demographics.last_name': [null, 'Mockberry'],
      'subscriber_demographics.zip': [null, '12207'],
    });
  });

  test.each([
    ['01', true],
    ['02', false],
    ['32', false],
    ['17', false],
    ['20', false],
    ['53', false],
    ['25', false],
  ] as const)('keeps the relationship %s', async (relationship, is_patient) => {
    const { subscriber, ...plain } = insurance;
    const input = { ...plain, relationship, ...(is_patient ? {} : { subscriber }) };
    const { ehr_id } = await charts.emr.addPatientInsurance.send(input, newMarker());
    const added = (await charts.emr.listPatientInsurances('pat-2')).find((each) => each.emr_insurance_id === ehr_id);
    expect(added).toMatchObject({ relationship_to_subscriber: relationship, is_guarantor_patient: is_patient });
  });

  test('is changed in the given fields only', async () => {
    const { ehr_id } = await charts.emr.addPatientInsurance.send(insurance, newMarker());
    const update = { insurance_ehr_id: ehr_id, company_ehr_id: 'payer-3', member_id: 'NEW-1', copayment: 20 };
    const { changes } = await charts.emr.updatePatientInsurance.send(update, newMarker());
    expect(changes.map(({ property, before, after }) => [property, before, after]).sort()).toStrictEqual([
      ['copayment', '12.50', '20.00'],
      ['insurance_ehr_id', 'payer-2', 'payer-3'],
      ['insurance_name', 'Mock Mutual', 'Sample Health Plan'],
      ['member_id', 'MEM-9', 'NEW-1'],
    ]);
    const added = (await charts.emr.listPatientInsurances('pat-2')).find((each) => each.emr_insurance_id === ehr_id);
    expect(added).toMatchObject({
      group_id: 'GRP-9',
      plan_begin_date: '2026-01-01',
      insurance_name: 'Sample Health Plan',
    });
  });
});

describe('language, race and ethnicity', () => {
  test('are stored where US Core has them, by name or code', async () => {
    const marker = newMarker();
    const codes = { language: 'spanish', race: 'asian', ethnicity: '2186-5' };
    await charts.emr.createPatient.send({ ...empty_patient, ...codes }, marker);
    const [patient] = await markedBy<fhir.Patient>(server, 'Patient', marker);
    expect(patient?.communication).toMatchObject([{ language: { coding: [{ code: 'es' }] }, preferred: true }]);
    const shown = patient?.extension?.map(({ url, extension }) => [url.split('/').at(-1), extension?.[1]?.valueString]);
    expect(shown).toStrictEqual([
      ['us-core-race', 'Asian'],
      ['us-core-ethnicity', 'Not Hispanic or Latino'],
    ]);
  });

  test.each([
    ['language', 'Klingonese', /no language 'Klingonese'/],
    ['race', 'Purple', /no race 'Purple'. Available: American Indian or Alaska Native, Asian/],
    ['ethnicity', 'X', /Available: Hispanic or Latino, Not Hispanic or Latino/],
  ])(
    'a language, race or ethnicity that FHIR does not know (%s) is refused with the accepted values',
    async (field, value, message) => {
      const marker = newMarker();
      const failure = await awaitFailure(charts.emr.createPatient.send({ ...empty_patient, [field]: value }, marker));
      expect(failure).toMatchObject({ code: 'unknown_value', message: expect.stringMatching(message) });
      expect(await markedBy(server, 'Patient', marker)).toStrictEqual([]);
    },
  );

  test('are refused by name on a server without US Core', async () => {
    server.faults.us_core = false;
    const { emr } = await linkCharts(server);
    expect(await awaitFailure(emr.createPatient.send({ ...empty_patient, race: 'Asian' }, newMarker()))).toMatchObject({
      message: "Field 'race' is not supported by this EMR.",
    });
  });
});

describe('what US Core requires', () => {
  test('is in an insurance without a stated relationship', async () => {
    const marker = newMarker();
    const { relationship: _r, subscriber: _s, ...plain } = insurance;
    await charts.emr.addPatientInsurance.send(plain, marker);
    expect(await markedBy<fhir.Coverage>(server, 'Coverage', marker)).toMatchObject([
      { relationship: { coding: [{ code: 'self' }] }, subscriber: { reference: 'Patient/pat-2' } },
    ]);
  });

  test('a primary care provider is linked by name if exactly one practitioner has it', async () => {
    const named = async (first_name: string, last_name: string) => {
      const marker = newMarker();
      await charts.emr.createPatient.send({ ...empty_patient, pcp: { first_name, last_name } }, marker);
      const [patient] = await markedBy<fhir.Patient>(server, 'Patient', marker);
      return patient?.generalPractitioner;
    };
    const practitioner = (id: string): fhir.Practitioner => ({
      resourceType: 'Practitioner',
      id,
      name: [{ family: 'Uniquely', given: ['Ona'] }],
    });
    await server.storeUnchecked(practitioner('unique'));
    expect(await named('ona', 'UNIQUELY')).toStrictEqual([{ reference: 'Practitioner/unique' }]);
    await server.storeUnchecked(practitioner('not-unique'));
    expect(await named('Ona', 'Uniquely')).toStrictEqual([{ display: 'Ona Uniquely' }]);
  });
});

describe('the subscriber of an insurance', () => {
  test('is the same record when several insurances of the patient are changed to the same person', async () => {
    const { relationship: _r, subscriber: _s, ...plain } = insurance;
    const subscriber = { ...insurance.subscriber, first_name: 'Reused' };
    const people = async () =>
      (await server.resources<fhir.RelatedPerson>('RelatedPerson')).filter(
        ({ name }) => name?.[0]?.given?.[0] === 'Reused',
      );
    for (const phone of ['518-555-0188', '518-555-0189']) {
      const { ehr_id } = await charts.emr.addPatientInsurance.send(plain, newMarker());
      const update = { insurance_ehr_id: ehr_id, relationship: '02' as const, subscriber: { ...subscriber, phone } };
      await charts.emr.updatePatientInsurance.send(update, newMarker());
      await charts.emr.updatePatientInsurance.send(update, newMarker());
      expect(await people()).toMatchObject([{ telecom: [{ value: phone }] }]);
      expect(await findGuarantor(ehr_id)).toBe((await people())[0]?.id);
    }
  });

  const properties = (changes: readonly { property: string; before: string | null; after: string | null }[]) =>
    Object.fromEntries(changes.map(({ property, before, after }) => [property, [before, after]]));
  const findGuarantor = async (ehr_id: string) =>
    (await charts.emr.listPatientInsurances('pat-2')).find((each) => each.emr_insurance_id === ehr_id)?.guarantor_id;

  test('keeps the record and the fields that were not sent if an update names the same person', async () => {
    const { ehr_id } = await charts.emr.addPatientInsurance.send(insurance, newMarker());
    const before = await findGuarantor(ehr_id);
    const { first_name, last_name } = insurance.subscriber;
    const person = { first_name: first_name.toUpperCase(), last_name, phone: '518-555-0199' };
    const update = { insurance_ehr_id: ehr_id, subscriber: { ...person, first_name } };
    const { changes } = await charts.emr.updatePatientInsurance.send(update, newMarker());
    expect(properties(changes)).toStrictEqual({
      'subscriber_demographics.phone': [insurance.subscriber.phone, '518-555-0199'],
    });
    await charts.emr.updatePatientInsurance.send({ insurance_ehr_id: ehr_id, subscriber: person }, newMarker());
    expect(await findGuarantor(ehr_id)).toBe(before);
    const stored = (await server.resources<fhir.RelatedPerson>('RelatedPerson')).find(({ id }) => id === before);
    expect(stored?.birthDate).toBe(insurance.subscriber.dob);
  });

  test('becomes a new record, without values of the previous one, if an update names another person', async () => {
    const { ehr_id } = await charts.emr.addPatientInsurance.send(insurance, newMarker());
    const before = await findGuarantor(ehr_id);
    const subscriber = { first_name: 'Someone', last_name: 'Else' };
    const { changes } = await charts.emr.updatePatientInsurance.send(
      { insurance_ehr_id: ehr_id, subscriber },
      newMarker(),
    );
    const after = await findGuarantor(ehr_id);
    expect(after).not.toBe(before);
    expect(properties(changes)['subscriber_demographics.first_name']).toStrictEqual([
      insurance.subscriber.first_name,
      'Someone',
    ]);
    const stored = (await server.resources<fhir.RelatedPerson>('RelatedPerson')).find(({ id }) => id === after);
    expect(stored?.birthDate).toBeUndefined();
  });
});

describe('an appointment', () => {
  const at = (starts_at: string, more = {}) => ({ ...booking, starts_at, prevent_double_booking: true, ...more });

  test('is stored as booked, in the local time of the practice', async () => {
    const { ehr_id } = await charts.emr.createAppointment.send(at('2031-07-01T08:30:00'), newMarker());
    expect(await charts.emr.getAppointment(ehr_id)).toMatchObject({
      ehr_id,
      starts: '2031-07-01T08:30:00-04:00',
      minutes: 20,
      status: 'booked',
      cancelled: false,
      appointment_type: 'FOLLOWUP',
      facility_ehr_id: 'loc-1',
      provider_ehr_id: 'prac-1',
      secondary_provider_ehr_id: 'prac-2',
      patient_mrn: 'MB100001',
      reason: 'Synthetic reason',
      note: 'Synthetic note',
    });
  });

  test('an appointment that overlaps another one is refused as a conflict with prevent_double_booking', async () => {
    await charts.emr.createAppointment.send(at('2031-07-02T09:00:00'), newMarker());
    const failure = await awaitFailure(charts.emr.createAppointment.send(at('2031-07-02T09:10:00'), newMarker()));
    const details = 'The provider has an appointment from 09:00 to 09:20.';
    expect(failure).toMatchObject({
      kind: 'refused',
      code: 'slot_taken',
      details: { conflict_type: 'appointment', conflict_details: details },
    });
    await charts.emr.createAppointment.send(at('2031-07-02T09:20:00'), newMarker());
    await charts.emr.createAppointment.send(at('2031-07-02T09:10:00', { prevent_double_booking: false }), newMarker());
  });

  test('an appointment that overlaps one in which the provider participates through a role is refused too', async () => {
    await server.storeUnchecked({
      resourceType: 'Appointment',
      id: 'by-role',
      status: 'booked',
      start: '2031-07-05T13:00:00Z',
      end: '2031-07-05T13:30:00Z',
      participant: [{ actor: { reference: 'PractitionerRole/role-prac-1' }, status: 'accepted' }],
    });
    const failure = await awaitFailure(charts.emr.createAppointment.send(at('2031-07-05T09:10:00'), newMarker()));
    expect(failure.details).toMatchObject({ conflict_type: 'appointment' });
  });

  test('an appointment at a blocked time is refused as a block', async () => {
    await server.storeUnchecked({
      resourceType: 'Slot',
      id: 'closed',
      schedule: { reference: 'Schedule/sched-1' },
      status: 'busy-unavailable',
      start: '2031-07-03T13:00:00Z',
      end: '2031-07-03T14:00:00Z',
    });
    const failure = await awaitFailure(charts.emr.createAppointment.send(at('2031-07-03T09:30:00'), newMarker()));
    expect(failure).toMatchObject({ code: 'slot_taken', details: { conflict_type: 'block' } });
  });

  test('an appointment that is booked twice concurrently exists once', async () => {
    const others = await Promise.all([1, 2, 3].map(() => linkCharts(server)));
    const outcomes = await Promise.allSettled(
      others.map(({ emr }) => emr.createAppointment.send(at('2031-07-04T11:00:00'), newMarker())),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const start = Date.parse('2031-07-04T15:00:00Z');
    const stored = (await server.resources<fhir.Appointment>('Appointment')).filter(
      (each) => Date.parse(each.start ?? '') === start && each.status === 'booked',
    );
    expect(stored).toHaveLength(1);
  });

  test.each([
    ['an unknown visit type', { visit_type: 'XYZ' }, 'unknown_value', /has no visit type 'XYZ'/],
    ['a flag that FHIR does not have', { new_patient: true }, 'not_supported', /'new_patient' is not supported/],
  ])('an appointment with %s is refused', async (_what, more, code, message) => {
    const failure = await awaitFailure(charts.emr.createAppointment.send(at('2031-07-05T11:00:00', more), newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', code, message: expect.stringMatching(message) });
  });

  test('an appointment without a duration, and without one in the schedule, gets the given default', async () => {
    const input = at('2031-07-08T11:00:00-04:00', { minutes: null, default_minutes: 25 });
    const { ehr_id } = await charts.emr.createAppointment.send(input, newMarker());
    expect(await charts.emr.getAppointment(ehr_id)).toMatchObject({ minutes: 25 });
  });

  test.each(['2027-11-07T01:30:00-04:00', '2027-11-07T01:30:00-05:00'])(
    'an appointment at %s, in an hour that occurs twice, keeps its instant',
    async (starts) => {
      const { ehr_id } = await charts.emr.createAppointment.send(at(starts), newMarker());
      expect((await charts.emr.getAppointment(ehr_id))?.starts).toBe(starts);
    },
  );

  test('an appointment without a duration uses that of the free slot', async () => {
    await server.storeUnchecked({
      resourceType: 'Slot',
      id: 'open',
      schedule: { reference: 'Schedule/sched-1' },
      status: 'free',
      start: '2031-07-06T13:00:00Z',
      end: '2031-07-06T13:45:00Z',
    });
    const { ehr_id } = await charts.emr.createAppointment.send(
      at('2031-07-06T09:00:00', { minutes: null }),
      newMarker(),
    );
    expect(await charts.emr.getAppointment(ehr_id)).toMatchObject({ minutes: 45 });
  });
});
