import { type ApiError, apiError } from '../../../catalog/errors.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import { referrals } from '../../../model/records/referrals.ts';
import { cleanFileName, filePosition } from '../../../model/requests/documents.ts';
import { nobody, ReferralRequest } from '../../../model/requests/referrals.ts';
import type { DocumentType } from '../../../platform/security/documents.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { referenceError } from '../../records/readRecords.ts';
import { storeOwnRecord } from '../../records/storeRecords.ts';
import { defineWrite, failureFields, notOffered, patientNotFound, type WriteRun } from '../defineWrite.ts';
import { checkDocument, checkDocumentSize } from '../documents/checkDocument.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

const step = 'create_referral';
/** `position`: of the document in the request. */
const documentStep = (position: number) => `add_referral_document_${position + 1}`;

/** `file`: its position among the stored files. */
type ReferralFile = { filename: string; type: DocumentType; file: number };
type Lookups = { files: ReferralFile[] };
type ReferralInput = ReferralRequest & Lookups;

/** Creates a referral, then adds its documents one by one. Its id is that of the referral in `GET /v1/referrals`. */
export const createReferral = defineWrite({
  type: 'referral.create',
  label: 'Referral',
  plural_label: 'Referrals',
  body: ReferralRequest,
  embedded_files: { list: 'documents', content: 'content_base64' },
  countFiles: ({ files }: ReferralInput) => files.length,
  independent: true,
  sample: {
    patient_mrn: 'LK100001',
    referring_from_provider_ehr_id: '8003',
    referring_to_provider_ehr_id: '501',
    direction: 'incoming',
    priority: 'routine',
    reason: 'Cardiology consultation',
    diagnosis_codes: ['I10'],
  },
  needs: ['createReferral', 'findPatient'],
  field_needs: { documents: ['addReferralDocument'] },
  restricted: true,
  stored_by: 'createReferral',
  check: checkReferences,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Referral creation queued. A webhook event follows on completion.',
    referral_id: id,
    job_id,
  }),

  run: async ({ id, input, emr, steps, scope, db, readFile }) => {
    const written = steps.outcomes.get(step) ?? (await createRecord(emr, steps, input));
    const ehr_id = String(written.ehr_id);
    const refusal = await addDocuments({ emr, steps, input, readFile }, ehr_id);
    // As the EMR saved it, so that the list shows it at once, also without some of its documents.
    const saved = await emr.getReferral?.(ehr_id);
    const own = { ...scope, kind: referrals };
    if (refusal) {
      if (saved) await db.tenant(scope.client_id, (tx) => storeOwnRecord(tx, own, id, saved));
      throw refusal;
    }
    return {
      event: created(id, input, steps.outcomes),
      store: async (tx) => {
        if (saved) await storeOwnRecord(tx, own, id, saved);
      },
    };
  },

  onFailure: ({ id, input, outcomes, failure }) => {
    if (!outcomes.has(step)) {
      const data = { ...referralFields(id, input), ...failureFields(failure) };
      return { state: 'failed', event: { type: 'referral.failed', data } };
    }
    const missing_documents = input.files
      .map(({ filename }, position) => ({ position, filename }))
      .filter(({ position }) => !outcomes.has(documentStep(position)));
    if (missing_documents.length === 0) return { state: 'succeeded', event: created(id, input, outcomes) };
    const data = { ...createdFields(id, input, outcomes), missing_documents, ...failureFields(failure) };
    return { state: 'partial', event: { type: 'referral.created_partial', data } };
  },
});

type Run = WriteRun<ReferralInput, 'createReferral' | 'findPatient'>;

async function createRecord(emr: Run['emr'], steps: Steps, input: ReferralInput) {
  const patient = await emr.findPatient(input.patient_mrn);
  if (!patient) throw patientNotFound(input.patient_mrn);
  const somebody = (ehr_id: string) => (ehr_id === nobody ? null : ehr_id);
  return steps.write(step, emr.createReferral, {
    patient_ehr_id: patient.ehr_id,
    from_provider_ehr_id: somebody(input.referring_from_provider_ehr_id),
    to_provider_ehr_id: somebody(input.referring_to_provider_ehr_id),
    direction: input.direction,
    priority: input.priority,
    reason: input.reason,
    diagnosis_codes: input.diagnosis_codes ?? [],
  });
}

/** Adds what is not in the EMR yet. Returns the first refusal: the other documents are added nevertheless. */
async function addDocuments(
  { emr, steps, input, readFile }: Pick<Run, 'emr' | 'steps' | 'input' | 'readFile'>,
  referral_ehr_id: string,
): Promise<EmrFailure | undefined> {
  const { addReferralDocument }: Partial<Operations> = emr;
  let refusal: EmrFailure | undefined;
  for (const [position, { filename, type, file }] of input.files.entries()) {
    if (steps.outcomes.has(documentStep(position))) continue;
    if (!addReferralDocument) return notOffered('addReferralDocument');
    const content = await readFile(file);
    if (!content) throw new Error('The file of a document was removed before it was sent.');
    const document = { referral_ehr_id, file_name: filename, type, content };
    try {
      await steps.write(documentStep(position), addReferralDocument, document);
    } catch (error) {
      const is_final = error instanceof EmrFailure && (error.kind === 'refused' || error.kind === 'not_found');
      if (!is_final) throw error;
      refusal ??= error;
    }
  }
  return refusal;
}

function referralFields(referral_id: string, { patient_mrn, direction, priority }: ReferralInput) {
  return { referral_id, patient_mrn, direction, priority };
}

function createdFields(id: string, input: ReferralInput, outcomes: Steps['outcomes']) {
  const document_ids = input.files.flatMap((_, position) => {
    const added = outcomes.get(documentStep(position));
    return added ? [String(added.ehr_id)] : [];
  });
  return { ...referralFields(id, input), emr_referral_id: String(outcomes.get(step)?.ehr_id), document_ids };
}

function created(id: string, input: ReferralInput, outcomes: Steps['outcomes']): EventOf {
  return { type: 'referral.created', data: createdFields(id, input, outcomes) };
}

type Request = { ctx: Context; account: Account; body: ReferralRequest; files: readonly Buffer[] };
type References = {
  patient_id: string | null;
  referring_provider: boolean;
  provider: boolean;
  bytes_max: number | null;
};

async function checkReferences({ ctx, account, body, files }: Request) {
  const { outside, inside } = findSides(body);
  if (outside.id === nobody && inside.id === nobody) {
    const rule = `${outside.field} and ${inside.field} cannot both be "0"`;
    throw apiError('invalid_field', { rule }, { field: outside.field });
  }
  const sent = await checkDocuments(ctx, body, files);
  const { client_id, organization_id } = account;
  const [references] = await ctx.db.read<References>(
    client_id,
    (sql) => sql`SELECT
      EXISTS (SELECT FROM referring_providers WHERE organization_id = ${organization_id}
               AND ehr_id = ${outside.id} AND status = 'active') AS referring_provider,
      EXISTS (SELECT FROM providers WHERE organization_id = ${organization_id}
               AND ehr_id = ${inside.id} AND doc ->> 'status' = 'active') AS provider,
      (SELECT document_bytes_max FROM accounts WHERE id = ${account.id}) AS bytes_max,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id`,
  );
  for (const [n, { content }] of sent.entries()) {
    checkDocumentSize(content, references?.bytes_max ?? null, contentField(n));
  }
  const unknown = (kind: KindName, error: ApiError) => referenceError(ctx.db, account, [kind], error);
  if (!references?.patient_id) {
    throw await unknown('patients', apiError('patient_not_found', undefined, { field: 'patient_mrn' }));
  }
  if (outside.id !== nobody && !references.referring_provider) {
    const { id, field } = outside;
    throw await unknown('referring_providers', apiError('referring_provider_not_found', { id }, { field }));
  }
  if (inside.id !== nobody && !references.provider) {
    const { id, field } = inside;
    throw await unknown('providers', apiError('provider_not_found', { id }, { field }));
  }
  const lookups: Lookups = { files: sent.map(({ content: _content, ...file }) => file) };
  return { lane: patientLane(body.patient_mrn, references.patient_id), lookups };
}

/** The providers of a referral: outside of the practice, and inside. */
function findSides(body: ReferralRequest) {
  const from = { id: body.referring_from_provider_ehr_id, field: 'referring_from_provider_ehr_id' };
  const to = { id: body.referring_to_provider_ehr_id, field: 'referring_to_provider_ehr_id' };
  return body.direction === 'incoming' ? { outside: from, inside: to } : { outside: to, inside: from };
}

function contentField(position: number): string {
  return `documents[${position}].content_base64`;
}

async function checkDocuments(ctx: Context, { documents = [] }: ReferralRequest, files: readonly Buffer[]) {
  const checked: (ReferralFile & { content: Buffer })[] = [];
  for (const [n, { filename, content_base64 }] of documents.entries()) {
    const file = filePosition(content_base64) ?? -1;
    const content = files[file];
    const type = await checkDocument(ctx, content, contentField(n));
    if (content) checked.push({ filename: cleanFileName(filename), type, file, content });
  }
  return checked;
}
