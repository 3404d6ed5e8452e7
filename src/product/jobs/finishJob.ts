import { collectMrns, type EventOf } from '../../model/events.ts';
import type { Batch } from '../../platform/db/batches.ts';
import type { Tx } from '../../platform/db/database.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import { alone } from '../../platform/worker/worker.ts';
import type { AuditEntry, Context } from '../context.ts';
import { type PreparedEvent, prepareEvents, storeEvents } from '../webhooks/events.ts';
import { insertSteps } from './jobSteps.ts';
import { type ClaimedJob, type FinalState, type Job, type JobFailure, setFinished } from './jobs.ts';
import { advanceLanes, lockLeases } from './lanes.ts';

/** How a job ends. `apply` updates stored records in the transaction that ends the job. */
export type JobResult = {
  state: FinalState;
  error: JobFailure | null;
  event: EventOf | null;
  apply?: ((tx: Tx) => Promise<void>) | undefined;
  /** Added to the audit record: counts, never health data. */
  detail?: Record<string, unknown>;
};

/**
 * Commits the record, the job, its event with the deliveries, and the audit record in one transaction, together with
 * other jobs of the client that end at the same time. Jobs that change stored records, and those with a large event,
 * get their own transaction. Returns the number of deliveries.
 */
export async function finishJob(
  ctx: Context,
  { job, lease, in_progress = alone }: ClaimedJob,
  result: JobResult,
): Promise<number> {
  const finishing = { ctx, lease, job, result, traceparent: ctx.telemetry.traceparent() };
  const { apply } = result;
  if (!apply && measureEvent(result) <= characters_max) {
    const deliveries = await ctx.db.batchedOrAlone(job.client_id, finishing_batch, finishing, in_progress());
    if (deliveries === undefined) throw new LeaseLost();
    return deliveries;
  }
  return ctx.db.tenant(job.client_id, async (tx) => {
    // Before the lane is locked: requests lock records in this order, too.
    await apply?.(tx);
    const [deliveries] = await finishJobs(tx, [finishing]);
    if (deliveries === undefined) throw new LeaseLost();
    return deliveries;
  });
}

type Finishing = { ctx: Context; lease: Lease; job: Job; result: JobResult; traceparent: string | null };

/** Other jobs would wait while a larger event is sent. Few events reach a tenth of this size. */
const characters_max = 32_768;

function measureEvent({ event }: JobResult): number {
  return event === null ? 0 : JSON.stringify(event.data).length;
}

const finishing_batch: Batch<Finishing, number | undefined> = {
  max: 100,
  kind: 'transaction',
  run: (tx, _client_id, finishing) => finishJobs(tx, finishing),
};

/**
 * Each result is the number of deliveries, or undefined if the worker no longer held the lane. Nothing of the job is
 * stored then. Two round trips.
 */
async function finishJobs(tx: Tx, finishing: readonly Finishing[]): Promise<(number | undefined)[]> {
  const leases = finishing.map(({ lease }) => lease);
  const [lanes, events] = await Promise.all([lockLeases(tx, leases), prepareJobEvents(tx, finishing)]);
  const leased = finishing.filter((_, n) => lanes[n]);
  const [first] = leased;
  if (first) {
    const findEvent = ({ job }: Finishing) => events.get(job.id);
    await Promise.all([
      storeEvents(
        tx,
        leased.flatMap((each) => findEvent(each) ?? []),
      ),
      insertSteps(
        tx,
        leased.map(({ job, result }) => ({ job, step: { name: result.state, kind: 'note' } })),
      ),
      first.ctx.audit.recordInTransaction(tx, ...leased.map(auditEntry)),
      setFinished(
        tx,
        leased.map((each) => finishedJob(each, findEvent(each))),
      ),
      advanceLanes(
        tx,
        leased.map(({ lease }) => lease.id),
      ),
    ]);
  }
  return finishing.map(({ job }, n) => lanes[n] && (events.get(job.id)?.endpoint_ids.length ?? 0));
}

/** The events of the jobs that have one, by job. */
async function prepareJobEvents(tx: Tx, finishing: readonly Finishing[]): Promise<Map<number, PreparedEvent>> {
  const occurrences = finishing.flatMap(({ job, result: { event }, traceparent }) => {
    const { client_id, account_id, id: job_id, reference } = job;
    return event === null ? [] : [{ client_id, account_id, job_id, reference, event, traceparent }];
  });
  const prepared = await prepareEvents(tx, occurrences);
  return new Map(occurrences.flatMap(({ job_id }, n) => (prepared[n] ? [[job_id, prepared[n]]] : [])));
}

function finishedJob({ job: { id }, result: { state, error } }: Finishing, prepared: PreparedEvent | undefined) {
  return { id, state, error, event_id: prepared?.event.id ?? null };
}

/** What the job read or wrote in the EMR. Patients that it only found there are named by its event. */
function auditEntry({ job, result: { state, error, event, detail } }: Finishing): AuditEntry {
  return {
    client_id: job.client_id,
    actor_kind: 'worker',
    actor: 'worker',
    account_id: job.account_id,
    action: `job.${job.type}`,
    outcome: state,
    job_id: job.id,
    subject: job.operation_id,
    mrns: [...collectMrns(job.input), ...collectMrns(event?.data)],
    detail: { attempts: job.attempts, ...(error && { code: error.code }), ...detail },
  };
}
