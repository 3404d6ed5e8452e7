import { Type } from 'typebox';
import { listAddedDocuments, listDocuments, parseFolderPath, storeDocument } from '../charts/documents.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../http/operation.ts';
import { staff } from '../practice/staff.ts';
import { flag, text } from '../records/fields.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { isoTimestamp, listOfPatient } from './charts.ts';
import { optional, pageFields, parsePage, priority, recordId, requiredText, textUpTo, writeBody } from './schemas.ts';

/** The file of a document. */
export const documentFields = {
  fileName: requiredText(200),
  contentType: Type.Enum(['application/pdf', 'image/jpeg', 'image/png']),
  contentBase64: Type.String({ minLength: 4 }),
};

export const documentOperations = [
  listOfPatient('list_documents', 'documents', listDocuments),
  read({
    name: 'list_added_documents',
    path: '/api/documents',
    query: Type.Object({ ...pageFields, addedSince: isoTimestamp }),
    handle: ({ sql, query }) => listAddedDocuments(sql, query.addedSince, parsePage(query)),
  }),
  write({
    name: 'upload_document',
    path: '/api/patients/:patientId/documents',
    body_bytes_max: 8 * 1024 * 1024,
    body: writeBody({
      folderPath: requiredText(500),
      ...documentFields,
      notes: optional(textUpTo(1000)),
      reviewedFlag: Type.Optional(flag),
      priority: Type.Optional(priority),
      assignedTo: optional(recordId),
      templateName: optional(text),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      await getRecord(sql, patients, patientId);
      if (body.assignedTo) await requireActive(sql, staff, body.assignedTo);
      const folderPath = parseFolderPath(body.folderPath);
      if (folderPath === undefined)
        throw new EmrError('RULE_BROKEN', `'${body.folderPath}' is not a valid folder path.`);
      const stored = await storeDocument(sql, {
        patientId,
        folderPath,
        fileName: body.fileName,
        contentType: body.contentType,
        notes: body.notes ?? null,
        reviewedFlag: body.reviewedFlag ?? 'N',
        priority: body.priority ?? 'N',
        assignedTo: body.assignedTo ?? null,
        templateName: body.templateName ?? null,
        referralId: null,
        createdAt: context.now(),
        createdBy: session.displayName,
        content: decodeContent(body.contentBase64),
        externalRef: body.externalRef,
      });
      return { record_id: stored.record_id, changes: [stored] };
    },
  }),
];

/** Node ignores invalid base64 characters, which would silently corrupt a file. */
export function decodeContent(contentBase64: string): Buffer {
  const content = Buffer.from(contentBase64, 'base64');
  if (content.length > 0 && content.toString('base64') === contentBase64) return content;
  throw new EmrError('BAD_REQUEST', 'contentBase64 is not valid base64.');
}
