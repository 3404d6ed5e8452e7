import { type Static, Type } from 'typebox';
import { addInsurance, giveUpPriority, lockInsurance, updateInsurance } from '../charts/editInsurance.ts';
import { listAllChecks, requestEligibilityCheck } from '../charts/eligibility.ts';
import { type Guarantor, getGuarantor, guarantors } from '../charts/guarantors.ts';
import { listPolicies, type PatientInsurance, requireInForce } from '../charts/patientInsurances.ts';
import { findMrn, patients } from '../charts/patients.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../http/operation.ts';
import { flag, text, usDate } from '../records/fields.ts';
import { foldName } from '../records/foldName.ts';
import type { RecordChange } from '../records/history.ts';
import { getRecord, updateRecord } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { addGuarantor } from './guarantors.ts';
import {
  guarantorFields,
  insuranceFields,
  optional,
  pageFields,
  parsePage,
  recordId,
  relationshipCode,
  writeBody,
} from './schemas.ts';

const subscriberPerson = Type.Object(
  { ...guarantorFields, relationshipCode: Type.Optional(relationshipCode) },
  { additionalProperties: false },
);

/** The subscriber is an existing guarantor, or a person whom the same write adds. */
const subscriber = { guarantorId: optional(recordId), guarantor: optional(subscriberPerson) };

export const insuranceOperations = [
  listOfPatient('list_patient_insurances', 'insurances', listPolicies),
  read({
    name: 'list_insurances',
    path: '/api/patient-insurances',
    query: Type.Object(pageFields),
    handle: ({ sql, query }) => listPolicies(sql, undefined, parsePage(query)),
  }),
  write({
    name: 'add_patient_insurance',
    path: '/api/patients/:patientId/insurances',
    body: writeBody({ companyId: recordId, ...insuranceFields, ...subscriber }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params: { patientId }, body: { externalRef, guarantor, ...input } }) => {
      await getRecord(sql, patients, patientId, true);
      const at = context.now();
      const newGuarantor = guarantor ? [await addGuarantor(sql, patientId, guarantor, at)] : [];
      const guarantorId = newGuarantor[0]?.record_id ?? input.guarantorId ?? null;
      const added = await addInsurance(sql, patientId, { ...input, guarantorId }, at);
      return { record_id: added.record_id, changes: [added, ...newGuarantor] };
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
      planEnds: optional(usDate),
      swapPriority: Type.Optional(flag),
      activeFlag: Type.Optional(flag),
    }),
    patientMrn: (sql, params) => findMrnOfInsurance(sql, params.insuranceId),
    write: async ({ sql, context, params, body: { externalRef, guarantor, swapPriority, ...input } }) => {
      const insurance = await lockInsurance(sql, params.insuranceId);
      const at = context.now();
      const changedGuarantor = guarantor ? [await setSubscriber(sql, insurance, guarantor, at)] : [];
      const link = changedGuarantor[0] ? { guarantorId: changedGuarantor[0].record_id } : {};
      const swapped =
        swapPriority === 'Y' && input.priority ? await giveUpPriority(sql, insurance, input.priority, at) : [];
      const updated = await updateInsurance(sql, insurance, { ...input, ...link }, at);
      if (swapPriority === 'Y') await requireInForce(sql, insurance);
      return { record_id: insurance.insuranceId, changes: [updated, ...swapped, ...changedGuarantor] };
    },
  }),
  read({
    name: 'list_eligibility_checks',
    path: '/api/eligibility-checks',
    query: Type.Object({ ...pageFields, mrn: Type.Optional(text) }),
    handle: ({ sql, query }) => listAllChecks(sql, query.mrn, parsePage(query)),
  }),
  write({
    name: 'request_eligibility',
    path: '/api/patients/:patientId/eligibility-checks',
    body: writeBody({ insuranceId: optional(recordId) }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body: { insuranceId = null } }) => {
      await getRecord(sql, patients, patientId);
      const request = { insuranceId, requestedBy: session.displayName, at: context.now() };
      const check = await requestEligibilityCheck(sql, patientId, request);
      if (!check) throw new EmrError('RULE_BROKEN', 'The patient has no such active insurance.');
      return { record_id: check.record_id, changes: [check] };
    },
  }),
];

/** A person with the name of the present guarantor is that guarantor: omitted fields keep their values. */
async function setSubscriber(
  sql: Query,
  { patientId, guarantorId }: PatientInsurance,
  person: Static<typeof subscriberPerson>,
  at: Date,
): Promise<RecordChange> {
  const present = guarantorId === null ? undefined : await getGuarantor(sql, patientId, guarantorId);
  if (!present || present.guarantorIsPatient === 'Y' || !hasName(present, person)) {
    return addGuarantor(sql, patientId, person, at);
  }
  const { sexCode, ...values } = person;
  const changes = { ...values, ...(sexCode && { sexCode }) };
  return updateRecord(sql, guarantors, present.guarantorId, { values: changes, at });
}

function hasName(guarantor: Guarantor, { firstName, lastName }: Static<typeof subscriberPerson>): boolean {
  const same = (a: string, b: string) => foldName(a) === foldName(b);
  return same(guarantor.firstName, firstName) && same(guarantor.lastName, lastName);
}

async function findMrnOfInsurance(sql: Query, insuranceId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from patient_insurances join patients using (patient_id) where insurance_id = ${insuranceId}`;
  return patient?.mrn;
}
