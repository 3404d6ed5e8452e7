import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { enqueueAgain } from '../jobs/enqueue.ts';
import { type RerunCandidate, readRerunCandidate } from '../jobs/listJobs.ts';
import type { RegisteredWrite } from './defineWrite.ts';
import { currentLane } from './patients/patientLane.ts';
import { newJob } from './requestWrite.ts';
import { writes } from './writes.ts';

/**
 * Queues another run of a finished job as a new job with its own event. The patient and the old job's row are locked
 * before anything is decided: a change to the patient that is being accepted is seen, and if two operators do this at the
 * same time, the second one sees the first one's run and is rejected. `of_account` limits it to jobs of one account.
 */
export async function rerunJob(
  ctx: Context,
  tx: Tx,
  job_id: number,
  { of_account }: { of_account?: string | undefined } = {},
): Promise<{ job_id: number; patient_mrn: string | null }> {
  const notFound = () => apiError('record_not_found', { noun: 'Job', id: String(job_id) });
  const named = await readRerunCandidate(tx, job_id, { lock: false });
  if (!named || (of_account !== undefined && named.account_id !== of_account)) throw notFound();
  if (!named.input_deleted) await findWrite(named)?.rerun_rules?.lock(tx, named);
  const job = await readRerunCandidate(tx, job_id, { lock: true });
  if (!job) throw notFound();
  const reason = await findRerunBlocker(tx, job);
  if (reason !== undefined) throw apiError('job_not_repeatable', { reason });
  await findWrite(job)?.rerun_rules?.prepare(tx, job);
  const { client_id, organization_id, account_id: id, connector } = job;
  const operation = { id: job.operation_id, type: job.type, input: job.input, reference: job.reference };
  const queued = newJob(ctx, { client_id, organization_id, id, connector }, operation, currentLane(job));
  return { job_id: await enqueueAgain(tx, { ...queued, run_again_of: job.id }), patient_mrn: job.patient_mrn };
}

/**
 * Why another run of a job would be pointless or unsafe; undefined if it is neither. A run that is allowed writes
 * nothing twice: completed steps are recognized by their markers.
 */
export async function findRerunBlocker(tx: Tx, job: RerunCandidate): Promise<string | undefined> {
  const write = findWrite(job);
  return (
    blockedByState(job) ??
    blockedByAccount(job) ??
    (job.input_deleted ? 'Its request was deleted after the retention period. Send a new request.' : undefined) ??
    (write?.hasFiles(job.input) && !job.uploaded
      ? 'The file was removed when the job finished. Send the document again.'
      : undefined) ??
    blockedByLaterChange(write, job) ??
    (await write?.rerun_rules?.blocker(tx, job))
  );
}

/** Undefined for a sync, which is not a write. */
function findWrite({ type }: RerunCandidate): RegisteredWrite | undefined {
  return writes.find((write) => write.type === type);
}

/** Why its state keeps a job from being repeated in any form. */
export function blockedByState({
  state,
  review_outcome,
  newer_job_id,
  edited_copy,
}: RerunCandidate): string | undefined {
  if (newer_job_id !== null) return `It was run again as job ${newer_job_id}.`;
  if (edited_copy !== null) return `It was edited and sent again as job ${edited_copy.job_id}.`;
  if (state === 'queued' || state === 'running') return 'The job has not finished yet.';
  if (state === 'succeeded') return 'The job succeeded. Everything requested is in the EMR.';
  if (state !== 'needs_review') return undefined;
  if (review_outcome === null) return 'Check in the EMR whether it was saved, and resolve the review first.';
  return review_outcome === 'done' ? 'The review found that it was saved in the EMR.' : undefined;
}

/** A later change would be undone, also if the request is edited: the fields that stay as they are have earlier values. */
export function blockedByLaterChange(
  write: Pick<RegisteredWrite, 'overwrites'> | undefined,
  { superseded }: Pick<RerunCandidate, 'superseded'>,
): string | undefined {
  return write?.overwrites && superseded
    ? 'A later change to the same patient has been requested, and this one would undo it. Send a new request.'
    : undefined;
}

export function blockedByAccount({ account_status }: RerunCandidate): string | undefined {
  if (account_status === 'revoked') return 'The account was unlinked.';
  return account_status === 'login_required' ? 'The account has to be re-linked first.' : undefined;
}
