import { Type } from 'typebox';
import { nullable } from '../../model/fields.ts';
import { DocumentRequest } from '../../model/requests/documents.ts';
import { type Declarations, type EmrWrite, requestFields, sample_id, type Written } from './operation.ts';

export type DocumentOperations = {
  uploadDocument: EmrWrite<NewDocument, Written>;
  /** The documents of all charts that were added at or after an instant, without their content. May list others too. */
  listAddedDocuments: (since: string) => Promise<EmrDocument[]>;
};

export type EmrDocument = {
  ehr_id: string;
  patient_ehr_id: string;
  folder: string | null;
  file_name: string | null;
  content_type: string | null;
  added_at: string;
  /** Our markers in it. Absent: the EMR does not keep them. */
  markers?: readonly string[];
};

export type NewDocument = {
  patient_ehr_id: string;
  folder: string;
  type: 'application/pdf' | 'image/jpeg' | 'image/png';
  content: Buffer;
  /** As the sender called the file. null: unknown. */
  file_name: string | null;
  assigned_to_ehr_id: string | null;
  reviewed: boolean;
  high_priority: boolean;
  notes: string | null;
  template_name: string | null;
};

export const document_operations = {
  uploadDocument: {
    consent: 'documents',
    effect: { action: 'create', resource: 'document' },
    fields: requestFields(DocumentRequest, {
      emr_assigned_to_id: { adds: { assigned_to_ehr_id: sample_id } },
      is_reviewed: { adds: { reviewed: true } },
      notes: { adds: { notes: 'Certification notes' } },
      is_high_priority: { adds: { high_priority: true } },
      template_name: { adds: { template_name: 'Certification template' } },
    }),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        folder: 'Certification',
        type: 'application/pdf',
        content: samplePdf(env.uniqueTag()),
        file_name: 'synthetic referral.pdf',
        assigned_to_ehr_id: null,
        reviewed: false,
        high_priority: false,
        notes: null,
        template_name: null,
      }),
    },
  },
  listAddedDocuments: {
    consent: 'documents',
    result: Type.Array(
      Type.Object({
        ehr_id: Type.String({ minLength: 1 }),
        patient_ehr_id: Type.String({ minLength: 1 }),
        folder: nullable(Type.String()),
        file_name: nullable(Type.String()),
        content_type: nullable(Type.String()),
        added_at: Type.String({ format: 'date-time' }),
        markers: Type.Optional(Type.Array(Type.String())),
      }),
    ),
    sample: async () => [new Date(Date.now() - 86_400_000).toISOString()],
    missing: ['2999-01-01T00:00:00.000Z'],
  },
} satisfies Declarations<DocumentOperations>;

/** A minimal PDF, unique by its comment. */
export function samplePdf(comment: string): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${comment}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${head.length}\n%%EOF\n`, 'latin1');
}
