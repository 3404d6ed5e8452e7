import { Type } from 'typebox';
import { addDocument, createFolders } from '../charts/documents.ts';
import { findMrn, patients } from '../charts/patients.ts';
import {
  directionCode,
  findMrnOfReferral,
  getReferral,
  listReferrals,
  priorityCode,
  referrals,
  requireSides,
} from '../charts/referrals.ts';
import { read, write } from '../http/operation.ts';
import { todayAtPractice } from '../practice/practice.ts';
import { createRecord, getRecord } from '../records/recordKind.ts';
import { decodeContent, documentFields } from './documents.ts';
import { optional, pageFields, parsePage, recordId, requiredText, writeBody } from './schemas.ts';

const CODES_MAX = 50;
const FOLDER = 'Referrals';

export const referralOperations = [
  read({
    name: 'list_referrals',
    path: '/api/referrals',
    query: Type.Object(pageFields),
    handle: ({ sql, query }) => listReferrals(sql, parsePage(query)),
  }),
  read({
    name: 'get_referral',
    path: '/api/referrals/:referralId',
    handle: ({ sql, params }) => getReferral(sql, params.referralId),
  }),
  write({
    name: 'create_referral',
    path: '/api/patients/:patientId/referrals',
    body: writeBody({
      direction: directionCode,
      fromProviderId: optional(recordId),
      toProviderId: optional(recordId),
      priorityCode,
      reason: requiredText(32_000),
      icdCodes: Type.Optional(Type.Array(requiredText(10), { maxItems: CODES_MAX })),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      await getRecord(sql, patients, patientId);
      const { externalRef: _reference, fromProviderId = null, toProviderId = null, ...fields } = body;
      await requireSides(sql, { direction: fields.direction, fromProviderId, toProviderId });
      const at = context.now();
      const referralDate = await todayAtPractice(sql, at);
      const referral = { ...fields, patientId, fromProviderId, toProviderId, referralDate };
      const created = await createRecord(sql, referrals, { ...referral, createdBy: session.displayName }, at);
      return { record_id: created.record_id, changes: [created] };
    },
  }),
  write({
    name: 'add_referral_document',
    path: '/api/referrals/:referralId/documents',
    body_bytes_max: 8 * 1024 * 1024,
    body: writeBody(documentFields),
    patientMrn: (sql, params) => findMrnOfReferral(sql, params.referralId),
    write: async ({ sql, context, session, params, body: { fileName, contentType, contentBase64, externalRef } }) => {
      const { referralId, patientId } = await getRecord(sql, referrals, params.referralId, true);
      const content = decodeContent(contentBase64);
      const at = context.now();
      await createFolders(sql, patientId, FOLDER);
      const document = { folderPath: FOLDER, fileName, contentType, sizeBytes: content.length, referralId };
      const record_id = await addDocument(sql, {
        ...document,
        ...{ patientId, content, notes: null, reviewedFlag: 'N', priority: 'N', assignedTo: null, templateName: null },
        ...{ createdAt: at, createdBy: session.displayName, externalRef },
      });
      await sql`update referrals set last_activity_at = ${at} where referral_id = ${referralId}`;
      return { record_id, changes: [{ record: 'document', record_id, patient_id: patientId, after: document }] };
    },
  }),
];
