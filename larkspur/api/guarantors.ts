import { type Static, Type } from 'typebox';
import { guarantors, SELF } from '../charts/guarantors.ts';
import { getGuarantor } from '../charts/insurePatient.ts';
import { findMrn, patients } from '../charts/patients.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { Change } from '../machine/history.ts';
import { read, write } from '../machine/operation.ts';
import { changeRecord, createRecord, getRecord, listRecords } from '../machine/recordKind.ts';
import { pageOf, paging } from './paging.ts';
import { type guarantor, guarantorFields, relationshipCode } from './patientBody.ts';
import { optional, recordId, writeBody } from './writeBody.ts';

export const guarantorOperations = [
  read({
    name: 'list_guarantors',
    method: 'GET',
    path: '/api/patients/:patientId/guarantors',
    search: Type.Object(paging),
    handle: async ({ sql, params, search }) => {
      await getRecord(sql, patients, params.patientId);
      return listRecords(sql, guarantors, pageOf(search), sql`patient_id = ${params.patientId}`);
    },
  }),
  write({
    name: 'add_guarantor',
    path: '/api/patients/:patientId/guarantors',
    body: writeBody({ ...guarantorFields, relationshipCode }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params, body: { externalRef, ...words } }) => {
      await getRecord(sql, patients, params.patientId);
      const made = await makeGuarantor(sql, params.patientId, words, context.now());
      return { record_id: made.record_id, changes: [made] };
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
        throw new EmrError('REFUSED', 'A responsible party other than the patient needs a guarantorId.');
      }
      const values = { responsiblePartyCode, responsibleGuarantorId: guarantorId };
      const change = await changeRecord(sql, patients, patientId, values, context.now());
      return { record_id: patientId, changes: [change] };
    },
  }),
];

/** Always a record of its own, also when the same person has one. */
export function makeGuarantor(
  sql: Query,
  patientId: string,
  { sexCode, ...words }: Static<typeof guarantor> & { relationshipCode: string },
  at: Date,
): Promise<Change> {
  const guarantorIsPatient = words.relationshipCode === SELF ? 'Y' : 'N';
  return createRecord(sql, guarantors, { patientId, ...words, sexCode: sexCode ?? 'U', guarantorIsPatient }, at);
}
