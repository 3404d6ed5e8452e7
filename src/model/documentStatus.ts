import { type Static, Type } from 'typebox';
import { choices, date_time, id, nullable } from './fields.ts';

/** A document that a client has sent, by the ID that it got. */
export const DocumentStatus = Type.Object(
  {
    id,
    emr_document_id: nullable(
      Type.String({ description: 'The EMR’s ID of the document; null until it is uploaded', examples: ['60041'] }),
    ),
    status: choices(
      {
        pending: 'Waiting to be uploaded to the EMR',
        uploaded: 'In the patient’s chart',
        failed: 'Could not be uploaded; see failure_reason',
        needs_review: 'It is unknown whether it was saved: check in the EMR',
      },
      { description: 'State of the document in Chartwire', examples: ['uploaded'] },
    ),
    failure_reason: nullable(
      Type.String({ description: 'Why the document was not uploaded, or could not be confirmed; null if it was' }),
    ),
    job_id: Type.Integer(),
    patient_mrn: nullable(Type.String({ description: 'MRN of the patient; null after the retention period' })),
    folder_name: nullable(Type.String({ description: 'Folder in the chart; null after the retention period' })),
    created_at: date_time,
    finished_at: nullable(
      Type.String({ format: 'date-time', description: 'When the upload finished; null until then' }),
    ),
  },
  { schema_name: 'DocumentStatus', description: 'An uploaded document, or one that is waiting to be uploaded' },
);
export type DocumentStatus = Static<typeof DocumentStatus>;
