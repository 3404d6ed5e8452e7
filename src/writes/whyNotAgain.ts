import type { Tx } from '../db/database.ts';
import type { PastJob } from '../jobs/rerunCandidate.ts';
import { readPatient } from '../records/patientRow.ts';
import type { Carried } from './write.ts';
import { writes } from './writes.ts';

/**
 * Why another run of a job would be pointless or unsafe, in a sentence; undefined where it is neither. Nothing is
 * written twice by a run that is let through: the steps that were taken are known by their markers.
 */
export async function whyNotAgain(tx: Tx, job: PastJob): Promise<string | undefined> {
  const write = writeOf(job);
  return (
    byState(job) ??
    byAccount(job) ??
    (write?.upload && !job.uploaded
      ? 'The file was removed when the job ended. The document has to be sent again.'
      : undefined) ??
    (write?.overwrites && job.overtaken
      ? 'A later change of the same patient has been asked for since, and this one would undo it. Send the change anew.'
      : undefined) ??
    (await byPatient(tx, job, write))
  );
}

/** The write that a job carries out; a sync is none. */
export function writeOf({ type }: PastJob): Carried | undefined {
  return writes.find((write) => write.type === type);
}

function byState({ state, review_outcome, newer_job_id }: PastJob): string | undefined {
  if (newer_job_id !== null) return `It was run again as job ${newer_job_id}.`;
  if (state === 'queued' || state === 'running') return 'The job has not ended yet.';
  if (state === 'succeeded') return 'The job succeeded. Everything that was asked for stands in the EMR.';
  if (state !== 'needs_review') return undefined;
  if (review_outcome === null) return 'Look into the EMR first, and resolve the review.';
  return review_outcome === 'done' ? 'The review found it done in the EMR.' : undefined;
}

function byAccount({ account_status }: PastJob): string | undefined {
  if (account_status === 'revoked') return 'The account was revoked.';
  return account_status === 'login_required' ? 'The account has to be linked again first.' : undefined;
}

async function byPatient(tx: Tx, job: PastJob, write: Carried | undefined): Promise<string | undefined> {
  if (!write?.again) return undefined;
  // The body was checked against the write's schema when it was accepted.
  const row = await readPatient(tx, job.organization_id, write.again.patientOf(job.operation_id, job.input as never));
  if (!row) return 'The patient is not among the records any more.';
  return write.again.move(row) ? undefined : 'The patient has been changed since. Send the request anew.';
}
