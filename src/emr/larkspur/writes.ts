import type { Operations } from '../connector.ts';
import { path } from './call.ts';
import { defineWrite, toWritten } from './defineWrite.ts';
import { usDate } from './values.ts';

export const addPatientPharmacy = defineWrite<Operations['addPatientPharmacy']>(
  'add_patient_pharmacy',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/pharmacies`,
    body: { pharmacyId: input.pharmacy_ehr_id },
  }),
  toWritten,
);

export const createTelephoneEncounter = defineWrite<Operations['createTelephoneEncounter']>(
  'create_telephone_encounter',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/telephone-encounters`,
    body: {
      providerId: input.provider_ehr_id,
      facilityId: input.location_ehr_id,
      assignedTo: input.assigned_to_ehr_id,
      priority: input.high_priority ? 'H' : 'N',
      reason: input.reason,
      caller: input.caller,
      message: input.message,
      pharmacyId: input.pharmacy_ehr_id,
      templateName: input.template_name,
    },
  }),
  toWritten,
);

export const addRefill = defineWrite<Operations['addRefill']>(
  'add_refill',
  (input) => ({
    path: path`/api/telephone-encounters/${input.encounter_ehr_id}/refills`,
    body: { medicationId: input.medication_ehr_id, pharmacyId: input.pharmacy_ehr_id },
  }),
  toWritten,
);

export const addTelephoneAction = defineWrite<Operations['addTelephoneAction']>(
  'add_telephone_action',
  (input) => ({
    path: path`/api/telephone-encounters/${input.encounter_ehr_id}/actions`,
    body: { text: input.text, priority: input.high_priority ? 'H' : 'N' },
  }),
  toWritten,
);

export const createAppointment = defineWrite<Operations['createAppointment']>(
  'create_appointment',
  (input) => ({
    path: '/api/appointments',
    body: {
      patientId: input.patient_ehr_id,
      providerId: input.provider_ehr_id,
      secondaryProviderId: input.secondary_provider_ehr_id,
      facilityId: input.location_ehr_id,
      startsAt: `${usDate(input.starts_at)} ${input.starts_at.slice(11, 16)}`,
      utcOffset: input.starts_at.slice(19),
      // Every visit type of Larkspur has a length.
      minutes: input.minutes,
      visitTypeCode: input.visit_type,
      reason: input.reason,
      note: input.note,
      newPatientFlag: input.new_patient ? 'Y' : 'N',
      preventDoubleBooking: input.prevent_double_booking ? 'Y' : 'N',
    },
  }),
  toWritten,
);

export const uploadDocument = defineWrite<Operations['uploadDocument']>(
  'upload_document',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/documents`,
    body: {
      folderPath: input.folder,
      fileName: `document.${{ 'application/pdf': 'pdf', 'image/jpeg': 'jpg', 'image/png': 'png' }[input.type]}`,
      contentType: input.type,
      contentBase64: input.content.toString('base64'),
      assignedTo: input.assigned_to_ehr_id,
      reviewedFlag: input.reviewed ? 'Y' : 'N',
      priority: input.high_priority ? 'H' : 'N',
      notes: input.notes,
      templateName: input.template_name,
    },
  }),
  toWritten,
);
