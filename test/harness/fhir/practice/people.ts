import type * as fhir from 'fhir/r4.js';
import { dayFrom, pickReference, type SeedContext, times } from './sizes.ts';

const staff = 4;
const referrers = 6;

/** Doctors with roles, hours and NPIs, staff, and referring doctors. */
export function makePractitioners({ size }: SeedContext): fhir.FhirResource[] {
  const everybody = [
    ...times(size.doctors, (index) => ({ id: `prac-${index + 1}`, code: 'doctor', at: 'org-practice', number: index })),
    ...times(staff, (index) => ({
      id: `staff-${index + 1}`,
      code: index < 2 ? 'nurse' : 'admin',
      at: 'org-practice',
      number: 20 + index,
    })),
    ...times(referrers, (index) => ({
      id: `ref-${index + 1}`,
      code: 'doctor',
      at: 'org-elsewhere',
      number: 40 + index,
    })),
  ];
  return [
    ...everybody.flatMap(({ id, code, at, number }): fhir.FhirResource[] => [
      {
        resourceType: 'Practitioner',
        id,
        active: number !== 2,
        identifier:
          code === 'doctor' ? [{ system: 'http://hl7.org/fhir/sid/us-npi', value: `1999${100000 + number}` }] : [],
        name: [
          {
            use: 'official',
            family: familyName(number),
            given: [givenName(number * 3)],
            suffix: [suffixes[code] ?? ''],
          },
        ],
        telecom: [
          { system: 'phone', value: `518-555-01${20 + (number % 70)}` },
          { system: 'fax', value: `518-555-01${25 + (number % 70)}` },
          { system: 'email', value: `${id}@example.org` },
        ],
        address: [{ line: [`${number + 1} Fixture Avenue`], city: 'Exampleton', state: 'NY', postalCode: '12207' }],
      },
      {
        resourceType: 'PractitionerRole',
        id: `role-${id}`,
        active: true,
        practitioner: { reference: `Practitioner/${id}` },
        organization: { reference: `Organization/${at}` },
        code: [{ coding: [roleCodes[code] ?? roleCodes.doctor] }],
        ...(code === 'doctor' && { specialty: [{ text: 'Family medicine' }], availableTime: hours }),
        ...(at === 'org-practice' && { location: [{ reference: `Location/loc-${1 + (number % 2)}` }] }),
      },
    ]),
    { resourceType: 'Practitioner', id: 'prac-bare' },
    { resourceType: 'PractitionerRole', id: 'role-bare' },
  ];
}

/** Clearly fictitious people: test surnames, example.org mail, 555-01xx numbers. Every fortieth has only an id. */
export function makePatients(seed: SeedContext): fhir.FhirResource[] {
  return times(seed.size.patients, (index) => makePatient(seed, index)).flat();
}

function makePatient(seed: SeedContext, index: number): fhir.FhirResource[] {
  const { chance, size } = seed;
  const id = `pat-${index + 1}`;
  const family = index === 0 ? 'Testpatient' : familyName(chance.below(families.length));
  const given = index === 0 ? 'Ada' : givenName(chance.below(givens.length));
  if (index % 40 === 11) return [{ resourceType: 'Patient', id }];
  const patient: fhir.Patient = {
    resourceType: 'Patient',
    id,
    active: true,
    identifier: [
      {
        use: 'usual',
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] },
        system: 'urn:meadowbrook:mrn',
        value: `MB${100001 + index}`,
      },
    ],
    name: [{ use: 'official', family, given: chance.happens(0.4) ? [given, givenName(chance.below(30))] : [given] }],
    gender: chance.pick(['female', 'male', 'female', 'male', 'unknown', 'other']),
    birthDate: index === 0 ? '1981-04-12' : dayFrom(seed, -chance.below(92 * 365) - 30),
    telecom: [
      { system: 'phone', use: 'home', value: makePhone(seed) },
      { system: 'phone', use: 'mobile', value: makePhone(seed) },
      { system: 'email', value: `${id}@example.org` },
    ],
    address: [
      {
        use: 'home',
        line: [`${1 + chance.below(980)} Mock Lane`, ...(chance.happens(0.2) ? ['Apt 7'] : [])],
        city: 'Exampleton',
        state: 'NY',
        postalCode: '12207',
      },
    ],
    communication: [
      { language: { coding: [{ system: 'urn:ietf:bcp:47', code: chance.pick(['en', 'en', 'es']) }] }, preferred: true },
    ],
    generalPractitioner: [{ reference: `Practitioner/${pickReference(seed, 'prac', size.doctors)}` }],
  };
  if (index % 5 !== 2) return [patient];
  const parent: fhir.RelatedPerson = {
    resourceType: 'RelatedPerson',
    id: `rel-${index + 1}`,
    patient: { reference: `Patient/${id}` },
    relationship: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode', code: 'MTH' }] }],
    name: [{ family, given: ['Parenta'] }],
    gender: 'female',
    birthDate: '1970-06-01',
  };
  return [patient, parent];
}

function makePhone({ chance }: SeedContext): string {
  return `${chance.pick(['518', '212', '315'])}-555-01${String(chance.below(100)).padStart(2, '0')}`;
}

function familyName(number: number): string {
  return families[number % families.length] ?? '';
}

function givenName(number: number): string {
  return givens[number % givens.length] ?? '';
}

const families = [
  'Testington',
  'Samplewood',
  'Mockberry',
  'Fauxley',
  'Demovski',
  'Fixturova',
  'Dummyfield',
  'Trialsson',
  'Specimenova',
  'Standinsky',
  'Placeholderby',
  'Exampleau',
  'Syntheticus',
  "O'Fixture",
  'van Sample',
];
const givens = [
  'Amina',
  'Bo',
  'Carmen',
  'Dario',
  'Emeka',
  'Freya',
  'Goran',
  'Hana',
  'Ivo',
  'Jun',
  'Katya',
  'Luz',
  'Marek',
  'Noor',
  'Odile',
  'Paolo',
  'Quinn',
  'Rosa',
  'Sami',
  'Thea',
  'Umar',
  'Vera',
  'Wim',
  'Yara',
  'Zeno',
];
const suffixes: Record<string, string> = { doctor: 'MD', nurse: 'RN', admin: 'CMA' };
const roleCodes = {
  doctor: { system: 'http://terminology.hl7.org/CodeSystem/practitioner-role', code: 'doctor' },
  nurse: { system: 'http://terminology.hl7.org/CodeSystem/practitioner-role', code: 'nurse' },
  admin: { system: 'http://snomed.info/sct', code: '224608005', display: 'Administrative healthcare staff' },
} as Record<string, fhir.Coding> & { doctor: fhir.Coding };
const hours: fhir.PractitionerRoleAvailableTime[] = [
  { daysOfWeek: ['mon', 'tue', 'wed'], availableStartTime: '09:00:00', availableEndTime: '12:00:00' },
  { daysOfWeek: ['mon', 'tue', 'wed', 'thu'], availableStartTime: '13:00:00', availableEndTime: '17:00:00' },
];
