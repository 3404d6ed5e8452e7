import { getRefillableMedication } from '../charts/medications.ts';
import { findMrn, patients } from '../charts/patients.ts';
import {
  addAction,
  addRefill,
  addTelephoneEncounter,
  findMrnOfEncounter,
  getTelephoneEncounter,
  getTelephoneEncounterDetails,
} from '../charts/telephoneEncounters.ts';
import { read, type WriteResult, write } from '../http/operation.ts';
import { facilities, pharmacies } from '../practice/organizations.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';
import { text } from '../records/fields.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { optional, priority, recordId, requiredText, textUpTo, writeBody } from './schemas.ts';

export const telephoneEncounterOperations = [
  write({
    name: 'create_telephone_encounter',
    path: '/api/patients/:patientId/telephone-encounters',
    body: writeBody({
      providerId: recordId,
      facilityId: recordId,
      assignedTo: recordId,
      reason: optional(textUpTo(50)),
      caller: optional(textUpTo(100)),
      message: optional(textUpTo(100_000)),
      priority,
      pharmacyId: optional(recordId),
      templateName: optional(text),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params, body }) => {
      // Sent together; the first that is missing is reported.
      await Promise.all([
        getRecord(sql, patients, params.patientId),
        requireActive(sql, providers, body.providerId),
        requireActive(sql, facilities, body.facilityId),
        requireActive(sql, staff, body.assignedTo),
        body.pharmacyId && requireActive(sql, pharmacies, body.pharmacyId),
      ]);
      const encounter = {
        providerId: body.providerId,
        facilityId: body.facilityId,
        assignedTo: body.assignedTo,
        reason: body.reason ?? null,
        caller: body.caller ?? null,
        message: body.message ?? null,
        priority: body.priority,
        pharmacyId: body.pharmacyId ?? null,
        templateName: body.templateName ?? null,
      };
      const id = await addTelephoneEncounter(sql, {
        ...encounter,
        patientId: params.patientId,
        createdAt: context.now(),
        createdBy: session.displayName,
      });
      return addedRecord('telephone encounter', id, params.patientId, encounter);
    },
  }),
  write({
    name: 'add_refill',
    path: '/api/telephone-encounters/:encounterId/refills',
    body: writeBody({ medicationId: recordId, pharmacyId: optional(recordId) }),
    patientMrn: (sql, params) => findMrnOfEncounter(sql, params.encounterId),
    write: async ({ sql, params, body }) => {
      const encounter = await getTelephoneEncounter(sql, params.encounterId);
      if (body.pharmacyId) await requireActive(sql, pharmacies, body.pharmacyId);
      const medication = await getRefillableMedication(sql, encounter.patientId, body.medicationId);
      const refill = {
        medicationId: medication.medicationId,
        medicationName: medication.name,
        pharmacyId: body.pharmacyId ?? null,
      };
      const id = await addRefill(sql, encounter.encounterId, refill);
      return addedRecord('refill', id, encounter.patientId, refill);
    },
  }),
  write({
    name: 'add_telephone_action',
    path: '/api/telephone-encounters/:encounterId/actions',
    body: writeBody({ text: requiredText(100_000), priority: optional(priority) }),
    patientMrn: (sql, params) => findMrnOfEncounter(sql, params.encounterId),
    write: async ({ sql, context, session, params, body }) => {
      const encounter = await getTelephoneEncounter(sql, params.encounterId);
      const action = { text: body.text, priority: body.priority ?? null };
      const entry = { ...action, at: context.now(), by: session.displayName };
      const id = await addAction(sql, encounter.encounterId, entry);
      return addedRecord('action', id, encounter.patientId, action);
    },
  }),
  read({
    name: 'get_telephone_encounter',
    path: '/api/telephone-encounters/:encounterId',
    handle: ({ sql, params }) => getTelephoneEncounterDetails(sql, params.encounterId),
  }),
];

function addedRecord(record: string, record_id: string, patient_id: string, after: object): WriteResult {
  return { record_id, changes: [{ record, record_id, patient_id, after }] };
}
