import { apiError } from '../../../catalog/errors.ts';
import type { Payer } from '../../../emr/operations/guarantors.ts';
import type { Coverage, Demographics, EmrDoctor, NewPatient } from '../../../emr/operations/patients.ts';
import { fold } from '../../../model/fold.ts';
import type { PatientSource } from '../../../model/records/patients.ts';
import { priorities } from '../../../model/requests/insurance.ts';
import { type PatientChanges, type PatientRequest, payer_fields } from '../../../model/requests/patients.ts';
import { checkNamePair, checkPlaces, idNotFound, type References, rejectFutureBirth } from './patientReferences.ts';

/** What the request's references resolved to when it was accepted. */
export type PatientLookups = {
  insurance: { ehr_id: string; name: string } | null;
  referring_ehr_id: string | null;
  pcp_ehr_id: string | null;
  pharmacy_ehr_id: string | null;
};
export type PatientInput = PatientRequest & {
  resolved: PatientLookups;
  /** The client's reference of the last change that was merged into the request, for an update that follows it. */
  amended_by?: string | null;
};

function isPayerField(name: string): boolean {
  return payer_fields.some((field) => field === name);
}

/**
 * A request with changes. A field that was cleared is as if it had not been sent. So is what was sent about another
 * responsible party if it is the patient, before or after the changes.
 */
export function amendRequest(request: PatientRequest, changes: PatientChanges): PatientRequest {
  const isSelf = (party: PatientChanges['responsible_party']) => (party ?? 'self') === 'self';
  const self_paid =
    isSelf(request.responsible_party) || ('responsible_party' in changes && isSelf(changes.responsible_party));
  const kept = Object.entries(request).filter(([name]) => !self_paid || !isPayerField(name));
  const sent = Object.entries({ ...Object.fromEntries(kept), ...changes }).filter(([, value]) => value !== null);
  // The schema of the changes does not let a required field be cleared.
  return Object.fromEntries(sent) as PatientRequest;
}

/** The input of the EMR operation that creates a patient. */
export function toNewPatient(input: PatientInput): NewPatient {
  const coverages = requestedCoverages(input).filter((each) => each !== undefined);
  return {
    ...toDemographics(input, input.resolved),
    first_name: input.first_name,
    last_name: input.last_name,
    dob: input.dob,
    sex: input.sex,
    self_pay: input.self_pay ?? coverages.length === 0,
    release_of_info: input.release_of_info ?? true,
    rx_history_consent: input.rx_history_consent ?? true,
    payer: toPayer(input),
    coverages,
    check_eligibility: input.check_eligibility === 'true',
    pharmacy_ehr_id: input.resolved.pharmacy_ehr_id,
  };
}

export function toDemographics(
  values: PatientChanges,
  resolved: Pick<PatientLookups, 'referring_ehr_id' | 'pcp_ehr_id'>,
): Demographics {
  return {
    first_name: values.first_name,
    last_name: values.last_name,
    middle_name: values.middle_name,
    dob: values.dob,
    sex: values.sex,
    phone: values.phone,
    cell_phone: values.cell_phone,
    email: values.email,
    no_email_reason: values.no_email_reason,
    address_street: values.address_street,
    address_line2: values.address_line2,
    address_city: values.address_city,
    address_state: upperCase(values.address_state),
    address_zip: values.address_zip,
    language: values.language,
    race: values.race,
    ethnicity: values.ethnicity,
    self_pay: values.self_pay,
    release_of_info: values.release_of_info,
    rx_history_consent: values.rx_history_consent,
    referring: toDoctor(
      resolved.referring_ehr_id,
      values.referring_provider_id,
      values.referring_provider_first_name,
      values.referring_provider_last_name,
    ),
    pcp: toDoctor(resolved.pcp_ehr_id, values.pcp_id, values.pcp_first_name, values.pcp_last_name),
    rendering_provider_ehr_id: values.referred_to_provider_id,
    default_facility_ehr_id: values.default_facility_id,
    emergency_contact: toEmergencyContact(values),
  };
}

/** The fields of a patient record that come from the client's request. */
export function toPatientRecord(input: PatientInput): Omit<PatientSource, 'ehr_id' | 'mrn'> {
  return {
    first_name: input.first_name,
    middle_name: input.middle_name ?? null,
    last_name: input.last_name,
    dob: input.dob,
    sex: input.sex,
    phone: input.phone ?? null,
    cell_phone: input.cell_phone ?? null,
    email: input.email ?? null,
    address_street: input.address_street ?? null,
    address_line2: input.address_line2 ?? null,
    address_city: input.address_city ?? null,
    address_state: input.address_state?.toUpperCase() ?? null,
    address_zip: input.address_zip ?? null,
    insurance_name: input.resolved.insurance?.name ?? input.insurance_name ?? null,
    insurance_subscriber_number: input.insurance_subscriber_number ?? null,
  };
}

/** The insurance in the `insurance_*` fields, and the one in the `secondary_insurance_*` fields. */
export function requestedCoverages(input: PatientInput): [first: Coverage | undefined, second: Coverage | undefined] {
  const { insurance } = input.resolved;
  const company = insurance ? { ehr_id: insurance.ehr_id } : input.insurance_name && { name: input.insurance_name };
  const secondary = input.secondary_insurance_name;
  return [
    company
      ? {
          company,
          member_id: input.insurance_subscriber_number ?? null,
          priority: priorities[input.insurance_sequence ?? 'primary'],
        }
      : undefined,
    secondary
      ? {
          company: { name: secondary },
          member_id: input.secondary_insurance_subscriber_number ?? null,
          priority: priorities.secondary,
        }
      : undefined,
  ];
}

function toPayer(input: PatientRequest): Payer | null {
  const relationship = input.responsible_party ?? 'self';
  if (relationship === 'self') return null;
  return {
    relationship,
    first_name: input.responsible_party_first_name ?? '',
    last_name: input.responsible_party_last_name ?? '',
    sex: input.responsible_party_sex ?? null,
    dob: input.responsible_party_dob ?? null,
    phone: input.responsible_party_phone ?? null,
  };
}

type Sent = string | null | undefined;

/** The doctor with this EMR id or name; null if the request clears the doctor, undefined if it names none. */
function toDoctor(ehr_id: string | null, id: Sent, first_name: Sent, last_name: Sent): EmrDoctor | null | undefined {
  if (ehr_id !== null) return { ehr_id };
  if (first_name && last_name) return { first_name, last_name };
  return [id, first_name, last_name].includes(null) ? null : undefined;
}

function upperCase(text: Sent): Sent {
  return text ? text.toUpperCase() : text;
}

function toEmergencyContact(values: PatientChanges): Demographics['emergency_contact'] {
  const contact = {
    first_name: values.emergency_contact_first_name ?? null,
    last_name: values.emergency_contact_last_name ?? null,
    relation: values.emergency_contact_relation ?? null,
    phone: values.emergency_contact_phone ?? null,
  };
  return Object.values(contact).every((value) => value === null) ? undefined : contact;
}

/** The fields of a new patient that the interface defines for some EMR products only. */
export const restricted_on_create = [
  'responsible_party',
  'insurance_provider_id',
  'referring_provider_id',
  'pcp_id',
  ...payer_fields,
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
