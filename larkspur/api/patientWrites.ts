import { type Static, Type } from 'typebox';
import { checkEligibility } from '../charts/checkEligibility.ts';
import { SELF } from '../charts/guarantors.ts';
import { addInsurance } from '../charts/insurePatient.ts';
import { addPatientPharmacy } from '../charts/patientPharmacies.ts';
import { findMrn, findSamePerson, patients } from '../charts/patients.ts';
import { addPreviousAddress } from '../charts/previousAddresses.ts';
import { resolveDemographics } from '../charts/resolveDemographics.ts';
import { EmrError } from '../errors.ts';
import type { Change } from '../machine/history.ts';
import { type Call, write } from '../machine/operation.ts';
import { changeRecord, createRecord, getRecord } from '../machine/recordKind.ts';
import { flag, sexCode, text, usDate } from '../practice/fields.ts';
import { getActive } from '../practice/getActive.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { requiredPatientFields } from '../practice/settings.ts';
import { todayAt } from '../practice/today.ts';
import { makeGuarantor } from './guarantors.ts';
import { demographicFields, guarantor, insuranceFields, relationshipCode } from './patientBody.ts';
import { optional, recordId, typed, writeBody } from './writeBody.ts';

const createBody = writeBody({
  firstName: typed(2000),
  lastName: typed(2000),
  birthDate: usDate,
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
          // At the desk of a new patient the card is not always at hand.
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
  firstName: Type.Optional(typed(2000)),
  lastName: Type.Optional(typed(2000)),
  birthDate: Type.Optional(usDate),
  sexCode: Type.Optional(sexCode),
  ...demographicFields,
  keepAddressHistory: Type.Optional(flag),
});

export const patientWriteOperations = [
  write({
    name: 'create_patient',
    path: '/api/patients',
    body: createBody,
    patientMrn: async () => undefined,
    write: async (call) => {
      const { sql, context, session, body } = call;
      await refuseIncomplete(call);
      const mrn = await findSamePerson(sql, body);
      if (mrn) throw new EmrError('DUPLICATE_PATIENT', `This patient has a chart: MRN ${mrn}.`, { mrn });
      const chart = await makeChart(call);
      const patientId = chart.record_id;
      const paying = await setPayer(call, patientId);
      const covering = await insure(call, patientId, paying[0]?.record_id);
      const changes = [chart, ...paying, ...covering, ...(await addPharmacies(call, patientId))];
      if (body.checkEligibility === 'Y') {
        const check = await checkEligibility(sql, patientId, null, session.displayName, context.now());
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
      const { externalRef, keepAddressHistory = 'Y', ...given } = body;
      const before = await getRecord(sql, patients, patientId, true);
      const resolved = await resolveDemographics(sql, given, 'refuse');
      const values = { ...plainColumns(given), ...resolved };
      const change = await changeRecord(sql, patients, patientId, values, context.now());
      const after = await getRecord(sql, patients, patientId);
      const moved = Object.values(after.address).join('\n') !== Object.values(before.address).join('\n');
      if (keepAddressHistory === 'N' || !moved) return { record_id: patientId, changes: [change] };
      const previous = { address: before.address, replacedAt: context.now(), replacedBy: session.displayName };
      const id = await addPreviousAddress(sql, patientId, previous);
      const kept = {
        record: 'previous address',
        record_id: id,
        patient_id: patientId,
        after: { address: before.address },
      };
      return { record_id: patientId, changes: [change, kept] };
    },
  }),
];

type Creating = Call<unknown, Static<typeof createBody>, unknown>;

/** What this practice insists on; a reason for having no e-mail address stands for the address. */
async function refuseIncomplete({ sql, body }: Creating): Promise<void> {
  const given: Record<string, unknown> = { ...body, email: body.email || body.noEmailReason };
  const missing = (await requiredPatientFields(sql)).filter(
    (field) => given[field] === undefined || given[field] === null || given[field] === '',
  );
  if (missing.length > 0) throw new EmrError('REFUSED', `This practice requires: ${missing.join(', ')}.`, { missing });
}

function makeChart({ sql, context, body }: Creating): Promise<Change> {
  const { externalRef, responsibleParty, insurances = [], checkEligibility: check, pharmacyIds, ...given } = body;
  return resolveDemographics(sql, given, 'keep').then((resolved) => {
    const selfPayFlag = body.selfPayFlag ?? (insurances.length === 0 ? 'Y' : 'N');
    return createRecord(sql, patients, { ...plainColumns(given), ...resolved, selfPayFlag }, context.now());
  });
}

/** Somebody other than the patient pays: always a guarantor record of its own. */
async function setPayer({ sql, context, body }: Creating, patientId: string): Promise<Change[]> {
  const { responsiblePartyCode = SELF, responsibleParty } = body;
  if (responsiblePartyCode === SELF) return [];
  if (!responsibleParty) throw new EmrError('REFUSED', 'A responsible party other than the patient needs a name.');
  const made = await makeGuarantor(
    sql,
    patientId,
    { ...responsibleParty, relationshipCode: responsiblePartyCode },
    context.now(),
  );
  const named = { responsibleGuarantorId: made.record_id };
  return [made, await changeRecord(sql, patients, patientId, named, context.now())];
}

async function insure(
  { sql, context, body }: Creating,
  patientId: string,
  guarantorId: string | undefined,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const insurance of body.insurances ?? []) {
    const words = {
      ...insurance,
      subscriberNumber: insurance.subscriberNumber ?? '',
      guarantorId: guarantorId ?? null,
    };
    changes.push(await addInsurance(sql, patientId, words, context.now(), await todayAt(sql, context.now())));
  }
  return changes;
}

async function addPharmacies({ sql, body }: Creating, patientId: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const [position, pharmacyId] of (body.pharmacyIds ?? []).entries()) {
    await getActive(sql, pharmacies, pharmacyId);
    const added = await addPatientPharmacy(sql, patientId, pharmacyId, position === 0);
    changes.push(...added.changes.filter((change) => change.record_id === added.record_id));
  }
  return changes;
}

/** Words that were looked up are columns of another name; an emergency contact is kept with all its lines. */
function plainColumns(given: Omit<Static<typeof updateBody>, 'externalRef' | 'keepAddressHistory'>): object {
  const { language, race, ethnicity, emergencyContact, ...columns } = given;
  if (emergencyContact === undefined) return columns;
  const none = { firstName: null, lastName: null, relation: null, phone: null };
  return { ...columns, emergencyContact: emergencyContact && { ...none, ...emergencyContact } };
}
