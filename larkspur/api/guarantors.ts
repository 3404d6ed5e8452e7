import type { Static } from 'typebox';
import { getGuarantor, guarantors, SELF } from '../charts/guarantors.ts';
import { findMrn, patients } from '../charts/patients.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { write } from '../http/operation.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, getRecord, listRecords, updateRecord } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { type guarantor, guarantorFields, optional, recordId, relationshipCode, writeBody } from './schemas.ts';

export const guarantorOperations = [
  listOfPatient('list_guarantors', 'guarantors', (sql, patientId, page) =>
    listRecords(sql, guarantors, page, sql`patient_id = ${patientId}`),
  ),
  write({
    name: 'add_guarantor',
    path: '/api/patients/:patientId/guarantors',
    body: writeBody({ ...guarantorFields, relationshipCode }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params, body: { externalRef, ...input } }) => {
      await getRecord(sql, patients, params.patientId);
      const added = await addGuarantor(sql, params.patientId, input, context.now());
      return { record_id: added.record_id, changes: [added] };
    },
  }),
  write({
    name: 'set_responsible_party',
    path: '/api/patients/:patientId/responsible-party',
    body: writeBody({ responsiblePartyCode: relationshipCode, guarantorId: optional(recordId) }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params: { patientId }, body: { responsiblePartyCode, guarantorId = null } }) => {
      await getRecord(sql, patients, patientId, true);
      if (guarantorId !== null) await getGuarantor(sql, patientId, guarantorId);
      else if (responsiblePartyCode !== SELF) {
        throw new EmrError('RULE_BROKEN', 'A responsible party other than the patient needs a guarantorId.');
      }
      const values = { responsiblePartyCode, responsibleGuarantorId: guarantorId };
      const change = await updateRecord(sql, patients, patientId, { values, at: context.now() });
      return { record_id: patientId, changes: [change] };
    },
  }),
];

/** Always creates a new record, even if the patient already has a guarantor with the same name. */
export function addGuarantor(
  sql: Query,
  patientId: string,
  { sexCode, ...input }: Static<typeof guarantor> & { relationshipCode?: string },
  at: Date,
): Promise<RecordChange> {
  const guarantorIsPatient = input.relationshipCode === SELF ? 'Y' : 'N';
  return createRecord(sql, guarantors, { patientId, ...input, sexCode: sexCode ?? 'U', guarantorIsPatient }, at);
}
