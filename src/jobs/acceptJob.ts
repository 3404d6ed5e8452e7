import type { Context } from '../context.ts';
import { type Batch, batch_wait, isRefusedBatch } from '../db/batches.ts';
import { type DescribedJob, describe, enqueue, enqueueAll, type NewJob } from './enqueue.ts';

/**
 * A larger job is stored on its own, so that others do not wait while it is sent. Few requests reach a tenth of this
 * size.
 */
const text_max = 32_768;

const jobs_accepted_together: Batch<DescribedJob, number | undefined> = {
  max: 100,
  kind: 'write',
  run: (sql, client_id, jobs) => enqueueAll(sql, client_id, jobs, { wait: batch_wait }),
};

/**
 * Like `enqueue`, but the client's jobs that arrive at the same time share one statement and one commit. If the
 * statement fails because of one job, each job is stored on its own, so that a job that waits for its key, or cannot be
 * stored, neither fails nor delays the others.
 */
export async function acceptJob({ db }: Pick<Context, 'db'>, new_job: NewJob): Promise<number | undefined> {
  const alone = () => db.tenant(new_job.client_id, (tx) => enqueue(tx, new_job));
  if (new_job.upload) return alone();
  const described = describe(new_job);
  if (described.text.length > text_max) return alone();
  try {
    return await db.together(new_job.client_id, jobs_accepted_together, described);
  } catch (error) {
    if (!isRefusedBatch(error)) throw error;
    return alone();
  }
}
