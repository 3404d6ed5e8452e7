import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { DocumentStatus } from '../../../model/documentStatus.ts';
import { success } from '../../../model/fields.ts';
import { uploadDocument } from '../../../product/writes/documents/document.upload.ts';
import { readSentDocument } from '../../../product/writes/documents/sentDocument.ts';
import { for_reads } from '../limitedSecrets.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const documentsCreate = writeEndpoint(uploadDocument, {
  id: 'documents.create',
  group: 'Documents',
  method: 'POST',
  path: '/v1/documents',
  summary: 'Upload a document',
  agent_tool: true,
  description:
    'Send a multipart form. The file must be a PDF, JPEG or PNG of at most 5 MB; the type is detected from the content. Missing folders are created. The response has no `job_id`; the event contains the `document_id`.',
  response: Type.Object({ success, message: Type.String(), document_id: Type.String() }),
  errors: [
    'form_malformed',
    'document_too_large',
    'document_over_emr_limit',
    'document_type_unsupported',
    'document_broken',
    'document_script_refused',
    'document_action_refused',
    'document_attachment_refused',
    'operation_not_offered',
    'unsupported_field',
    'staff_not_found',
    'first_sync_pending',
  ],
  events: ['document.uploaded', 'document.upload_failed'],
});

export const documentsGet = endpoint({
  id: 'documents.get',
  surface: 'api',
  group: 'Documents',
  method: 'GET',
  path: '/v1/documents/{id}',
  auth: 'account',
  limited_secrets: for_reads,
  summary: 'Retrieve the status of a document',
  agent_tool: true,
  description:
    'Returns what became of a document that you sent: its status and, after the upload, the EMR’s ID. The content is not returned.',
  params: Type.Object({ id: Type.String({ description: 'The document_id of its request or event' }) }),
  response: Type.Object({ success, document: DocumentStatus }),
  errors: ['record_not_found'],
  found_in: { id: 'POST /v1/documents#/document_id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const id = parseId(params.id);
    const document = id && (await readSentDocument(ctx, account, id));
    if (!document) throw apiError('record_not_found', { noun: 'Document', id: params.id }, { field: 'id' });
    auditPatients([document.patient_mrn]);
    return { success: true, document };
  },
});
