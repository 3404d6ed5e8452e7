import type { DocumentStatus } from '../../../model/documentStatus.ts';
import type { Context } from '../../context.ts';
import type { Scope } from '../../records/readRecords.ts';
import { uploadDocument } from './document.upload.ts';

type Sent = Omit<DocumentStatus, 'status'> & { state: string; review_outcome: 'done' | 'not_done' | null };

/** A document of an upload request, as its latest job left it; undefined if there is none. */
export async function readSentDocument(
  ctx: Context,
  { client_id, organization_id }: Scope,
  id: string,
): Promise<DocumentStatus | undefined> {
  const [sent] = await ctx.db.read<Sent>(
    client_id,
    (sql) => sql`SELECT replace(operation.id::text, '-', '') AS id, job.state, job.review_outcome,
        job.error ->> 'message' AS failure_reason, job.id AS job_id,
        -- A run that was repeated may have saved it earlier.
        (SELECT detail ->> 'ehr_id' FROM jobs AS run JOIN job_steps ON job_steps.job_id = run.id
          WHERE run.operation_id = operation.id AND job_steps.kind = 'outcome' ORDER BY n DESC LIMIT 1) AS emr_document_id,
        operation.patient_mrn, operation.input ->> 'folder_name' AS folder_name,
        iso(operation.created_at) AS created_at, iso(job.finished_at) AS finished_at
      FROM operations AS operation CROSS JOIN LATERAL (
        SELECT * FROM jobs WHERE jobs.operation_id = operation.id ORDER BY jobs.id DESC LIMIT 1) AS job
     WHERE operation.id = ${id} AND operation.organization_id = ${organization_id}
       AND operation.type = ${uploadDocument.type}`,
  );
  if (!sent) return undefined;
  const { state, review_outcome, failure_reason, ...document } = sent;
  const status = toStatus(state, review_outcome);
  const has_reason = status === 'failed' || status === 'needs_review';
  return { ...document, status, failure_reason: has_reason ? failure_reason : null };
}

/** An operator who looked into the EMR decides about a job whose outcome was unknown. */
function toStatus(state: string, review_outcome: Sent['review_outcome']): DocumentStatus['status'] {
  if (state === 'queued' || state === 'running') return 'pending';
  if (state === 'succeeded' || review_outcome === 'done') return 'uploaded';
  return state === 'needs_review' && review_outcome === null ? 'needs_review' : 'failed';
}
