import { EmrFailure } from '../connectors/connector.ts';
import type { AuditEntry, Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';
import { type EventOf, patientsOf } from '../events.ts';
import { emitEvent } from '../webhooks/emitEvent.ts';
import { backoffMs, retry } from '../worker/backoff.ts';
import { stop_reasons } from '../worker/worker.ts';
import { loadSteps, NeedsReview, type Steps } from './jobSteps.ts';
import { endJob, holdLane, type Job, type JobProblem, releaseJob, retryJob, startHead } from './jobs.ts';
import { parked_days_max, parkRunning } from './park.ts';
import type { FinalState } from './states.ts';

/** What a kind of job works with. */
export type JobRun = {
  job: Job;
  steps: Steps;
  signal: AbortSignal;
  /** Makes a transaction of this run's own refuse to commit once another worker holds the lane. */
  hold: (tx: Tx) => Promise<unknown>;
};

/** How a job ends. `apply` changes what we hold of the record, in the transaction that ends the job. */
export type Ending = {
  state: FinalState;
  error: JobProblem | null;
  event: EventOf | null;
  apply?: (tx: Tx) => Promise<void>;
  /** What the audit trail says beside the state: counts, never health data. */
  detail?: Record<string, unknown>;
};

/** A kind of job tells the good path in `perform`; whatever it throws is read here, and `fail` words the bad end. */
export type JobKind = {
  perform(ctx: Context, run: JobRun): Promise<Ending>;
  fail(ctx: Context, run: JobRun, problem: JobProblem): Ending;
};

export type RunLane = (ctx: Context, lease: Lease, signal: AbortSignal) => Promise<void>;
/** Marks an account as needing a person unless it was linked again since `tried_at`; says whether it needs one now. */
type ExpireAccount = (ctx: Context, job: Job, reason: string) => Promise<boolean>;

/** Makes the function that carries out the head of a claimed lane. */
export function laneRunner(kinds: ReadonlyMap<string, JobKind>, expireAccount: ExpireAccount): RunLane {
  return async (ctx, lease, signal) => {
    const job = await ctx.db.tenant(lease.client_id, (tx) => startHead(tx, lease));
    if (!job) return;
    ctx.bell.ring('chartwire_live', 'jobs');
    const kind = kinds.get(job.type);
    if (!kind) throw new Error(`No kind of job is called ${job.type}.`);
    const run: JobRun = { job, steps: await loadSteps(ctx.db, lease, job), signal, hold: (tx) => holdLane(tx, lease) };
    try {
      await carryOut(ctx, lease, run, kind, expireAccount);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      ctx.log.warn({ job_id: job.id, job_type: job.type }, 'the lease ended before the work; its result is dropped');
    } finally {
      ctx.bell.ring('chartwire_live', 'jobs');
    }
  };
}

/** Throws LeaseLost also where it shows only as a bad end is settled: a frozen worker's EMR has hung up meanwhile. */
async function carryOut(
  ctx: Context,
  lease: Lease,
  run: JobRun,
  kind: JobKind,
  expireAccount: ExpireAccount,
): Promise<void> {
  const { job, signal } = run;
  try {
    await run.steps.note('started');
    await settle(ctx, lease, run, await kind.perform(ctx, run));
  } catch (error) {
    if (error instanceof LeaseLost || signal.reason === stop_reasons.lease_lost) throw new LeaseLost();
    if (signal.reason !== stop_reasons.shutdown) {
      return settleFailure(ctx, lease, run, kind, expireAccount, error);
    }
    await ctx.db.tenant(job.client_id, (tx) => releaseJob(tx, lease, job));
  }
}

/** One transaction: the record, the job, its event and the deliveries stand together or not at all. */
async function settle(ctx: Context, lease: Lease, run: JobRun, ending: Ending): Promise<void> {
  const { job } = run;
  await ctx.db.tenant(job.client_id, async (tx) => {
    await ending.apply?.(tx);
    const event_id =
      ending.event === null
        ? null
        : await emitEvent(tx, {
            client_id: job.client_id,
            account_id: job.account_id,
            job_id: job.id,
            event: ending.event,
          });
    await tx`INSERT INTO job_steps (job_id, client_id, attempt, name, kind)
      VALUES (${job.id}, ${job.client_id}, ${job.attempts}, ${ending.state}, 'note')`;
    await ctx.audit.recordInTransaction(tx, recordOf(job, ending));
    await endJob(tx, lease, job, { state: ending.state, error: ending.error, event_id });
  });
  ctx.bell.ring('chartwire_deliveries');
  ctx.metrics.jobs.observe({ type: job.type, state: ending.state }, job.waited_s);
  ctx.log.info(
    { job_id: job.id, job_type: job.type, state: ending.state, attempt: job.attempts, code: ending.error?.code ?? '' },
    'job ended',
  );
}

/** What the job read or wrote in the EMR. Whom it found there only its event tells. */
function recordOf(job: Job, { state, error, event, detail }: Ending): AuditEntry {
  return {
    client_id: job.client_id,
    actor_kind: 'worker',
    actor: 'worker',
    account_id: job.account_id,
    action: `job.${job.type}`,
    outcome: state,
    job_id: job.id,
    subject: job.operation_id,
    mrns: [...patientsOf(job.input), ...patientsOf(event?.data)],
    detail: { attempts: job.attempts, ...(error && { code: error.code }), ...detail },
  };
}

async function settleFailure(
  ctx: Context,
  lease: Lease,
  run: JobRun,
  kind: JobKind,
  expireAccount: ExpireAccount,
  error: unknown,
): Promise<void> {
  const { job, steps } = run;
  const end = (problem: JobProblem) => {
    const ending = kind.fail(ctx, run, problem);
    // Where a write may have arrived unseen, "failed" would invite a second one: a person looks first.
    return settle(ctx, lease, run, steps.uncertain() ? { ...ending, state: 'needs_review' } : ending);
  };

  if (error instanceof NeedsReview) return end({ code: 'outcome_unknown', message: error.message });
  if (error instanceof EmrFailure) {
    if (error.kind === 'refused' || error.kind === 'not_found') return end(problemOf(error));
    if (error.kind === 'login_required') {
      if ((job.parked_s ?? 0) > parked_days_max * 86_400) {
        const message = `The account was not linked again within ${parked_days_max} days.`;
        return end({ code: 'login_required', message });
      }
      if (await expireAccount(ctx, job, error.message)) {
        await steps.note('parked', { reason: error.message });
        return ctx.db.tenant(job.client_id, (tx) => parkRunning(tx, lease, job));
      }
    }
  } else {
    ctx.log.error({ job_id: job.id, job_type: job.type, err: error }, 'a job failed by a fault of ours');
  }

  const problem = problemOf(error);
  if ((job.retrying_s ?? 0) * 1000 > retry.total_ms) return end(problem);
  ctx.metrics.job_retries.inc({ type: job.type, kind: problem.code });
  const asked_ms = error instanceof EmrFailure ? (error.retry_after_ms ?? 0) : 0;
  const pause_ms = Math.min(Math.max(backoffMs(job.retries + 1), asked_ms), retry.total_ms);
  await steps.note('retry', { reason: problem.message, in_ms: pause_ms });
  await ctx.db.tenant(job.client_id, (tx) => retryJob(tx, lease, job, pause_ms, problem));
}

/** The text of an error that is not the EMR's is ours alone: it may quote data. */
function problemOf(error: unknown): JobProblem {
  if (error instanceof EmrFailure) {
    return { code: error.kind, message: error.message, ...(error.details && { details: error.details }) };
  }
  return { code: 'internal', message: 'Something went wrong on our side.' };
}
