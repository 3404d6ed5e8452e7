import { apiError } from '../../../catalog/errors.ts';
import { DocumentRequest } from '../../../model/requests/documents.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { defineWrite, patientNotFound } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';
import { checkDocument, checkDocumentSize } from './checkDocument.ts';

const step = 'upload_document';

/** Uploads a file into a folder of the patient's chart. */
export const uploadDocument = defineWrite({
  type: 'document.upload',
  label: 'Document',
  plural_label: 'Documents',
  body: DocumentRequest,
  file_field: 'document',
  independent: true,
  sample: {
    folder_name: 'Referrals/Cardiology',
    patient_mrn: 'LK100001',
    document: 'referral.pdf',
    notes: 'Received by fax.',
  },
  needs: ['uploadDocument', 'findPatient'],
  restricted: false,
  stored_by: 'uploadDocument',
  check: checkReferences,
  acceptedResponse: ({ id }) => ({
    success: true,
    message: 'Document upload queued. A webhook event follows on completion.',
    document_id: id,
  }),
  run: async ({ id, input, readFile, emr, steps }) => {
    if (!steps.outcomes.has(step)) {
      const patient = await emr.findPatient(input.patient_mrn);
      if (!patient) throw patientNotFound(input.patient_mrn);
      const file = await readFile(0);
      if (!file) throw new Error('The file of a document was removed before it was uploaded.');
      await steps.write(step, emr.uploadDocument, {
        patient_ehr_id: patient.ehr_id,
        folder: input.folder_name,
        type: input.document_type,
        content: file,
        file_name: input.document === 'file' ? null : input.document,
        assigned_to_ehr_id: input.emr_assigned_to_id ?? null,
        reviewed: input.is_reviewed === 'true',
        high_priority: input.is_high_priority === 'true',
        notes: input.notes ?? null,
        template_name: input.template_name ?? null,
      });
    }
    return { event: { type: 'document.uploaded', data: documentFields(id, input) } };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const data = documentFields(id, input);
    if (outcomes.has(step)) return { state: 'succeeded', event: { type: 'document.uploaded', data } };
    return {
      state: 'failed',
      event: { type: 'document.upload_failed', data: { ...data, failure_reason: failure.message } },
    };
  },
});

function documentFields(id: string, body: DocumentRequest) {
  return { document_id: id, patient_mrn: body.patient_mrn, folder_name: body.folder_name };
}

type Request = { ctx: Context; account: Account; body: DocumentRequest; files: readonly Buffer[] };

async function checkReferences({ ctx, account, body, files: [file] }: Request) {
  const document_type = await checkDocument(ctx, file, 'document');
  const parts = body.folder_name.split('/');
  if (!parts.every((part) => part.trim() !== '' && part !== '.' && part !== '..' && !/[\\\p{Cc}]/u.test(part))) {
    const rule = 'folder_name must be folder names separated by forward slashes';
    throw apiError('invalid_field', { rule }, { field: 'folder_name' });
  }
  const { client_id, organization_id } = account;
  const [references] = await ctx.db.read<{ staff: boolean; patient_id: string | null; bytes_max: number | null }>(
    client_id,
    (sql) => sql`SELECT
      EXISTS (SELECT FROM staff WHERE organization_id = ${organization_id}
               AND ehr_id = ${body.emr_assigned_to_id ?? null} AND status = 'active') AS staff,
      (SELECT document_bytes_max FROM accounts WHERE id = ${account.id}) AS bytes_max,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id`,
  );
  if (file) checkDocumentSize(file, references?.bytes_max ?? null, 'document');
  if (body.emr_assigned_to_id !== undefined && !references?.staff) {
    const unknown = apiError('staff_not_found', { id: body.emr_assigned_to_id }, { field: 'emr_assigned_to_id' });
    throw await referenceError(ctx.db, account, ['staff'], unknown);
  }
  return { lane: patientLane(body.patient_mrn, references?.patient_id ?? null), lookups: { document_type } };
}
