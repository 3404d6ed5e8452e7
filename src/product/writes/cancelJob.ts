import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { cancellation, cancelQueued } from '../jobs/cancelQueued.ts';
import { readSteps } from '../jobs/jobSteps.ts';
import { readStoredJob, type StoredJob } from '../jobs/startJob.ts';
import { emitEvent } from '../webhooks/events.ts';
import { job_handlers } from './jobHandlers.ts';
import { writes } from './writes.ts';

export type CancelledJob = {
  job_id: number;
  operation_id: string;
  patient_mrn: string | null;
  /** To be called after the commit. */
  committed: () => void;
};

type WaitingJob = { job: StoredJob; steps: ReturnType<typeof readSteps> };

/**
 * Ends a job that has sent nothing to the EMR, as its write would end after a failure: the record is updated and the
 * event is stored in this transaction. `of_account` limits it to jobs of one account.
 */
export async function cancelJob(
  ctx: Context,
  tx: Tx,
  job_id: number,
  { of_account }: { of_account?: string | undefined } = {},
): Promise<CancelledJob> {
  // Before the lane is locked: requests lock records in this order, too. A change of a pending booking, which holds the
  // record meanwhile, may move the job to another lane and change what the event says.
  await lockRecord(tx, await readWaiting(tx, job_id, of_account));
  const { job, event, apply } = prepareEnd(ctx, await readWaiting(tx, job_id, of_account));
  await apply?.(tx);
  const { client_id, account_id, reference } = job;
  const storeEvent = async () => event && emitEvent(tx, { client_id, account_id, job_id, reference, event });
  if (!(await cancelQueued(tx, job, storeEvent))) throw apiError('job_started');
  return {
    job_id,
    operation_id: job.operation_id,
    patient_mrn: job.patient_mrn,
    committed: () => {
      ctx.notifications.notify('chartwire_jobs', client_id);
      ctx.notifications.notify('chartwire_deliveries', client_id);
      ctx.notifications.notify('chartwire_live', `jobs ${client_id}`);
      if (event) ctx.notifications.notify('chartwire_live', `events ${client_id}`);
      ctx.metrics.jobs.observe({ type: job.type, state: 'cancelled' }, job.waited_s);
      ctx.log.info({ job_id, job_type: job.type, state: 'cancelled', code: cancellation.code }, 'job finished');
    },
  };
}

/** A job that waits and has sent nothing. */
async function readWaiting(tx: Tx, job_id: number, of_account: string | undefined): Promise<WaitingJob> {
  const job = await readStoredJob(tx, job_id);
  if (!job || (of_account !== undefined && job.account_id !== of_account)) {
    throw apiError('record_not_found', { noun: 'Job', id: String(job_id) }, { field: 'job_id' });
  }
  const steps = readSteps(job.history);
  // After a restore from a backup, a job that looks untouched may have been carried out.
  if (job.state !== 'queued' || steps.hasUnknownOutcome()) throw apiError('job_started');
  return { job, steps };
}

async function lockRecord(tx: Tx, { job }: WaitingJob): Promise<void> {
  await writes.find(({ type }) => type === job.type)?.rerun_rules?.lock(tx, job);
}

/** The end of the job, as after a failure. */
function prepareEnd(ctx: Context, { job, steps }: WaitingJob) {
  const handler = job_handlers.get(job.type);
  if (!handler) throw new Error(`There is no handler for jobs of type ${job.type}.`);
  const { state, event, apply } = handler.onFailure(ctx, { job, steps }, cancellation);
  // An earlier run of the operation has saved everything.
  if (state === 'succeeded') throw apiError('job_started');
  return { job, event, apply };
}
