import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import type { EmrEncounter } from '../operations/telephoneEncounters.ts';
import { free_statuses } from './appointments.ts';
import { path } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, flag, id, isoDate, text, textOrNull } from './values.ts';

async function listEncounters(request: SendRequest, patient_ehr_id: string): Promise<EmrEncounter[]> {
  const rows = await collect(
    readPages(request, { ...encounters, path: path`/api/patients/${patient_ehr_id}/encounters` }),
  );
  return rows.map(({ ehr_id: id, ...fields }) => ({ id, ...fields }));
}

const encounters = defineList({
  path: '',
  row: Compile(
    Type.Object({
      encounterId: id,
      date: textOrNull,
      startTime: textOrNull,
      visitType: text,
      statusCode: textOrNull,
      providerId: textOrNull,
      providerFirstName: textOrNull,
      providerLastName: textOrNull,
      reason: textOrNull,
      facilityId: textOrNull,
      facilityName: textOrNull,
      lockedFlag: flag,
      caller: Type.Optional(textOrNull),
      message: Type.Optional(textOrNull),
      notes: Type.Optional(textOrNull),
      assignedToName: Type.Optional(textOrNull),
      answeredBy: Type.Optional(textOrNull),
      priority: Type.Optional(textOrNull),
      hasAttachment: Type.Optional(flag),
      actions: Type.Optional(Type.Array(Type.Object({ at: text, by: text, text }))),
    }),
  ),
  toSource: (row) => ({
    ehr_id: row.encounterId,
    date: isoDate(row.date),
    start_time: blankToNull(row.startTime),
    visit_type: row.visitType,
    status: blankToNull(row.statusCode),
    provider_ehr_id: blankToNull(row.providerId),
    provider_first_name: blankToNull(row.providerFirstName),
    provider_last_name: blankToNull(row.providerLastName),
    reason: blankToNull(row.reason),
    facility_name: blankToNull(row.facilityName),
    facility_id: blankToNull(row.facilityId),
    locked: toBooleanText(row.lockedFlag),
    cancelled: free_statuses.has(row.statusCode ?? ''),
    ...(row.actions && {
      caller: row.caller ?? null,
      message: row.message ?? null,
      actions: row.actions,
      notes: row.notes ?? null,
      assigned_to: row.assignedToName ?? null,
      answered_by: row.answeredBy ?? null,
      priority: row.priority ?? null,
      has_attachment: toBooleanText(row.hasAttachment ?? 'N'),
    }),
  }),
});

function toBooleanText(value: 'Y' | 'N'): 'true' | 'false' {
  return value === 'Y' ? 'true' : 'false';
}

const createTelephoneEncounter = defineWrite<Operations['createTelephoneEncounter']>(
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

const addTelephoneAction = defineWrite<Operations['addTelephoneAction']>(
  'add_telephone_action',
  (input) => ({
    path: path`/api/telephone-encounters/${input.encounter_ehr_id}/actions`,
    body: { text: input.text, priority: input.high_priority ? 'H' : 'N' },
  }),
  toWritten,
);

const addRefill = defineWrite<Operations['addRefill']>(
  'add_refill',
  (input) => ({
    path: path`/api/telephone-encounters/${input.encounter_ehr_id}/refills`,
    body: { medicationId: input.medication_ehr_id, pharmacyId: input.pharmacy_ehr_id },
  }),
  toWritten,
);

export const encounter_operations: readonly LarkspurOperation[] = [
  { operation: 'listEncounters', open: reading(listEncounters) },
  { operation: 'createTelephoneEncounter', open: createTelephoneEncounter },
  { operation: 'addTelephoneAction', open: addTelephoneAction },
  { operation: 'addRefill', open: addRefill },
];
