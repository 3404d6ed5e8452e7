import { type Batch, batch_wait, isRefusedBatch } from '../../platform/db/batches.ts';
import type { Context } from '../context.ts';
import {
  type DescribedJob,
  describe,
  enqueueAll,
  enqueueChecked,
  type NewJob,
  type Queued,
  type ReferenceCheck,
} from './enqueue.ts';

/**
 * A larger job is stored on its own, so that others do not wait while it is sent. Few requests reach a tenth of this
 * size.
 */
const text_max = 32_768;

const without_check = batchOf(undefined);
const batches = new WeakMap<ReferenceCheck, Batch<DescribedJob, Queued>>();

/** The batch of the jobs with this check: it is a part of their statement. */
function batchFor(check: ReferenceCheck | undefined): Batch<DescribedJob, Queued> {
  if (!check) return without_check;
  const batch = batches.get(check) ?? batchOf(check);
  batches.set(check, batch);
  return batch;
}

function batchOf(check: ReferenceCheck | undefined): Batch<DescribedJob, Queued> {
  return {
    max: 100,
    kind: 'write',
    run: (sql, client_id, jobs) => enqueueAll(sql, client_id, jobs, { wait: batch_wait, check }),
  };
}

/**
 * Like `enqueue`, but the client's jobs that arrive at the same time share one statement and one commit. If the
 * statement fails because of one job, each job is stored on its own, so that a job that waits for its key, or cannot be
 * stored, neither fails nor delays the others.
 */
export async function acceptJob({ db }: Pick<Context, 'db'>, new_job: NewJob, check?: ReferenceCheck): Promise<Queued> {
  const alone = () => db.tenant(new_job.client_id, (tx) => enqueueChecked(tx, new_job, check));
  if (new_job.upload) return alone();
  const described = describe(new_job);
  if (described.text.length > text_max) return alone();
  try {
    return await db.together(new_job.client_id, batchFor(check), described);
  } catch (error) {
    if (!isRefusedBatch(error)) throw error;
    return alone();
  }
}
