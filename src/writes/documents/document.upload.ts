import type { Account } from '../../accounts/accounts.ts';
import { EmrFailure } from '../../connectors/connector.ts';
import type { Context } from '../../context.ts';
import { apiError } from '../../errors.ts';
import { DocumentRequest } from '../../model/document.ts';
import { type DocumentType, sniffDocument } from '../../security/sniffDocument.ts';
import { patientIdOf, patientLane, type Write } from '../write.ts';

const step = 'upload_document';

/** What the request's file was found to be, stored beside the request. */
type Sniffed = { document_type: DocumentType };

/** A file is put into a folder of the patient's chart. */
export const uploadDocument: Write<typeof DocumentRequest, 'findPatient' | 'uploadDocument'> = {
  type: 'document.upload',
  body: DocumentRequest,
  needs: ['uploadDocument', 'findPatient'],
  label: 'Documents',
  restricted: false,
  upload: { field: 'document', check: sniffed },
  check: checkReferences,
  accepted: ({ id }) => ({
    success: true,
    message: 'Document upload queued. A webhook event follows on completion.',
    document_id: id,
  }),
  perform: async ({ id, body, file, emr, steps }) => {
    if (!steps.outcomes.has(step)) {
      const patient = await emr.findPatient(body.patient_mrn);
      if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${body.patient_mrn}' not found.`);
      if (!file) throw new Error('The content of a document is gone before it was uploaded.');
      await steps.write(step, emr.uploadDocument, {
        patient_ehr_id: patient.ehr_id,
        folder: body.folder_name,
        // Stored by `upload.check` when the request was accepted.
        type: (body as DocumentRequest & Sniffed).document_type,
        content: file,
        assigned_to_ehr_id: body.emr_assigned_to_id ?? null,
        reviewed: body.is_reviewed === 'true',
        high_priority: body.is_high_priority === 'true',
        notes: body.notes ?? null,
        template_name: body.template_name ?? null,
      });
    }
    return { type: 'document.uploaded', data: described(id, body) };
  },
  fail: ({ id, body, outcomes, problem }) => {
    const data = described(id, body);
    if (outcomes.has(step)) return { state: 'succeeded', event: { type: 'document.uploaded', data } };
    return {
      state: 'failed',
      event: { type: 'document.upload_failed', data: { ...data, failure_reason: problem.message } },
    };
  },
};

function described(id: string, body: DocumentRequest) {
  return { document_id: id, patient_mrn: body.patient_mrn, folder_name: body.folder_name };
}

function sniffed(content: Buffer): Sniffed {
  const document_type = sniffDocument(content);
  if (!document_type) throw apiError('document_type_unsupported', undefined, { field: 'document' });
  return { document_type };
}

async function checkReferences(ctx: Context, account: Account, body: DocumentRequest) {
  const parts = body.folder_name.split('/');
  if (!parts.every((part) => part.trim() !== '' && part !== '.' && part !== '..' && !/[\\\p{Cc}]/u.test(part))) {
    const rule = 'folder_name must be names of folders, separated by forward slashes';
    throw apiError('invalid_field', { rule }, { field: 'folder_name' });
  }
  const { client_id, organization_id } = account;
  const [found] = await ctx.db.read<{ staff: boolean; patient_id: string | null }>(
    client_id,
    (sql) => sql`SELECT
      EXISTS (SELECT FROM staff WHERE organization_id = ${organization_id}
               AND ehr_id = ${body.emr_assigned_to_id ?? null}) AS staff,
      ${patientIdOf(sql, account, body.patient_mrn)} AS patient_id`,
  );
  if (body.emr_assigned_to_id !== undefined && !found?.staff) {
    throw apiError('staff_not_found', { id: body.emr_assigned_to_id }, { field: 'emr_assigned_to_id' });
  }
  return patientLane(body.patient_mrn, found?.patient_id ?? null);
}
