import type { Connector } from '../../connector.ts';

/**
 * The fields that FHIR R4 has no place for, and those that the interface restricts to other EMRs. Requests with one of
 * them are rejected.
 */
export const unsupported_fields: Connector['unsupported_fields'] = {
  createPatient: [
    'no_email_reason',
    'check_eligibility',
    'release_of_info',
    'rx_history_consent',
    'self_pay',
    'default_facility_id',
  ],
  updatePatient: ['save_previous_address'],
  createAppointment: ['new_patient'],
  uploadDocument: ['template_name'],
  createTelephoneEncounter: ['template_name'],
};
