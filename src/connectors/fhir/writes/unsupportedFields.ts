import type { Connector } from '../../connector.ts';

/**
 * The fields that FHIR R4 has no place for, and those that the interface restricts to other EMRs. Requests with one of
 * them are rejected.
 */
export const unsupported_fields: Connector['unsupported_fields'] = {
  createPatient: [
    'no_email_reason',
    'check_eligibility',
    'responsible_party',
    'responsible_party_first_name',
    'responsible_party_last_name',
    'responsible_party_sex',
    'responsible_party_dob',
    'responsible_party_phone',
    'referring_provider_id',
    'referring_provider_first_name',
    'referring_provider_last_name',
    'referred_to_provider_id',
    'pharmacy_id',
    'release_of_info',
    'rx_history_consent',
    'self_pay',
    'default_facility_id',
  ],
  updatePatient: [
    'save_previous_address',
    'referring_provider_id',
    'referring_provider_first_name',
    'referring_provider_last_name',
    'pcp_first_name',
    'pcp_last_name',
    'referred_to_provider_id',
  ],
  createAppointment: ['new_patient'],
  uploadDocument: ['template_name'],
  createTelephoneEncounter: ['template_name'],
};
