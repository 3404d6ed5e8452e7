import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { type EventKinds, refusal } from './event.ts';
import { syncData } from './syncData.ts';

export const document = { document_id: Type.String(), patient_mrn: Type.String(), folder_name: Type.String() };

const added = syncData({
  emr_document_id: Type.String({ description: 'The EMR’s ID of the document', examples: ['300012'] }),
  patient_mrn: Type.String(),
  folder_name: nullable(Type.String({ description: 'The folder, if the EMR has folders' })),
  file_name: nullable(
    Type.String({ description: 'Name of the file, as the EMR gives it', examples: ['referral.pdf'] }),
  ),
  content_type: nullable(Type.String({ description: 'Media type of the file', examples: ['application/pdf'] })),
  added_at: Type.String({ format: 'date-time', description: 'When it was added, as the EMR says' }),
});

export const document_events = {
  'document.uploaded': {
    summary: 'The document was uploaded to the patient’s chart.',
    has_job_id: false,
    has_account_reference: false,
    trigger: { request: 'document' },
    data: Type.Object(document),
  },
  'document.upload_failed': {
    summary: 'The document was not uploaded.',
    has_job_id: false,
    has_account_reference: false,
    trigger: { request: 'document', fault: refusal('upload_document') },
    data: Type.Object({ ...document, failure_reason: Type.String() }),
  },
  'document.added': {
    summary: 'Staff added a document to a patient’s chart in the EMR.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'staff_document' },
    data: added,
    sync_data: added,
  },
} as const satisfies EventKinds;
