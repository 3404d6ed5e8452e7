import type { Coverage, Demographics, EmrDoctor, NewPatient, Payer } from '../../connectors/patientWrites.ts';
import type { PatientSource } from '../../model/patient.ts';
import type { PatientChanges, PatientRequest } from '../../model/patientRequest.ts';

/** What the request's references were found to be when it was accepted. */
export type Resolved = {
  insurance: { ehr_id: string; name: string } | null;
  referring_ehr_id: string | null;
  pcp_ehr_id: string | null;
  pharmacy_ehr_id: string | null;
};
export type StoredPatient = PatientRequest & { resolved: Resolved };

const priorities = { primary: 1, secondary: 2, tertiary: 3 } as const;

/** A patient as the EMR is asked to make it. */
export function newPatient(stored: StoredPatient): NewPatient {
  const coverages = coveragesAsked(stored).filter((each) => each !== undefined);
  return {
    ...demographicsOf(stored, stored.resolved),
    first_name: stored.first_name,
    last_name: stored.last_name,
    dob: stored.dob,
    sex: stored.sex,
    self_pay: stored.self_pay ?? coverages.length === 0,
    release_of_info: stored.release_of_info ?? true,
    rx_history_consent: stored.rx_history_consent ?? true,
    payer: payerOf(stored),
    coverages,
    check_eligibility: stored.check_eligibility === 'true',
    pharmacy_ehr_id: stored.resolved.pharmacy_ehr_id,
  };
}

export function demographicsOf(
  values: PatientChanges,
  resolved: Pick<Resolved, 'referring_ehr_id' | 'pcp_ehr_id'>,
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
    address_state: values.address_state?.toUpperCase(),
    address_zip: values.address_zip,
    language: values.language,
    race: values.race,
    ethnicity: values.ethnicity,
    self_pay: values.self_pay,
    release_of_info: values.release_of_info,
    rx_history_consent: values.rx_history_consent,
    referring: doctor(
      resolved.referring_ehr_id,
      values.referring_provider_first_name,
      values.referring_provider_last_name,
    ),
    pcp: doctor(resolved.pcp_ehr_id, values.pcp_first_name, values.pcp_last_name),
    rendering_provider_ehr_id: values.referred_to_provider_id,
    default_facility_ehr_id: values.default_facility_id,
    emergency_contact: emergencyContact(values),
  };
}

/** The part of a patient's document that the client itself has said. */
export function saidOf(stored: StoredPatient): Omit<PatientSource, 'ehr_id' | 'mrn'> {
  return {
    first_name: stored.first_name,
    middle_name: stored.middle_name ?? null,
    last_name: stored.last_name,
    dob: stored.dob,
    sex: stored.sex,
    phone: stored.phone ?? null,
    cell_phone: stored.cell_phone ?? null,
    email: stored.email ?? null,
    address_street: stored.address_street ?? null,
    address_line2: stored.address_line2 ?? null,
    address_city: stored.address_city ?? null,
    address_state: stored.address_state?.toUpperCase() ?? null,
    address_zip: stored.address_zip ?? null,
    insurance_name: stored.resolved.insurance?.name ?? stored.insurance_name ?? null,
    insurance_subscriber_number: stored.insurance_subscriber_number ?? null,
  };
}

/** The insurance that was asked for by itself, and the one that was asked for as the second. */
export function coveragesAsked(stored: StoredPatient): [first: Coverage | undefined, second: Coverage | undefined] {
  const { insurance } = stored.resolved;
  const company = insurance ? { ehr_id: insurance.ehr_id } : stored.insurance_name && { name: stored.insurance_name };
  const secondary = stored.secondary_insurance_name;
  return [
    company
      ? {
          company,
          member_id: stored.insurance_subscriber_number ?? null,
          priority: priorities[stored.insurance_sequence ?? 'primary'],
        }
      : undefined,
    secondary
      ? {
          company: { name: secondary },
          member_id: stored.secondary_insurance_subscriber_number ?? null,
          priority: priorities.secondary,
        }
      : undefined,
  ];
}

function payerOf(stored: PatientRequest): Payer | null {
  const relationship = stored.responsible_party ?? 'self';
  if (relationship === 'self') return null;
  return {
    relationship,
    first_name: stored.responsible_party_first_name ?? '',
    last_name: stored.responsible_party_last_name ?? '',
    sex: stored.responsible_party_sex ?? null,
    dob: stored.responsible_party_dob ?? null,
    phone: stored.responsible_party_phone ?? null,
  };
}

function doctor(ehr_id: string | null, first_name = '', last_name = ''): EmrDoctor | undefined {
  if (ehr_id !== null) return { ehr_id };
  return first_name && last_name ? { first_name, last_name } : undefined;
}

function emergencyContact(values: PatientChanges): Demographics['emergency_contact'] {
  const contact = {
    first_name: values.emergency_contact_first_name ?? null,
    last_name: values.emergency_contact_last_name ?? null,
    relation: values.emergency_contact_relation ?? null,
    phone: values.emergency_contact_phone ?? null,
  };
  return Object.values(contact).every((value) => value === null) ? undefined : contact;
}
