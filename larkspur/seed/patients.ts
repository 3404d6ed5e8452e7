import type { Query } from '../database/open.ts';
import { usDay } from './days.ts';
import { town } from './places.ts';
import type { Chance } from './random.ts';

export const PATIENTS = 200;

/** Clearly fictitious people: test surnames, example.org addresses, 555-01xx numbers. */
export function patientRows(chance: Chance, now: Date) {
  return Array.from({ length: PATIENTS }, (_, index) => {
    const sexCode = chance.pick(['F', 'F', 'F', 'F', 'M', 'M', 'M', 'M', 'U']);
    const firstName = chance.pick(firstNames);
    const lastName = chance.pick(lastNames);
    const patientId = 10001 + index;
    const insured = chance.happens(0.9);
    return {
      patientId: String(patientId),
      mrn: `LK${90000 + patientId}`,
      lastName,
      firstName,
      middleName: chance.happens(0.4) ? chance.pick(firstNames) : null,
      birthDate: usDay(now, -chance.below(92 * 365) - 30),
      sexCode,
      homePhone: chance.happens(0.7) ? phone(chance) : null,
      cellPhone: index === 0 || chance.happens(0.85) ? phone(chance) : null,
      email: chance.happens(0.75) ? `${firstName}.${lastName}.${patientId}@example.org`.toLowerCase() : null,
      address: {
        line1: `${1 + chance.below(980)} ${chance.pick(streets)}`,
        line2: chance.happens(0.2) ? `Apt ${1 + chance.below(40)}` : null,
        ...town,
      },
      primaryInsuranceName: insured ? chance.pick(insurers) : null,
      primarySubscriberNumber: insured ? `TST${100000 + chance.below(900000)}` : null,
      languageCode: chance.pick(['ENG', 'ENG', 'ENG', 'SPA', 'CHI', 'RUS']),
      raceCode: chance.pick(['W', 'B', 'A', 'N', 'O', 'D']),
      ethnicityCode: chance.pick(['N', 'N', 'H', 'D']),
      lastModified: now,
      ...(index === 0 ? firstPatient(now) : {}),
    };
  });
}

/** Up to two pharmacies per patient. */
export function patientPharmacyRows(chance: Chance) {
  const open = Array.from({ length: 14 }, (_, index) => String(9001 + index));
  return Array.from({ length: PATIENTS }, (_, index) => ({
    patientId: String(10001 + index),
    pharmacyIds: index === 0 ? ['9001'] : chance.sample(open, chance.below(3)),
  }))
    .flatMap(({ patientId, pharmacyIds }) =>
      pharmacyIds.map((pharmacyId, position) => ({ patientId, pharmacyId, primaryFlag: position === 0 ? 'Y' : 'N' })),
    )
    .map((row, index) => ({ patientPharmacyId: String(40001 + index), ...row }));
}

/** The columns that the rest of the seed uses. */
export interface SeededPatient {
  patientId: string;
  mrn: string;
  firstName: string;
  lastName: string;
  birthDate: string;
  sexCode: string;
  address: { line1: string; line2: string | null; city: string; state: string; zip: string };
  primaryInsuranceName: string | null;
  primarySubscriberNumber: string | null;
}

export async function readSeededPatients(sql: Query): Promise<SeededPatient[]> {
  return sql<SeededPatient[]>`
    select patient_id, mrn, first_name, last_name, birth_date, sex_code, address, primary_insurance_name,
      primary_subscriber_number
    from patients where birth_date is not null order by length(patient_id), patient_id`;
}

/** The patient used in examples: an insured adult with an email address. */
function firstPatient(now: Date) {
  return {
    firstName: 'Ada',
    middleName: null,
    lastName: 'Testpatient',
    birthDate: usDay(now, -45 * 365),
    sexCode: 'F',
    email: 'ada.testpatient.10001@example.org',
    primaryInsuranceName: 'Examplecare Gold',
    primarySubscriberNumber: 'TST100001',
  };
}

function phone(chance: Chance): string {
  return `${chance.pick(['518', '212', '315', '607', '716', '845'])}-555-01${String(chance.below(100)).padStart(2, '0')}`;
}

const streets = [
  'Sample Street',
  'Fixture Avenue',
  'Mock Lane',
  'Placeholder Court',
  'Demo Drive',
  'Test Terrace',
] as const;

const insurers = ['Examplecare Gold', 'Mock Mutual', 'Sample Health Plan', 'Placebo Shield', 'Demo Medicare'] as const;

const lastNames = [
  'Testpatient',
  'Samplesworth',
  'Mockingham',
  'Fauxwell',
  'Demoson',
  'Fixturez',
  'Dummington',
  'Trialova',
  'Specimenko',
  'Standinson',
  'Placeholder',
  'Prototypova',
  'Examplar',
  'Sandboxer',
  'Synthetica',
  'Notareal',
  'Pretendley',
  'Stubbs-Test',
  "O'Sample",
  'van Testen',
] as const;

const firstNames = [
  'Ada',
  'Amir',
  'Beatriz',
  'Björn',
  'Chidi',
  'Clara',
  'Dmitri',
  'Elena',
  'Esther',
  'Farid',
  'Grace',
  'Hiro',
  'Ines',
  'Jamal',
  'Joan',
  'Kofi',
  'Leila',
  'Liam',
  'Mei',
  'Miguel',
  'Nadia',
  'Oscar',
  'Pilar',
  'Ravi',
  'Ruth',
  'Sofia',
  'Tomas',
  'Uma',
  'Victor',
  'Wanda',
  'Yusuf',
  'Zoe',
] as const;
