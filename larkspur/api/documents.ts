import { Type } from 'typebox';
import { addDocument, createFolders, listDocuments, parseFolderPath } from '../charts/documents.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { write } from '../http/operation.ts';
import { staff } from '../practice/staff.ts';
import { flag, text } from '../records/fields.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { optional, priority, recordId, requiredText, textUpTo, writeBody } from './schemas.ts';

export const documentOperations = [
  listOfPatient('list_documents', 'documents', listDocuments),
  write({
    name: 'upload_document',
    path: '/api/patients/:patientId/documents',
    body_bytes_max: 8 * 1024 * 1024,
    body: writeBody({
      folderPath: requiredText(500),
      fileName: requiredText(200),
      contentType: Type.Enum(['application/pdf', 'image/jpeg', 'image/png']),
      contentBase64: Type.String({ minLength: 4 }),
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
      const content = decode(body.contentBase64);
      const document = {
        folderPath,
        fileName: body.fileName,
        contentType: body.contentType,
        sizeBytes: content.length,
        notes: body.notes ?? null,
        reviewedFlag: body.reviewedFlag ?? 'N',
        priority: body.priority ?? 'N',
        assignedTo: body.assignedTo ?? null,
        templateName: body.templateName ?? null,
      } as const;
      await createFolders(sql, patientId, folderPath);
      const row = { ...document, patientId, createdAt: context.now(), createdBy: session.displayName };
      const id = await addDocument(sql, { ...row, content });
      return {
        record_id: id,
        changes: [{ record: 'document', record_id: id, patient_id: patientId, after: document }],
      };
    },
  }),
];

/** Node ignores invalid base64 characters, which would silently corrupt a file. */
function decode(contentBase64: string): Buffer {
  const content = Buffer.from(contentBase64, 'base64');
  if (content.length > 0 && content.toString('base64') === contentBase64) return content;
  throw new EmrError('BAD_REQUEST', 'contentBase64 is not valid base64.');
}
