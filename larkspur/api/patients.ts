import { type Static, Type } from 'typebox';
import { addInsurance } from '../charts/editInsurance.ts';
import { requestEligibilityCheck } from '../charts/eligibility.ts';
import { SELF } from '../charts/guarantors.ts';
import { mergePatients } from '../charts/mergePatients.ts';
import { addPreviousAddress, getPatientDetails } from '../charts/patientDetails.ts';
import { addPatientPharmacy } from '../charts/patientPharmacies.ts';
import { findDuplicatePatient, findMrn, listPatients, patients } from '../charts/patients.ts';
import { resolveDemographics } from '../charts/resolveDemographics.ts';
import { EmrError } from '../errors.ts';
import { type Call, read, write } from '../http/operation.ts';
import { pharmacies } from '../practice/organizations.ts';
import { requiredPatientFields } from '../practice/practice.ts';
import { birthDate, flag, sexCode, TEXT_MAX, text, usDate } from '../records/fields.ts';
import type { RecordChange } from '../records/history.ts';
import { createRecord, getRecord, requireActive, updateRecord } from '../records/recordKind.ts';
import { addGuarantor } from './guarantors.ts';
import {
  demographicFields,
  guarantor,
  insuranceFields,
  optional,
  pageFields,
  parsePage,
  recordId,
  relationshipCode,
  requiredText,
  writeBody,
} from './schemas.ts';

const createBody = writeBody({
  firstName: requiredText(TEXT_MAX),
  lastName: requiredText(TEXT_MAX),
  birthDate,
  sexCode,
  ...demographicFields,
  responsiblePartyCode: Type.Optional(relationshipCode),
  responsibleParty: optional(guarantor),
  insurances: Type.Optional(
    Type.Array(
      Type.Object(
        {
          companyId: optional(recordId),
          companyName: optional(text),
          ...insuranceFields,
          // New patients do not always have their insurance card with them.
          subscriberNumber: optional(text),
        },
        { additionalProperties: false },
      ),
      { maxItems: 3 },
    ),
  ),
  checkEligibility: Type.Optional(flag),
  pharmacyIds: Type.Optional(Type.Array(recordId, { maxItems: 10, uniqueItems: true })),
});

const updateBody = writeBody({
  firstName: Type.Optional(requiredText(TEXT_MAX)),
  lastName: Type.Optional(requiredText(TEXT_MAX)),
  birthDate: Type.Optional(birthDate),
  sexCode: Type.Optional(sexCode),
  ...demographicFields,
  keepAddressHistory: Type.Optional(flag),
});

export const patientOperations = [
  read({
    name: 'list_patients',
    path: '/api/patients',
    query: Type.Object({
      ...pageFields,
      mrn: Type.Optional(text),
      lastName: Type.Optional(text),
      firstName: Type.Optional(text),
      birthDate: Type.Optional(usDate),
      phone: Type.Optional(text),
    }),
    handle: ({ sql, query }) => listPatients(sql, query, parsePage(query)),
  }),
  read({
    name: 'get_patient',
    path: '/api/patients/:patientId',
    handle: ({ sql, params }) => getPatientDetails(sql, params.patientId),
  }),
  write({
    name: 'create_patient',
    path: '/api/patients',
    body: createBody,
    patientMrn: async () => undefined,
    write: async (call) => {
      const { sql, context, session, body } = call;
      await rejectIncomplete(call);
      const mrn = await findDuplicatePatient(sql, body);
      if (mrn) throw new EmrError('DUPLICATE_PATIENT', `This patient already has a chart: MRN ${mrn}.`, { mrn });
      const chart = await createChart(call);
      const patientId = chart.record_id;
      const responsibleParty = await addResponsibleParty(call, patientId);
      const insurances = await addInsurances(call, patientId, responsibleParty[0]?.record_id);
      const changes = [chart, ...responsibleParty, ...insurances, ...(await addPharmacies(call, patientId))];
      if (body.checkEligibility === 'Y') {
        const request = { insuranceId: null, requestedBy: session.displayName, at: context.now() };
        const check = await requestEligibilityCheck(sql, patientId, request);
        if (check) changes.push(check);
      }
      return { record_id: patientId, mrn: (await findMrn(sql, patientId)) ?? '', changes };
    },
  }),
  write({
    name: 'update_patient',
    path: '/api/patients/:patientId/demographics',
    body: updateBody,
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      const { externalRef, keepAddressHistory = 'Y', ...fields } = body;
      const before = await getRecord(sql, patients, patientId, true);
      const resolved = await resolveDemographics(sql, fields, 'reject');
      const values = { ...plainColumns(fields), ...resolved };
      const change = await updateRecord(sql, patients, patientId, { values, at: context.now() });
      const after = await getRecord(sql, patients, patientId);
      const moved = Object.values(after.address).join('\n') !== Object.values(before.address).join('\n');
      if (keepAddressHistory === 'N' || !moved) return { record_id: patientId, changes: [change] };
      const previous = { address: before.address, replacedAt: context.now(), replacedBy: session.displayName };
      return { record_id: patientId, changes: [change, await addPreviousAddress(sql, patientId, previous)] };
    },
  }),
  write({
    name: 'merge_patient',
    path: '/api/patients/:patientId/merge',
    body: writeBody({ intoPatientId: recordId }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, params: { patientId }, body }) => ({
      record_id: body.intoPatientId,
      changes: await mergePatients(sql, patientId, body.intoPatientId, context.now()),
    }),
  }),
];

type CreateCall = Call<unknown, Static<typeof createBody>, unknown>;

/** Checks the fields that the practice requires. `noEmailReason` is accepted in place of `email`. */
async function rejectIncomplete({ sql, body }: CreateCall): Promise<void> {
  const values: Record<string, unknown> = { ...body, email: body.email || body.noEmailReason };
  const missing = (await requiredPatientFields(sql)).filter(
    (field) => values[field] === undefined || values[field] === null || values[field] === '',
  );
  if (missing.length > 0)
    throw new EmrError('RULE_BROKEN', `This practice requires: ${missing.join(', ')}.`, { missing });
}

async function createChart({ sql, context, body }: CreateCall): Promise<RecordChange> {
  const { externalRef, responsibleParty, insurances = [], checkEligibility, pharmacyIds, ...fields } = body;
  const resolved = await resolveDemographics(sql, fields, 'store');
  const selfPayFlag = body.selfPayFlag ?? (insurances.length === 0 ? 'Y' : 'N');
  return createRecord(sql, patients, { ...plainColumns(fields), ...resolved, selfPayFlag }, context.now());
}

/** Adds a guarantor if someone other than the patient pays. */
async function addResponsibleParty({ sql, context, body }: CreateCall, patientId: string): Promise<RecordChange[]> {
  const { responsiblePartyCode = SELF, responsibleParty } = body;
  if (responsiblePartyCode === SELF) return [];
  if (!responsibleParty) throw new EmrError('RULE_BROKEN', 'A responsible party other than the patient needs a name.');
  const input = { ...responsibleParty, relationshipCode: responsiblePartyCode };
  const added = await addGuarantor(sql, patientId, input, context.now());
  const link = { responsibleGuarantorId: added.record_id };
  return [added, await updateRecord(sql, patients, patientId, { values: link, at: context.now() })];
}

async function addInsurances(
  { sql, context, body }: CreateCall,
  patientId: string,
  guarantorId: string | undefined,
): Promise<RecordChange[]> {
  const changes: RecordChange[] = [];
  for (const insurance of body.insurances ?? []) {
    const subscriberNumber = insurance.subscriberNumber ?? '';
    const input = { ...insurance, subscriberNumber, guarantorId: guarantorId ?? null };
    changes.push(await addInsurance(sql, patientId, input, context.now()));
  }
  return changes;
}

async function addPharmacies({ sql, body }: CreateCall, patientId: string): Promise<RecordChange[]> {
  const changes: RecordChange[] = [];
  for (const [position, pharmacyId] of (body.pharmacyIds ?? []).entries()) {
    await requireActive(sql, pharmacies, pharmacyId);
    const added = await addPatientPharmacy(sql, patientId, pharmacyId, position === 0);
    changes.push(...added.changes.filter((change) => change.record_id === added.record_id));
  }
  return changes;
}

/** The fields that are stored as sent. A missing field of an emergency contact is stored as null. */
function plainColumns(fields: Omit<Static<typeof updateBody>, 'externalRef' | 'keepAddressHistory'>): object {
  const { language, race, ethnicity, emergencyContact, ...columns } = fields;
  if (emergencyContact === undefined) return columns;
  const none = { firstName: null, lastName: null, relation: null, phone: null };
  return { ...columns, emergencyContact: emergencyContact && { ...none, ...emergencyContact } };
}
