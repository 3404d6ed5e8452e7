import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { uploadDocument } from '../../../product/writes/documents/document.upload.ts';
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
