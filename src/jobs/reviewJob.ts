import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import type { ReviewOutcome } from '../model/dashboard/jobWords.ts';

/**
 * What a person found, on a job whose outcome the service does not know. Said once: another run may build on it. Gives
 * the MRN of the patient concerned.
 */
export async function reviewJob(
  tx: Tx,
  job_id: number,
  review: { outcome: ReviewOutcome; note: string; by: string },
): Promise<string | null> {
  const [reviewed] = await tx<{ patient_mrn: string | null }[]>`
    UPDATE jobs SET review_outcome = ${review.outcome}, review_note = ${review.note}, reviewed_by = ${review.by},
                    reviewed_at = now()
     WHERE id = ${job_id} AND state = 'needs_review' AND review_outcome IS NULL
    RETURNING (SELECT patient_mrn FROM operations WHERE operations.id = operation_id)`;
  if (reviewed) return reviewed.patient_mrn;
  const [there] = await tx`SELECT FROM jobs WHERE id = ${job_id}`;
  throw there ? apiError('job_not_reviewable') : apiError('record_not_found', { noun: 'Job', id: String(job_id) });
}
