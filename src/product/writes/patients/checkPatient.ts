import { apiError } from '../../../catalog/errors.ts';
import { fold } from '../../../model/fold.ts';
import type { PatientRequest } from '../../../model/patientRequest.ts';
import type { PatientLookups } from './patientInput.ts';
import { checkNamePair, checkPlaces, idNotFound, type References, rejectFutureBirth } from './patientReferences.ts';

/** The fields of a new patient that the interface defines for some EMR products only. */
export const restricted_on_create = [
  'responsible_party',
  'insurance_provider_id',
  'referring_provider_id',
  'pcp_id',
  'responsible_party_first_name',
  'responsible_party_last_name',
  'responsible_party_sex',
  'responsible_party_dob',
  'responsible_party_phone',
  'language',
  'race',
  'ethnicity',
  'release_of_info',
  'rx_history_consent',
  'self_pay',
  'default_facility_id',
] as const satisfies readonly (keyof PatientRequest)[];

/** Checks the rules between fields of a new patient, and returns what its references are in the EMR. */
export function checkPatient(references: References, body: PatientRequest): PatientLookups {
  rejectFutureBirth('dob', body.dob, references.today);
  rejectFutureBirth('responsible_party_dob', body.responsible_party_dob, references.today);
  const missing = references.required.find((field) => isMissing(field, body));
  if (missing) throw apiError('missing_field', { field: missing }, { field: missing });
  if ((body.responsible_party ?? 'self') === 'self') rejectOtherPayer(body);
  else requirePayer(body);
  checkInsurance(body);
  checkNamePair('referring_provider', body);
  checkNamePair('pcp', body);
  checkPlaces(references, body);
  if (body.insurance_provider_id !== undefined && !references.insurance && !body.insurance_name) {
    throw idNotFound(references, 'insurance_provider_id', body);
  }
  if (body.referring_provider_id !== undefined && references.referring === null && !body.referring_provider_last_name) {
    throw idNotFound(references, 'referring_provider_id', body);
  }
  if (body.pcp_id !== undefined && references.pcp === null && !body.pcp_last_name) {
    throw idNotFound(references, 'pcp_id', body);
  }
  return {
    insurance: references.insurance,
    referring_ehr_id: references.referring,
    pcp_ehr_id: references.pcp,
    pharmacy_ehr_id: references.pharmacy,
  };
}

/** Fields that satisfy an EMR's requirement for another one: a reason for a missing email, a company or doctor by id. */
const substitutes: Partial<Record<string, keyof PatientRequest>> = {
  email: 'no_email_reason',
  insurance_name: 'insurance_provider_id',
  referring_provider_id: 'referring_provider_last_name',
  referring_provider_first_name: 'referring_provider_id',
  referring_provider_last_name: 'referring_provider_id',
  pcp_id: 'pcp_last_name',
  pcp_first_name: 'pcp_id',
  pcp_last_name: 'pcp_id',
};

function isMissing(field: string, body: PatientRequest): boolean {
  const sent = (name: string) => Reflect.get(body, name) ?? '';
  return sent(field) === '' && sent(substitutes[field] ?? field) === '';
}

function requirePayer(body: PatientRequest): void {
  const field = (['responsible_party_first_name', 'responsible_party_last_name'] as const).find((name) => !body[name]);
  if (field) throw apiError('missing_field', { field }, { field });
}

/** A patient who pays for themselves has no other name: what differs would be dropped. */
function rejectOtherPayer(body: PatientRequest): void {
  const digits = (phone: string | undefined) => phone?.replace(/\D/g, '') || phone;
  const name = (text: string | undefined) => text && (fold(text) || text);
  const pairs = [
    ['responsible_party_first_name', name(body.responsible_party_first_name), [name(body.first_name)]],
    ['responsible_party_last_name', name(body.responsible_party_last_name), [name(body.last_name)]],
    ['responsible_party_sex', body.responsible_party_sex, [body.sex]],
    ['responsible_party_dob', body.responsible_party_dob, [body.dob]],
    ['responsible_party_phone', digits(body.responsible_party_phone), [digits(body.phone), digits(body.cell_phone)]],
  ] as const;
  const other = pairs.find(([, sent, own]) => sent && !own.some((value) => value === sent));
  if (!other) return;
  const rule = `${other[0]} is not the patient’s, but responsible_party is self. Send who the responsible party is`;
  throw apiError('invalid_field', { rule }, { field: other[0] });
}

function checkInsurance(body: PatientRequest): void {
  const company = body.insurance_name || body.insurance_provider_id;
  if (body.insurance_sequence && !company) {
    throw missingCompanion('insurance_sequence', 'insurance_name or insurance_provider_id');
  }
  if (body.check_eligibility === 'true' && !company && !body.secondary_insurance_name) {
    throw missingCompanion('check_eligibility', 'insurance_name or insurance_provider_id');
  }
  if (body.insurance_subscriber_number && !company) {
    throw missingCompanion('insurance_subscriber_number', 'insurance_name or insurance_provider_id');
  }
  if (body.secondary_insurance_subscriber_number && !body.secondary_insurance_name) {
    throw missingCompanion('secondary_insurance_subscriber_number', 'secondary_insurance_name');
  }
  if (body.secondary_insurance_name && company && body.insurance_sequence === 'secondary') {
    const rule = 'insurance_sequence must not be secondary if secondary_insurance_name is sent';
    throw apiError('invalid_field', { rule }, { field: 'insurance_sequence' });
  }
}

function missingCompanion(field: string, other: string) {
  return apiError('invalid_field', { rule: `${field} requires ${other}` }, { field });
}
