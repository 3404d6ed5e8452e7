import { apiError } from '../../errors.ts';
import type { PatientChanges, PatientRequest } from '../../model/patientRequest.ts';
import type { Resolved } from './patientInput.ts';
import { checkPair, checkPlaces, type References, unknownId } from './patientReferences.ts';

const restricted_always = [
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

/** Of the fields of a new patient those that some EMRs only have. That the patient pays is so everywhere. */
export function restrictedFields(body: PatientChanges): string[] {
  const other_pays = body.responsible_party !== undefined && body.responsible_party !== 'self';
  return [...(other_pays ? ['responsible_party'] : []), ...restricted_always.filter((field) => field in body)];
}

/** Whether everything that must stand together in a new patient does, and what its references are in the EMR. */
export function checkPatient(found: References, body: PatientRequest): Resolved {
  const missing = found.required.find((field) => isMissing(field, body));
  if (missing) throw apiError('missing_field', { field: missing }, { field: missing });
  checkPayer(body);
  checkInsurance(body);
  checkPair('referring_provider', body);
  checkPair('pcp', body);
  checkPlaces(found, body);
  if (body.insurance_provider_id !== undefined && !found.insurance && !body.insurance_name) {
    throw unknownId('Insurance provider', 'insurance_provider_id', body);
  }
  if (body.referring_provider_id !== undefined && found.referring === null && !body.referring_provider_last_name) {
    throw unknownId('Referring provider', 'referring_provider_id', body);
  }
  if (body.pcp_id !== undefined && found.pcp === null && !body.pcp_last_name) {
    throw unknownId('Primary care provider', 'pcp_id', body);
  }
  return {
    insurance: found.insurance,
    referring_ehr_id: found.referring,
    pcp_ehr_id: found.pcp,
    pharmacy_ehr_id: found.pharmacy,
  };
}

/** A field that an EMR requires may be told in another way: why there is no e-mail address, a company or doctor by id. */
const stands_for: Partial<Record<string, keyof PatientRequest>> = {
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
  const given = (name: string) => Reflect.get(body, name) ?? '';
  return given(field) === '' && given(stands_for[field] ?? field) === '';
}

function checkPayer(body: PatientRequest): void {
  if ((body.responsible_party ?? 'self') === 'self') return;
  const field = (['responsible_party_first_name', 'responsible_party_last_name'] as const).find((name) => !body[name]);
  if (field) throw apiError('missing_field', { field }, { field });
}

function checkInsurance(body: PatientRequest): void {
  const company = body.insurance_name || body.insurance_provider_id;
  if (body.insurance_subscriber_number && !company) {
    throw unpaired('insurance_subscriber_number', 'insurance_name or insurance_provider_id');
  }
  if (body.secondary_insurance_subscriber_number && !body.secondary_insurance_name) {
    throw unpaired('secondary_insurance_subscriber_number', 'secondary_insurance_name');
  }
  if (body.secondary_insurance_name && company && body.insurance_sequence === 'secondary') {
    const rule = 'insurance_sequence must not be secondary auditStatement secondary_insurance_name';
    throw apiError('invalid_field', { rule }, { field: 'insurance_sequence' });
  }
}

function unpaired(field: string, other: string) {
  return apiError('invalid_field', { rule: `${field} needs ${other}` }, { field });
}
