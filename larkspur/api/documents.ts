import { Type } from 'typebox';
import { addDocument, listDocuments } from '../charts/documents.ts';
import { folderPathOf, makeFolders } from '../charts/folders.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../machine/operation.ts';
import { getRecord } from '../machine/recordKind.ts';
import { flag } from '../practice/fields.ts';
import { getActive } from '../practice/getActive.ts';
import { staff } from '../practice/staff.ts';
import { pageOf, paging } from './paging.ts';
import { atMost, optional, priority, recordId, typed, writeBody } from './writeBody.ts';

export const documentOperations = [
  read({
    name: 'list_documents',
    method: 'GET',
    path: '/api/patients/:patientId/documents',
    search: Type.Object(paging),
    handle: async ({ sql, params, search }) => {
      await getRecord(sql, patients, params.patientId);
      return listDocuments(sql, params.patientId, pageOf(search));
    },
  }),
  write({
    name: 'upload_document',
    path: '/api/patients/:patientId/documents',
    body_bytes_max: 8 * 1024 * 1024,
    body: writeBody({
      folderPath: typed(500),
      fileName: typed(200),
      contentType: Type.Enum(['application/pdf', 'image/jpeg', 'image/png']),
      contentBase64: Type.String({ minLength: 4 }),
      notes: optional(atMost(1000)),
      reviewedFlag: Type.Optional(flag),
      priority: Type.Optional(priority),
      assignedTo: optional(recordId),
      templateName: optional(atMost(2000)),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      await getRecord(sql, patients, patientId);
      if (body.assignedTo) await getActive(sql, staff, body.assignedTo);
      const folderPath = folderPathOf(body.folderPath);
      if (folderPath === undefined) throw new EmrError('REFUSED', `'${body.folderPath}' is no folder.`);
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
      await makeFolders(sql, patientId, folderPath);
      const signed = { ...document, patientId, createdAt: context.now(), createdBy: session.displayName };
      const id = await addDocument(sql, { ...signed, content });
      return {
        record_id: id,
        changes: [{ record: 'document', record_id: id, patient_id: patientId, after: document }],
      };
    },
  }),
];

/** Node skips what is no base64; a file must not lose bytes that way. */
function decode(contentBase64: string): Buffer {
  const content = Buffer.from(contentBase64, 'base64');
  if (content.length > 0 && content.toString('base64') === contentBase64) return content;
  throw new EmrError('BAD_REQUEST', 'contentBase64 is not base64.');
}
