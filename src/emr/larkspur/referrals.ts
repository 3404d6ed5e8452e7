import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ReferralSource } from '../../model/records/referrals.ts';
import type { Operations } from '../operations/operations.ts';
import { path, requireBody } from './call.ts';
import { defineList } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, id, isoDate, isoInstant, requiredDate, text, textOrNull } from './values.ts';

const directions = { I: 'incoming', O: 'outgoing' } as const;
const priorities = { R: 'routine', U: 'urgent', S: 'stat' } as const;

const referrals = defineList({
  path: '/api/referrals',
  row: Compile(
    Type.Object({
      referralId: id,
      patientId: id,
      mrn: id,
      patientFirstName: text,
      patientLastName: text,
      birthDate: textOrNull,
      direction: Type.Enum(['I', 'O']),
      fromProviderId: textOrNull,
      fromProviderName: textOrNull,
      toProviderId: textOrNull,
      toProviderName: textOrNull,
      priorityCode: Type.Enum(['R', 'U', 'S']),
      urgency: textOrNull,
      reason: text,
      icdCodes: Type.Array(text),
      documents: Type.Array(Type.Object({ documentId: id })),
      statusCode: text,
      referralDate: text,
      lastActivityAt: text,
    }),
  ),
  toSource: (row): ReferralSource => ({
    ehr_id: row.referralId,
    patient_ehr_id: row.patientId,
    patient_mrn: row.mrn,
    patient_first_name: blankToNull(row.patientFirstName),
    patient_last_name: blankToNull(row.patientLastName),
    patient_dob: isoDate(row.birthDate),
    from_provider_ehr_id: blankToNull(row.fromProviderId),
    from_provider_name: blankToNull(row.fromProviderName),
    to_provider_ehr_id: blankToNull(row.toProviderId),
    to_provider_name: blankToNull(row.toProviderName),
    priority: priorities[row.priorityCode],
    urgency: blankToNull(row.urgency),
    reason: blankToNull(row.reason),
    diagnosis_codes: row.icdCodes,
    document_ids: row.documents.map(({ documentId }) => documentId),
    status: blankToNull(row.statusCode),
    referral_date: requiredDate(row.referralDate),
    last_activity_at: isoInstant(row.lastActivityAt),
    direction: directions[row.direction],
  }),
});

async function getReferral(request: SendRequest, ehr_id: string): Promise<ReferralSource | undefined> {
  const reply = await request({ method: 'GET', path: path`/api/referrals/${ehr_id}`, schema: referrals.row });
  if ('code' in reply && reply.code === 'NOT_FOUND') return undefined;
  return referrals.toSource(requireBody(reply));
}

const createReferral = defineWrite<Operations['createReferral']>(
  'create_referral',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/referrals`,
    body: {
      direction: input.direction === 'incoming' ? 'I' : 'O',
      fromProviderId: input.from_provider_ehr_id,
      toProviderId: input.to_provider_ehr_id,
      priorityCode: ({ routine: 'R', urgent: 'U', stat: 'S' } as const)[input.priority],
      reason: input.reason,
      icdCodes: input.diagnosis_codes,
    },
  }),
  toWritten,
);

const addReferralDocument = defineWrite<Operations['addReferralDocument']>(
  'add_referral_document',
  (input) => ({
    path: path`/api/referrals/${input.referral_ehr_id}/documents`,
    body: {
      fileName: input.file_name,
      contentType: input.type,
      contentBase64: input.content.toString('base64'),
    },
  }),
  toWritten,
);

export const referral_operations: readonly LarkspurOperation[] = [
  { operation: 'listReferrals', open: listing(referrals) },
  { operation: 'getReferral', open: reading(getReferral) },
  { operation: 'createReferral', open: createReferral },
  { operation: 'addReferralDocument', open: addReferralDocument },
];
