import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmrFailure, type EmrWrite, type Operations, type Written } from '../connector.ts';
import { answerOf, path, unreadable } from './call.ts';
import type { Ask } from './session.ts';
import { id } from './values.ts';

export const addPatientPharmacy = write<Operations['addPatientPharmacy']>('add_patient_pharmacy', (input) => ({
  path: path`/api/patients/${input.patient_ehr_id}/pharmacies`,
  body: { pharmacyId: input.pharmacy_ehr_id },
}));

export const createTelephoneEncounter = write<Operations['createTelephoneEncounter']>(
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
);

export const addRefill = write<Operations['addRefill']>('add_refill', (input) => ({
  path: path`/api/telephone-encounters/${input.encounter_ehr_id}/refills`,
  body: { medicationId: input.medication_ehr_id, pharmacyId: input.pharmacy_ehr_id },
}));

export const addTelephoneAction = write<Operations['addTelephoneAction']>('add_telephone_action', (input) => ({
  path: path`/api/telephone-encounters/${input.encounter_ehr_id}/actions`,
  body: { text: input.text, priority: input.high_priority ? 'H' : 'N' },
}));

export const createAppointment = write<Operations['createAppointment']>('create_appointment', (input) => ({
  path: '/api/appointments',
  body: {
    patientId: input.patient_ehr_id,
    providerId: input.provider_ehr_id,
    secondaryProviderId: input.secondary_provider_ehr_id,
    facilityId: input.location_ehr_id,
    startsAt: `${usDate(input.starts_at)} ${input.starts_at.slice(11, 16)}`,
    minutes: input.minutes,
    visitTypeCode: input.visit_type,
    reason: input.reason,
    note: input.note,
    newPatientFlag: input.new_patient ? 'Y' : 'N',
    preventDoubleBooking: input.prevent_double_booking ? 'Y' : 'N',
  },
}));

export const uploadDocument = write<Operations['uploadDocument']>('upload_document', (input) => ({
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
}));

/**
 * Larkspur keeps our marker as `externalRef` and takes it once for each operation, so a write that is still on its way
 * when `find` says no cannot be doubled: the second waits for the first and is told of its record.
 */
function write<Write extends EmrWrite<never, Written>>(
  operation: string,
  wordsOf: (input: InputOf<Write>) => { path: string; body: Record<string, unknown> },
) {
  return (ask: Ask): Required<EmrWrite<InputOf<Write>, Written>> => ({
    send: async (input, marker) => {
      const { path, body } = wordsOf(input);
      const sent = { ...body, externalRef: marker };
      const reply = await ask({ method: 'POST', path, body: sent, answer: recorded, writes: true });
      if ('code' in reply && reply.code === 'DUPLICATE_REFERENCE') {
        if (reply.record_id === undefined) throw new EmrFailure('unknown_outcome', unreadable);
        return { ehr_id: reply.record_id };
      }
      return { ehr_id: answerOf(reply).recordId };
    },
    find: async (marker) => {
      const asked = path`/api/receipts/${operation}/${marker}`;
      const reply = await ask({ method: 'GET', path: asked, answer: recorded });
      if ('answer' in reply) return { ehr_id: reply.answer.recordId };
      if (reply.code === 'NOT_FOUND') return undefined;
      // Whatever it is, it does not tell whether the write is there: the question stays open.
      throw new EmrFailure('unavailable', reply.failure.message);
    },
  });
}

/** `2026-03-08…` as Larkspur writes it, `03/08/2026`. */
function usDate(iso: string): string {
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)}`;
}

type InputOf<Write> = Write extends EmrWrite<infer Input, Written> ? Input : never;

const recorded = Compile(Type.Object({ recordId: id }));
