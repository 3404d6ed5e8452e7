import { connectorOf } from '../accounts/openAccount.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { enqueueAgain } from '../jobs/enqueue.ts';
import { type PastJob, readPastJob } from '../jobs/rerunCandidate.ts';
import { lockPatient, savePatient } from '../records/patientRow.ts';
import { newJob } from './requestWrite.ts';
import { whyNotAgain, writeOf } from './whyNotAgain.ts';
import { type Lane, patientLane } from './write.ts';

/**
 * Queues another run of a job that has ended, as a new job with an event of its own. The old job's row is locked
 * first: of two who ask at the same moment the second sees the run of the first and is refused.
 */
export async function runAgain(
  ctx: Context,
  tx: Tx,
  job_id: number,
): Promise<{ job_id: number; patient_mrn: string | null }> {
  const job = await readPastJob(tx, job_id, { lock: true });
  if (!job) throw apiError('record_not_found', { noun: 'Job', id: String(job_id) });
  const reason = await whyNotAgain(tx, job);
  if (reason !== undefined) throw apiError('job_not_repeatable', { reason });
  await movePatient(tx, job);
  const account = { client_id: job.client_id, organization_id: job.organization_id, id: job.account_id };
  const operation = { id: job.operation_id, type: job.type, input: job.input };
  const queued = newJob(connectorOf(ctx, job.connector), account, operation, laneOf(job));
  return { job_id: await enqueueAgain(tx, { ...queued, run_again_of: job.id }), patient_mrn: job.patient_mrn };
}

/** The record that the service keeps of a patient says again that something is under way. */
async function movePatient(tx: Tx, job: PastJob): Promise<void> {
  const again = writeOf(job)?.again;
  if (!again) return;
  const row = await lockPatient(tx, job.organization_id, again.patientOf(job.operation_id, job.input as never));
  const move = row && again.move(row);
  // Changed between the look and the lock.
  if (!row || !move) throw apiError('job_not_repeatable', { reason: 'The patient was changed at this very moment.' });
  await savePatient(tx, job, row, { status: move.status }, move.open_updates);
}

/** Behind whatever waits for the patient now: the cache may have come to know a patient who went by the MRN before. */
function laneOf({ lane, patient_mrn, patient_id }: PastJob): Lane {
  return /^(mrn|patient):/.test(lane) && patient_mrn !== null ? patientLane(patient_mrn, patient_id) : { key: lane };
}
