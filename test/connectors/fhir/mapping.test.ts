import type * as fhir from 'fhir/r4.js';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { toAppointment } from '../../../src/emr/fhir/appointments/appointments.ts';
import { toAbsences, toHours } from '../../../src/emr/fhir/appointments/hours.ts';
import { allergyToAlert, flagToAlert } from '../../../src/emr/fhir/chart/alerts.ts';
import { toMedication } from '../../../src/emr/fhir/chart/medications.ts';
import { type RelatedRecords as OrderSurroundings, toOrder } from '../../../src/emr/fhir/chart/orders.ts';
import { type RelatedRecords as ClaimSurroundings, toClaim } from '../../../src/emr/fhir/claims/claims.ts';
import { toInsurance } from '../../../src/emr/fhir/coverage/coverage.ts';
import {
  type RelatedRecords as EligibilitySurroundings,
  toEligibilityCheck,
} from '../../../src/emr/fhir/coverage/eligibility.ts';
import { toPolicy } from '../../../src/emr/fhir/coverage/policies.ts';
import { appointmentToEncounter, toEncounter } from '../../../src/emr/fhir/encounters/encounters.ts';
import { toPatient } from '../../../src/emr/fhir/patients/patients.ts';
import { toLocation } from '../../../src/emr/fhir/practice/locations.ts';
import { isInsurer, isPharmacy, toInsuranceProvider } from '../../../src/emr/fhir/practice/organizations.ts';
import { locationToPharmacy, toPharmacy } from '../../../src/emr/fhir/practice/pharmacies.ts';
import { toProvider, toReferringProvider, toStaffMember } from '../../../src/emr/fhir/practice/providers.ts';
import { LiveEncounter, LiveInsurance } from '../../../src/model/liveChart.ts';
import { AppointmentSource } from '../../../src/model/records/appointments.ts';
import { ClaimSource } from '../../../src/model/records/claims.ts';
import { EligibilityCheckSource } from '../../../src/model/records/eligibilityChecks.ts';
import { InsuranceProviderSource } from '../../../src/model/records/insuranceProviders.ts';
import { LocationSource } from '../../../src/model/records/locations.ts';
import { OrderSource } from '../../../src/model/records/orders.ts';
import { PatientInsuranceSource } from '../../../src/model/records/patientInsurances.ts';
import { PatientSource } from '../../../src/model/records/patients.ts';
import { PharmacySource } from '../../../src/model/records/pharmacies.ts';
import { ProviderSource } from '../../../src/model/records/providers.ts';
import { ReferringProviderSource } from '../../../src/model/records/referringProviders.ts';
import { StaffMemberSource } from '../../../src/model/records/staff.ts';
import { timezone } from './chart/charts.ts';

const none = new Map<string, never>();
const no_related_records: ClaimSurroundings & OrderSurroundings & EligibilitySurroundings = {
  patients: none,
  practitioners: none,
  roles: none,
  encounters: none,
  coverages: none,
  companies: none,
  conditions: none,
  adjudications: none,
  mrn_rule: undefined,
  reports: none,
  observations: none,
  subscribers: none,
};
const people = { practitioners: none, roles: none, owners: none, locations: none };
const id = 'x-1';
const patient: fhir.Patient = { resourceType: 'Patient', id: 'p1' };
const related = { ...no_related_records, patients: new Map([['p1', patient]]) };

/** Each mapping with a resource that has only the fields R4 requires, and with one whose fields have wrong types. */
const bare: [string, TSchema, (fail: object) => unknown][] = [
  ['patient', PatientSource, (b) => toPatient({ resourceType: 'Patient', id, ...b }, undefined, timezone, undefined)],
  ['provider', ProviderSource, (b) => toProvider({ resourceType: 'Practitioner', id, ...b }, [], [], timezone)],
  ['staff member', StaffMemberSource, (b) => toStaffMember({ resourceType: 'Practitioner', id, ...b }, [])],
  ['referrer', ReferringProviderSource, (b) => toReferringProvider({ resourceType: 'Practitioner', id, ...b }, [])],
  ['location', LocationSource, (b) => toLocation({ resourceType: 'Location', id, ...b })],
  ['pharmacy', PharmacySource, (b) => toPharmacy({ resourceType: 'Organization', id, ...b })],
  ['pharmacy location', PharmacySource, (b) => locationToPharmacy({ resourceType: 'Location', id, ...b })],
  ['insurer', InsuranceProviderSource, (b) => toInsuranceProvider({ resourceType: 'Organization', id, ...b })],
  [
    'appointment',
    AppointmentSource,
    (b) =>
      toAppointment(
        { resourceType: 'Appointment', id, status: 'booked', start: '2026-03-08T14:00:00Z', participant: [], ...b },
        { patients: none, roles: none, owners: none, mrn_rule: undefined },
        timezone,
      ),
  ],
  [
    'insurance',
    LiveInsurance,
    (b) => {
      const coverage: fhir.Coverage = {
        resourceType: 'Coverage',
        id,
        status: 'active',
        beneficiary: {},
        payor: [],
        ...b,
      };
      return toInsurance({ coverage, payer_name: null }, 1, timezone);
    },
  ],
  [
    'encounter',
    LiveEncounter,
    (b) => toEncounter({ resourceType: 'Encounter', id, status: 'finished', class: {}, ...b }, people, timezone),
  ],
  [
    'booked encounter',
    LiveEncounter,
    (b) =>
      appointmentToEncounter(
        { resourceType: 'Appointment', id, status: 'booked', participant: [], ...b },
        people,
        timezone,
      ),
  ],
  [
    'claim',
    ClaimSource,
    (b) => {
      const claim = { resourceType: 'Claim', id, created: '2026-01-02', ...b };
      // Fields that R4 requires but the mapping does not use are omitted on purpose.
      return toClaim(claim as unknown as fhir.Claim, no_related_records, timezone);
    },
  ],
  [
    'order',
    OrderSource,
    (b) => {
      const order = {
        resourceType: 'ServiceRequest',
        id,
        subject: { reference: 'Patient/p1' },
        authoredOn: '2026-01-02',
        ...b,
      };
      return toOrder(order as unknown as fhir.ServiceRequest, related, timezone);
    },
  ],
  [
    'eligibility check',
    EligibilityCheckSource,
    (b) => {
      const response = { resourceType: 'CoverageEligibilityResponse', id, created: '2026-01-02', ...b };
      return toEligibilityCheck(response as unknown as fhir.CoverageEligibilityResponse, no_related_records, timezone);
    },
  ],
  [
    'policy',
    PatientInsuranceSource,
    (b) => {
      const coverage = { resourceType: 'Coverage', id, ...b } as unknown as fhir.Coverage;
      return toPolicy({ coverage, payer_name: null }, 1, { patient, mrn_rule: undefined, timezone });
    },
  ],
];

const wrong_kinds = {
  name: { family: 7 },
  identifier: 'none',
  telecom: [null, 'phone'],
  address: 4,
  gender: 3,
  birthDate: 19900101,
  extension: false,
  type: null,
  alias: {},
  category: null,
  reasonCode: 'pain',
  insurance: {},
  item: 'one',
  diagnosis: [null],
  performer: true,
  period: 'always',
  class: 'x',
  costToBeneficiary: 5,
};

describe.each(bare)('a %s', (_name, schema, map) => {
  test('a record without any field is mapped to a valid one', () => {
    const mapped = map({});
    expect(mapped).toBeDefined();
    expect([...Compile(schema).Errors(mapped)]).toStrictEqual([]);
  });

  test('a record with fields of wrong types is mapped to a valid one', () => {
    expect([...Compile(schema).Errors(map(wrong_kinds))]).toStrictEqual([]);
  });
});

test('a patient is mapped with the medical record number and the current name, phone and address', () => {
  const full: fhir.Patient = {
    resourceType: 'Patient',
    id,
    identifier: [
      { system: 'http://hl7.org/fhir/sid/us-ssn', value: '000-00-0000' },
      { use: 'old', type: { coding: [{ code: 'MR' }] }, value: 'OLD-1' },
      { type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] }, value: 'MB-7' },
    ],
    name: [
      { use: 'maiden', family: 'Former', given: ['Ada'] },
      { use: 'usual', given: ['Addie'] },
      { use: 'official', family: 'Testpatient', given: ['Ada', 'Bea', 'Cleo'], prefix: ['Dr.'] },
    ],
    gender: 'other',
    birthDate: '1981-04-12',
    telecom: [
      { system: 'phone', use: 'old', value: '518-555-0100' },
      { system: 'phone', use: 'work', value: '518-555-0101' },
      { system: 'phone', use: 'home', value: '+1 (518) 555-0102' },
      { system: 'phone', use: 'mobile', rank: 2, value: '5185550103' },
      { system: 'phone', use: 'mobile', rank: 1, value: 'tel:518.555.0104' },
      { system: 'email', value: 'ada@example.org' },
    ],
    address: [
      { use: 'old', line: ['1 Former Street'] },
      { use: 'billing', line: ['2 Billing Street'] },
      {
        use: 'home',
        line: ['3 Mock Lane', 'Apt 7', 'Back door'],
        city: 'Exampleton',
        state: 'NY',
        postalCode: '12207',
      },
    ],
  };
  const coverage: fhir.Coverage = {
    resourceType: 'Coverage',
    id,
    status: 'active',
    beneficiary: {},
    payor: [],
    subscriberId: 'S1',
  };
  expect(toPatient(full, { coverage, payer_name: 'Mock Mutual' }, timezone, undefined)).toStrictEqual({
    ehr_id: id,
    mrn: 'MB-7',
    first_name: 'Ada',
    middle_name: 'Bea Cleo',
    last_name: 'Testpatient',
    dob: '1981-04-12',
    sex: 'unknown',
    phone: '518-555-0102',
    cell_phone: '518-555-0104',
    email: 'ada@example.org',
    address_street: '3 Mock Lane',
    address_line2: 'Apt 7, Back door',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '12207',
    insurance_name: 'Mock Mutual',
    insurance_subscriber_number: 'S1',
  });
});

test.each([
  ['by the server’s id if there is no number', {}, id],
  [
    'by the usual number if none is marked as medical record number',
    { identifier: [{ use: 'usual' as const, value: 'U-1' }] },
    'U-1',
  ],
  [
    'never by a number of another kind',
    { identifier: [{ type: { coding: [{ code: 'SS' }] }, value: '000-00-0000' }] },
    id,
  ],
])('a patient is identified %s', (_how, more, mrn) => {
  expect(toPatient({ resourceType: 'Patient', id, ...more }, undefined, timezone, undefined).mrn).toBe(mrn);
});

test('a name without parts is not split, and a year of birth is not a date', () => {
  const mapped = toPatient(
    { resourceType: 'Patient', id, name: [{ text: 'Ada B. Testpatient' }], birthDate: '1981' },
    undefined,
    timezone,
    undefined,
  );
  expect(mapped).toMatchObject({ first_name: '', last_name: 'Ada B. Testpatient', dob: null });
});

describe('hours', () => {
  const role: fhir.PractitionerRole = {
    resourceType: 'PractitionerRole',
    id: 'r1',
    practitioner: { reference: 'Practitioner/prac-1' },
    location: [{ reference: 'Location/a' }, { reference: 'Location/b' }],
    period: { start: '2026-01-05' },
    availableTime: [
      { daysOfWeek: ['mon', 'wed'], availableStartTime: '09:00:00', availableEndTime: '12:30:00' },
      { daysOfWeek: ['sun'], allDay: true },
      { daysOfWeek: ['tue'], availableStartTime: '12:00:00', availableEndTime: '09:00:00' },
      { daysOfWeek: ['thu'] },
    ],
    notAvailable: [
      { description: 'Vacation', during: { start: '2031-01-01', end: '2031-01-02' } },
      { description: 'Away as a rule' },
    ],
  };

  test('are the weekly hours of the roles if there are no slots', () => {
    const shift = { start: 'T09:00:00', end: 'T12:30:00', set_start_date: '2026-01-05T00:00:00' };
    const night = { start: 'T00:00:00', end: 'T24:00:00', set_start_date: '2026-01-05T00:00:00' };
    const both = (one: object) => [
      { ...one, facility_id: 'a' },
      { ...one, facility_id: 'b' },
    ];
    expect(toHours([role], [], timezone)).toStrictEqual(
      [
        { day: 'Monday', shifts: both(shift) },
        { day: 'Wednesday', shifts: both(shift) },
        { day: 'Sunday', shifts: both(night) },
      ].map(({ day, shifts }) => ({ day, shifts: shifts.map((each) => expect.objectContaining(each)) })),
    );
  });

  test.each([
    ['23:59:59', 'T24:00:00'],
    ['00:00:00', 'T24:00:00'],
    ['23:59:00', 'T23:59:00'],
    ['23:59:58', 'T23:59:00'],
    ['18:00:00', undefined],
    ['06:00:00', undefined],
  ])('hours from 18:00 until %s end at %s', (availableEndTime, end) => {
    const late = { daysOfWeek: ['mon' as const], availableStartTime: '18:00:00', availableEndTime };
    const hours = toHours([{ ...role, availableTime: [late] }], [], timezone);
    expect(hours[0]?.shifts[0]?.end).toBe(end);
  });

  test('are the free slots per day if there are any, with consecutive slots as one shift', () => {
    const of = { provider_ehr_id: 'prac-1', facility_ehr_id: 'a', slot_id: 's', minutes: 30 };
    const slots = [
      { ...of, status: 'free', day: '2031-03-03', from_min: 570 },
      { ...of, status: 'free', day: '2031-03-03', from_min: 540 },
      { ...of, status: 'busy', day: '2031-03-03', from_min: 600 },
      { ...of, status: 'free', day: '2031-03-03', from_min: 630 },
      { ...of, status: 'free', day: '2031-03-04', from_min: 540 },
    ];
    const on = (day: string) => ({
      facility_id: 'a',
      set_start_date: `${day}T00:00:00`,
      set_end_date: `${day}T00:00:00`,
    });
    expect(toHours([role], slots, timezone)).toStrictEqual([
      {
        day: 'Monday',
        shifts: [
          { start: 'T09:00:00', end: 'T10:00:00', ...on('2031-03-03') },
          { start: 'T10:30:00', end: 'T11:00:00', ...on('2031-03-03') },
        ],
      },
      { day: 'Tuesday', shifts: [{ start: 'T09:00:00', end: 'T09:30:00', ...on('2031-03-04') }] },
    ]);
  });

  test('are blocked on each day of an absence', () => {
    const blocks = toAbsences(role, timezone, ['2030-12-30', '2031-03-31']);
    expect(blocks.map(({ starts, minutes, reason }) => [starts, minutes, reason])).toStrictEqual([
      ['2031-01-01T00:00:00', 1440, 'Vacation'],
      ['2031-01-02T00:00:00', 1440, 'Vacation'],
    ]);
  });
});

test('insurers and pharmacies are identified by their codes', () => {
  const typed = (system: string, code: string): fhir.Organization => ({
    resourceType: 'Organization',
    type: [{ coding: [{ system, code }] }],
  });
  const types = 'http://terminology.hl7.org/CodeSystem/organization-type';
  expect([typed(types, 'ins'), typed(types, 'pay'), typed(types, 'prov')].map(isInsurer)).toStrictEqual([
    true,
    true,
    false,
  ]);
  const nucc = 'http://nucc.org/provider-taxonomy';
  expect(
    [typed(nucc, '3336C0003X'), typed('http://snomed.info/sct', '264372000'), typed(types, 'prov')].map(isPharmacy),
  ).toStrictEqual([true, true, false]);
});

test('a medication has name, strength, frequency, start date and refills', () => {
  const medication: fhir.Medication = {
    resourceType: 'Medication',
    id: 'm',
    code: { coding: [{ display: 'metformin 500 MG Oral Tablet' }] },
    ingredient: [
      {
        itemCodeableConcept: {},
        strength: { numerator: { value: 500, unit: 'mg' }, denominator: { value: 1, unit: 'tablet' } },
      },
    ],
  };
  const request: fhir.MedicationRequest = {
    resourceType: 'MedicationRequest',
    id,
    status: 'active',
    intent: 'order',
    subject: {},
    contained: [medication],
    medicationReference: { reference: '#m' },
    authoredOn: '2026-02-01T02:00:00Z',
    dosageInstruction: [{ text: 'Twice a day' }],
    dispenseRequest: { numberOfRepeatsAllowed: 0 },
    note: [{ text: 'With food' }, { text: 'Review in May' }],
  };
  expect(toMedication(request, none, timezone)).toStrictEqual({
    ehr_id: id,
    name: 'metformin 500 MG Oral Tablet',
    strength: '500 mg/tablet',
    frequency: 'Twice a day',
    start_date: '2026-01-31',
    refills: '0',
    notes: 'With food\nReview in May',
    active: true,
  });
});

test('flags and allergies are alerts', () => {
  const flag: fhir.Flag = {
    resourceType: 'Flag',
    status: 'active',
    code: { text: 'Fall risk' },
    subject: {},
    category: [{ coding: [{ display: 'Safety' }] }],
    period: { end: '2031-01-01' },
  };
  expect(flagToAlert(flag, timezone)).toMatchObject({
    name: 'Fall risk',
    alert_type: 'Safety',
    expiry_date: '2031-01-01',
  });
  const allergy: fhir.AllergyIntolerance = {
    resourceType: 'AllergyIntolerance',
    patient: {},
    code: { coding: [{ display: 'Penicillin' }] },
    criticality: 'high',
    reaction: [{ manifestation: [{ text: 'Hives' }, { text: 'Wheezing' }] }],
  };
  expect(allergyToAlert(allergy)).toMatchObject({ name: 'Penicillin', notes: 'Hives, Wheezing', priority: 'high' });
});

test('a claim adds up the insurers’ amounts to the cent', () => {
  const claim: fhir.Claim = {
    resourceType: 'Claim',
    id: 'c1',
    status: 'active',
    use: 'claim',
    type: { coding: [{ code: 'professional' }] },
    patient: { reference: 'Patient/p1', display: 'Ada Testpatient' },
    created: '2026-01-20',
    provider: { display: 'Harper Samplewell' },
    priority: {},
    insurance: [{ sequence: 1, focal: true, coverage: { display: 'Mock Mutual' } }],
    diagnosis: [
      { sequence: 2, diagnosisCodeableConcept: { coding: [{ code: 'I10' }] } },
      { sequence: 1, diagnosisCodeableConcept: { coding: [{ code: 'E11.9' }] } },
    ],
    item: [
      {
        sequence: 1,
        productOrService: { coding: [{ code: '99213', display: 'Office visit' }] },
        servicedDate: '2026-01-15',
        net: { value: 100.1 },
        quantity: { value: 1 },
        diagnosisSequence: [1, 2],
        modifier: [{ coding: [{ code: '25' }] }],
      },
      { sequence: 2, productOrService: { text: 'Blood count' }, servicedDate: '2026-01-14', net: { value: 0.2 } },
    ],
  };
  const response: fhir.ClaimResponse = {
    resourceType: 'ClaimResponse',
    id: 'a1',
    status: 'active',
    use: 'claim',
    type: {},
    patient: {},
    created: '2026-02-01',
    insurer: { display: 'Mock Mutual' },
    outcome: 'complete',
    disposition: 'Settled.',
    item: [
      { itemSequence: 1, adjudication: [{ category: { coding: [{ code: 'eligible' }] }, amount: { value: 80 } }] },
    ],
    total: [{ category: { coding: [{ code: 'deductible' }] }, amount: { value: 20.05 } }],
    payment: {
      type: {},
      date: '2026-02-02',
      amount: { value: 70.1 },
      adjustment: { value: 10.05 },
      adjustmentReason: { coding: [{ code: 'A001' }] },
      identifier: { value: 'CHK-1' },
    },
  };
  expect(toClaim(claim, { ...related, adjudications: new Map([['c1', [response]]]) }, timezone)).toMatchObject({
    service_date: '2026-01-14',
    claim_date: '2026-01-20',
    claim_status: 'active',
    claim_status_description: 'Settled.',
    patient_name: 'Ada Testpatient',
    patient_mrn: 'p1',
    provider_name: 'Harper Samplewell',
    total_charge: 100.3,
    total_payment: 70.1,
    net_adjustment: 10.05,
    balance: 20.15,
    patient_responsibility: 20.05,
    icd_codes: ['E11.9', 'I10'],
    insurances: [{ insurance_name: 'Mock Mutual', sequence_number: '1' }],
    line_items: [
      { line_number: 1, cpt_code: '99213', allowed_amount: 80, icd_pointers: ['E11.9', 'I10'], modifiers: ['25'] },
      { line_number: 2, cpt_code: null, description: 'Blood count', allowed_amount: null },
    ],
    payments: [{ check_number: 'CHK-1', amount: 70.1, deductible: 20.05, era_adjustment_codes: { A001: 10.05 } }],
    balances: { balance: '20.15', total_payment: '70.10' },
  });
});

test('a claim without an adjudication has no payments', () => {
  const claim = { resourceType: 'Claim', id: 'c1', status: 'cancelled', created: '2026-01-20', total: { value: 50 } };
  const mapped = toClaim(claim as unknown as fhir.Claim, no_related_records, timezone);
  expect(mapped).toMatchObject({ total_charge: 50, total_payment: null, balance: null, void_flag: true, payments: [] });
});

test('an eligibility check has the plan of its coverage, and a line per benefit', () => {
  const concept = (code: string, display?: string) => ({ coding: [{ code, ...(display && { display }) }] });
  const coverage: fhir.Coverage = {
    resourceType: 'Coverage',
    id: 'cov',
    status: 'active',
    beneficiary: { reference: 'Patient/p1' },
    payor: [{ display: 'Mock Mutual' }],
    subscriberId: 'TST1',
    subscriber: { reference: 'RelatedPerson/r1' },
    relationship: concept('child'),
    type: concept('EHCPOL'),
    class: [
      {
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/coverage-class', code: 'plan' }] },
        value: 'P1',
        name: 'Gold PPO',
      },
    ],
  };
  const subscriber: fhir.RelatedPerson = {
    resourceType: 'RelatedPerson',
    id: 'r1',
    patient: { reference: 'Patient/p1' },
    name: [{ given: ['Sub'], family: 'Scriber' }],
  };
  const response: fhir.CoverageEligibilityResponse = {
    resourceType: 'CoverageEligibilityResponse',
    id: 'e1',
    status: 'active',
    purpose: ['benefits'],
    patient: { reference: 'Patient/p1', display: 'Ada Testpatient' },
    created: '2026-01-20T23:30:00Z',
    servicedPeriod: { start: '2026-01-21' },
    request: {},
    insurer: { display: 'Payer of record' },
    outcome: 'complete',
    insurance: [
      { coverage: { reference: 'Coverage/other' }, inforce: false },
      {
        coverage: { reference: 'Coverage/cov' },
        inforce: true,
        benefitPeriod: { start: '2026-01-01', end: '2026-12-31' },
        item: [
          {
            category: concept('30'),
            network: concept('out'),
            unit: concept('family'),
            term: concept('annual', 'Annual'),
            name: 'Deductible',
            benefit: [
              { type: concept('deductible', 'Deductible'), allowedMoney: { value: 3000 }, usedMoney: { value: 120.5 } },
              { type: concept('copay-percent'), allowedUnsignedInt: 20 },
              { type: concept('visit'), allowedUnsignedInt: 12, usedUnsignedInt: 3 },
            ],
          },
          { category: concept('35', 'Dental'), excluded: true },
        ],
      },
    ],
  };
  const surroundings = {
    ...related,
    coverages: new Map([['cov', { coverage, payer_name: 'Mock Mutual' }]]),
    subscribers: new Map([['r1', subscriber]]),
  };
  const common = {
    coverage_level: 'FAM',
    service_type_codes: ['30'],
    insurance_type: 'EHCPOL',
    time_period: 'Annual',
    network_indicator: 'out-of-network',
    raw_segment: null,
  };
  expect(toEligibilityCheck(response, surroundings, timezone)).toMatchObject({
    ...{ ehr_id: 'e1', patient_mrn: 'p1', emr_patient_id: 'p1', patient_name: 'Ada Testpatient' },
    ...{ payer_name: 'Payer of record', subscriber_name: 'Sub Scriber', subscriber_member_id: 'TST1' },
    ...{ patient_relationship: 'dependent', plan_name: 'Gold PPO', coverage_status: 'active', status_message: null },
    ...{ service_date: '2026-01-21', response_at: '2026-01-20T23:30:00.000Z', emr_encounter_id: null },
    ...{ plan_begin_date: '2026-01-01', plan_end_date: '2026-12-31' },
    benefits: [
      {
        ...common,
        ...{ line_number: 1, benefit_type: 'Deductible', benefit_type_code: 'deductible', amount: 3000, percent: null },
        messages: ['Deductible', 'Used: 120.50'],
      },
      {
        ...common,
        line_number: 2,
        benefit_type_code: 'copay-percent',
        amount: null,
        percent: 20,
        messages: ['Deductible'],
      },
      { ...common, line_number: 3, amount: null, percent: null, messages: ['Deductible', 'Allowed: 12', 'Used: 3'] },
      {
        line_number: 4,
        benefit_type: 'Dental',
        benefit_type_code: null,
        service_type_codes: ['35'],
        messages: ['Excluded'],
      },
    ],
  });
  const readStatus = (changes: Partial<fhir.CoverageEligibilityResponse>) =>
    toEligibilityCheck({ ...response, ...changes }, surroundings, timezone)?.coverage_status;
  expect(readStatus({ outcome: 'error' })).toBe('error');
  expect(readStatus({ outcome: 'queued' })).toBe('unknown');
  expect(readStatus({ insurance: [{ coverage: {}, inforce: false }] })).toBe('inactive');
  expect(readStatus({ insurance: [{ coverage: {} }] })).toBe('unknown');
});

test('an order has the results of its reports', () => {
  const order: fhir.ServiceRequest = {
    resourceType: 'ServiceRequest',
    id: 'o1',
    status: 'active',
    intent: 'order',
    subject: { reference: 'Patient/p1' },
    code: { text: 'CBC' },
    occurrencePeriod: { start: '2026-01-03T02:00:00Z' },
    requester: { reference: 'Practitioner/prac-1' },
    performer: [{ reference: 'Practitioner/staff-1', display: 'Casey Bandageworth' }],
    priority: 'urgent',
  };
  const report = (more: object): fhir.DiagnosticReport => ({
    resourceType: 'DiagnosticReport',
    status: 'final',
    code: {},
    performer: [{ display: 'Mock Lab' }],
    effectiveDateTime: '2026-01-04',
    ...more,
  });
  const observation: fhir.Observation = {
    resourceType: 'Observation',
    id: 'ob',
    status: 'final',
    code: { text: 'Panel' },
    component: [
      {
        code: { text: 'WBC' },
        valueQuantity: { value: 4.2, unit: '10*3/uL', comparator: '<' },
        referenceRange: [{ low: { value: 4 }, high: { value: 11 } }],
        interpretation: [{ coding: [{ code: 'L' }] }],
      },
      { code: { text: 'Culture' }, valueCodeableConcept: { text: 'Negative' } },
    ],
  };
  const reports = [
    report({ status: 'entered-in-error', issued: '2026-02-01T00:00:00Z' }),
    report({ status: 'preliminary', issued: '2026-01-05T12:00:00Z' }),
    report({ issued: '2026-01-06T12:00:00Z', result: [{ reference: 'Observation/ob' }] }),
  ];
  const references = { ...related, reports: new Map([['o1', reports]]), observations: new Map([['ob', observation]]) };
  expect(toOrder(order, references, timezone)).toMatchObject({
    order_name: 'CBC',
    order_date: '2026-01-02',
    provider_id: 'prac-1',
    emr_assigned_to_id: 'staff-1',
    assigned_to_name: 'Casey Bandageworth',
    priority: 'urgent',
    lab_results: {
      status: 'final',
      collected_on: '2026-01-04',
      resulted_on: '2026-01-06',
      laboratory: 'Mock Lab',
      results: [
        { test: 'WBC', value: '<4.2', unit: '10*3/uL', range: '4-11', abnormal_flag: 'L' },
        { test: 'Culture', value: 'Negative', unit: null, range: null, abnormal_flag: null },
      ],
    },
  });
  expect(toOrder(order, no_related_records, timezone)).toBeUndefined();
});

test('an appointment has the local time, both providers, and whether its time is free', () => {
  const participant = (reference: string, code?: string): fhir.AppointmentParticipant => ({
    actor: { reference },
    status: 'accepted',
    ...(code && { type: [{ coding: [{ code }] }] }),
  });
  const appointment: fhir.Appointment = {
    resourceType: 'Appointment',
    id,
    status: 'noshow',
    start: '2026-07-01T13:00:00Z',
    end: '2026-07-01T13:25:00Z',
    created: '2026-06-01T08:00:00-04:00',
    serviceType: [{ coding: [{ code: 'SVC' }] }],
    reasonCode: [{ coding: [{ system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'I10' }], text: 'Hypertension' }],
    participant: [
      participant('Practitioner/second', 'SPRF'),
      participant('PractitionerRole/role', 'PPRF'),
      participant('Patient/p1'),
      participant('Location/loc-1'),
      participant('https://elsewhere.example.org/fhir/Location/loc-9'),
    ],
  };
  const role: fhir.PractitionerRole = {
    resourceType: 'PractitionerRole',
    practitioner: { reference: 'Practitioner/first' },
  };
  const named = {
    patients: new Map([['p1', patient]]),
    roles: new Map([['role', role]]),
    owners: new Map(),
    mrn_rule: undefined,
  };
  expect(toAppointment(appointment, named, timezone)).toMatchObject({
    starts: '2026-07-01T09:00:00-04:00',
    minutes: 25,
    cancelled: true,
    status: 'noshow',
    appointment_type: 'SVC',
    provider_ehr_id: 'first',
    secondary_provider_ehr_id: 'second',
    facility_ehr_id: 'loc-1',
    patient_ehr_id: 'p1',
    patient_mrn: 'p1',
    reason: 'Hypertension',
    diagnoses: [{ code: 'I10', description: 'Hypertension' }],
    created_at: '2026-06-01T12:00:00.000Z',
  });
  expect(toAppointment({ ...appointment, status: 'entered-in-error' }, named, timezone)).toBeUndefined();
  expect(toAppointment({ ...appointment, start: undefined }, named, timezone)).toBeUndefined();
});
