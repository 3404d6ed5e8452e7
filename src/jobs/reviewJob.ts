import type { Tx } from '../db/database.ts';
import { refusal } from '../errors.ts';
import type { ReviewOutcome } from '../model/dashboard/jobWords.ts';

/** What a person found, on a job whose outcome the service does not know. Said once: another run may build on it. */
export async function reviewJob(
  tx: Tx,
  job_id: number,
  review: { outcome: ReviewOutcome; note: string; by: string },
): Promise<void> {
  const reviewed = await tx`
    UPDATE jobs SET review_outcome = ${review.outcome}, review_note = ${review.note}, reviewed_by = ${review.by},
                    reviewed_at = now()
     WHERE id = ${job_id} AND state = 'needs_review' AND review_outcome IS NULL`;
  if (reviewed.count > 0) return;
  const [there] = await tx`SELECT FROM jobs WHERE id = ${job_id}`;
  throw there ? refusal('job_not_reviewable') : refusal('record_not_found', { noun: 'Job', id: String(job_id) });
}
