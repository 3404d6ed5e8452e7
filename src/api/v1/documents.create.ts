import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { uploadDocument } from '../../writes/documents/document.upload.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(uploadDocument, {
  id: 'documents.create',
  method: 'POST',
  path: '/v1/documents',
  summary: 'Upload a document into a folder of a patient’s chart',
  description:
    'A multipart form. The file type is detected from the content, not from the name: PDF, JPEG or PNG, at most 5 MB. Missing folders are created. The response has no `job_id`; the event contains the `document_id`.',
  response: Type.Object({ success, message: Type.String(), document_id: Type.String() }),
  errors: [
    'form_malformed',
    'document_too_large',
    'document_type_unsupported',
    'operation_not_offered',
    'staff_not_found',
  ],
  events: ['document.uploaded', 'document.upload_failed'],
});
