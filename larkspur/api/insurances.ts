import { Type } from 'typebox';
import { checkEligibility } from '../charts/checkEligibility.ts';
import { addInsurance, changeInsurance } from '../charts/insurePatient.ts';
import { patientInsurances } from '../charts/patientInsurances.ts';
import { findMrn, patients } from '../charts/patients.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../machine/operation.ts';
import { getRecord, listRecords } from '../machine/recordKind.ts';
import { flag } from '../practice/fields.ts';
import { todayAt } from '../practice/today.ts';
import { makeGuarantor } from './guarantors.ts';
import { pageOf, paging } from './paging.ts';
import { guarantorFields, insuranceFields, relationshipCode } from './patientBody.ts';
import { optional, recordId, writeBody } from './writeBody.ts';

/** A subscriber who has no record yet is made one in the same write. */
const subscriber = {
  guarantorId: optional(recordId),
  guarantor: optional(Type.Object({ ...guarantorFields, relationshipCode }, { additionalProperties: false })),
};

export const insuranceOperations = [
  read({
    name: 'list_patient_insurances',
    method: 'GET',
    path: '/api/patients/:patientId/insurances',
    search: Type.Object(paging),
    handle: async ({ sql, params, search }) => {
      await getRecord(sql, patients, params.patientId);
      return listRecords(sql, patientInsurances, pageOf(search), sql`patient_id = ${params.patientId}`);
    },
  }),
  write({
    name: 'add_patient_insurance',
    path: '/api/patients/:patientId/insurances',
    body: writeBody({ companyId: recordId, ...insuranceFields, ...subscriber }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params: { patientId }, body: { externalRef, guarantor, ...words } }) => {
      await getRecord(sql, patients, patientId, true);
      const at = context.now();
      const made = guarantor ? [await makeGuarantor(sql, patientId, guarantor, at)] : [];
      const guarantorId = made[0]?.record_id ?? words.guarantorId ?? null;
      const added = await addInsurance(sql, patientId, { ...words, guarantorId }, at, await todayAt(sql, at));
      return { record_id: added.record_id, changes: [added, ...made] };
    },
  }),
  write({
    name: 'update_patient_insurance',
    path: '/api/patient-insurances/:insuranceId',
    body: writeBody({
      companyId: Type.Optional(recordId),
      ...insuranceFields,
      subscriberNumber: Type.Optional(insuranceFields.subscriberNumber),
      ...subscriber,
      activeFlag: Type.Optional(flag),
    }),
    patientMrn: (sql, params) => findMrnOfInsurance(sql, params.insuranceId),
    write: async ({ sql, context, params, body: { externalRef, guarantor, ...words } }) => {
      const insurance = await getRecord(sql, patientInsurances, params.insuranceId, true);
      const at = context.now();
      const made = guarantor ? [await makeGuarantor(sql, insurance.patientId, guarantor, at)] : [];
      const named = made[0] ? { guarantorId: made[0].record_id } : {};
      const changed = await changeInsurance(sql, insurance, { ...words, ...named }, at);
      return { record_id: insurance.insuranceId, changes: [changed, ...made] };
    },
  }),
  write({
    name: 'request_eligibility',
    path: '/api/patients/:patientId/eligibility-checks',
    body: writeBody({ insuranceId: optional(recordId) }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body: { insuranceId = null } }) => {
      await getRecord(sql, patients, patientId);
      const check = await checkEligibility(sql, patientId, insuranceId, session.displayName, context.now());
      if (!check) throw new EmrError('REFUSED', 'There is no such active insurance to check.');
      return { record_id: check.record_id, changes: [check] };
    },
  }),
];

async function findMrnOfInsurance(sql: Query, insuranceId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from patient_insurances join patients using (patient_id) where insurance_id = ${insuranceId}`;
  return patient?.mrn;
}
