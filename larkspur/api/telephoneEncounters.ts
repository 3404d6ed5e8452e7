import { addAction } from '../charts/actions.ts';
import { getRefillable } from '../charts/medications.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { addRefill } from '../charts/refills.ts';
import {
  addTelephoneEncounter,
  findMrnOfEncounter,
  getTelephoneEncounter,
  getWholeEncounter,
} from '../charts/telephoneEncounters.ts';
import { read, write } from '../machine/operation.ts';
import { getRecord } from '../machine/recordKind.ts';
import { facilities } from '../practice/facilities.ts';
import { getActive } from '../practice/getActive.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';
import { atMost, optional, priority, recordId, typed, writeBody } from './writeBody.ts';

export const telephoneEncounterOperations = [
  write({
    name: 'create_telephone_encounter',
    path: '/api/patients/:patientId/telephone-encounters',
    body: writeBody({
      providerId: recordId,
      facilityId: recordId,
      assignedTo: recordId,
      reason: optional(atMost(50)),
      caller: optional(atMost(100)),
      message: optional(atMost(100_000)),
      priority,
      pharmacyId: optional(recordId),
      templateName: optional(atMost(2000)),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params, body }) => {
      await getRecord(sql, patients, params.patientId);
      await getActive(sql, providers, body.providerId);
      await getActive(sql, facilities, body.facilityId);
      await getActive(sql, staff, body.assignedTo);
      if (body.pharmacyId) await getActive(sql, pharmacies, body.pharmacyId);
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
      return {
        record_id: id,
        changes: [{ record: 'telephone encounter', record_id: id, patient_id: params.patientId, after: encounter }],
      };
    },
  }),
  write({
    name: 'add_refill',
    path: '/api/telephone-encounters/:encounterId/refills',
    body: writeBody({ medicationId: recordId, pharmacyId: optional(recordId) }),
    patientMrn: (sql, params) => findMrnOfEncounter(sql, params.encounterId),
    write: async ({ sql, params, body }) => {
      const encounter = await getTelephoneEncounter(sql, params.encounterId);
      if (body.pharmacyId) await getActive(sql, pharmacies, body.pharmacyId);
      const medication = await getRefillable(sql, encounter.patientId, body.medicationId);
      const refill = {
        medicationId: medication.medicationId,
        medicationName: medication.name,
        pharmacyId: body.pharmacyId ?? null,
      };
      const id = await addRefill(sql, encounter.encounterId, refill);
      return {
        record_id: id,
        changes: [{ record: 'refill', record_id: id, patient_id: encounter.patientId, after: refill }],
      };
    },
  }),
  write({
    name: 'add_telephone_action',
    path: '/api/telephone-encounters/:encounterId/actions',
    body: writeBody({ text: typed(100_000), priority: optional(priority) }),
    patientMrn: (sql, params) => findMrnOfEncounter(sql, params.encounterId),
    write: async ({ sql, context, session, params, body }) => {
      const encounter = await getTelephoneEncounter(sql, params.encounterId);
      const action = { text: body.text, priority: body.priority ?? null };
      const signed = { ...action, at: context.now(), by: session.displayName };
      const id = await addAction(sql, encounter.encounterId, signed);
      return {
        record_id: id,
        changes: [{ record: 'action', record_id: id, patient_id: encounter.patientId, after: action }],
      };
    },
  }),
  read({
    name: 'get_telephone_encounter',
    method: 'GET',
    path: '/api/telephone-encounters/:encounterId',
    handle: ({ sql, params }) => getWholeEncounter(sql, params.encounterId),
  }),
];
