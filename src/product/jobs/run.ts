import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Tx } from '../../platform/db/database.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import type { SpanOptions } from '../../platform/telemetry/telemetry.ts';
import { backoffMs, type Circuits, createCircuits, hung_after_ms, retry } from '../../platform/worker/backoff.ts';
import { countByClient, type InProgress, stop_reasons } from '../../platform/worker/worker.ts';
import type { Context } from '../context.ts';
import { ScanRefusal, scanner_wait_ms } from './documentScan.ts';
import { finishJob, type JobResult } from './finishJob.ts';
import { createSteps, deleteStart, type FailedRun, NeedsReview, type Steps } from './jobSteps.ts';
import {
  type ClaimedJob,
  deferJob,
  type FinalState,
  type Job,
  type JobFailure,
  releaseJob,
  retryApart,
  retryJob,
} from './jobs.ts';
import { checkLease } from './lanes.ts';
import { endOutage, recordOutage } from './outages.ts';
import { parked_days_max, parkRunningJob } from './park.ts';
import { startJob } from './startJob.ts';
import { TurnTaken } from './writeTurns.ts';

/** One attempt of a job. */
export type JobRun = {
  job: Job;
  steps: Steps;
  signal: AbortSignal;
  /** Makes a transaction of the handler fail if another worker has claimed the lane. */
  checkLease: (tx: Tx) => Promise<unknown>;
};

/** What an attempt needs besides what its handler sees. */
type Attempt = JobRun & {
  lease: Lease;
  in_progress: InProgress;
  handler: JobHandler;
  expireAccount: ExpireAccount;
  report: Report;
};

/** A job that goes on later, where it stopped. It returns to the queue; this is no failure. */
export class JobPaused extends Error {
  readonly pause_ms: number;

  constructor(pause_ms: number) {
    super('The job goes on later.');
    this.name = 'JobPaused';
    this.pause_ms = pause_ms;
  }
}

/** Runs the jobs of one type. What `run` throws is handled here; `onFailure` describes the result of a final failure. */
export type JobHandler = {
  /** Jobs of this type write nothing to the EMR. */
  reads_only?: boolean;
  /** The order of these jobs and other jobs of their lane does not matter, except that they start in it. */
  independent?: boolean;
  /** Whether a job that could start must wait for a job of another lane. */
  mustWait?(ctx: Context, job: Job): Promise<boolean>;
  run(ctx: Context, run: JobRun): Promise<JobResult>;
  onFailure(ctx: Context, run: FailedRun, failure: JobFailure): JobResult;
};

/** Runs a transaction of a handler, which fails if another worker has claimed the lane. */
export function whileLeased<T>(ctx: Context, { job, checkLease }: JobRun, work: (tx: Tx) => Promise<T>): Promise<T> {
  return ctx.db.repeatable(job.client_id, async (tx) => {
    await checkLease(tx);
    return work(tx);
  });
}

export type RunLane = (ctx: Context, lease: Lease, signal: AbortSignal) => Promise<void>;
/**
 * Marks the account as needing a sign-in, unless it has another session than the attempt used. Returns whether it needs
 * one now.
 */
type ExpireAccount = (ctx: Context, job: Job, reason: string) => Promise<boolean>;

/** Creates the function that runs the next job of a claimed lane. */
export function createLaneRunner(
  handlers: ReadonlyMap<string, JobHandler>,
  expireAccount: ExpireAccount,
  circuits: Circuits = createCircuits(),
): RunLane {
  const counts = countByClient();
  const runLane: RunLane = async (ctx, lease, signal) => {
    const in_progress = counts.of(lease.client_id);
    const job = await startJob(ctx.db, lease, in_progress);
    if (!job) return;
    const handler = handlers.get(job.type);
    if (job.overtakes || (await handler?.mustWait?.(ctx, job))) return defer(ctx, { job, lease }, order_pause_ms);
    // Per client, although clients may share an EMR: none can have another one's jobs deferred.
    const circuit = `${job.client_id} ${job.emr_address}`;
    const pause_ms = circuits.admit(circuit);
    if (pause_ms > 0) return defer(ctx, { job, lease }, pause_ms);
    ctx.notifications.notify('chartwire_live', `jobs ${job.client_id}`);
    if (!handler) throw new Error(`There is no handler for jobs of type ${job.type}.`);
    const report = reportOnce(circuits, circuit);
    try {
      await ctx.telemetry.span(`job ${job.type}`, attemptSpan(job), async () => {
        const steps = traceSteps(ctx, createSteps(ctx.db, { job, lease, in_progress }));
        const run: JobRun = { job, steps, signal, checkLease: (tx: Tx) => checkLease(tx, lease) };
        await runJob(ctx, { ...run, lease, in_progress, handler, expireAccount, report });
      });
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      ctx.log.warn({ job_id: job.id, job_type: job.type }, 'lease lost before the job finished; result discarded');
    } finally {
      report('unknown');
      ctx.notifications.notify('chartwire_live', `jobs ${job.client_id}`);
    }
  };
  return (ctx, lease, signal) => counts.during(lease.client_id, () => runLane(ctx, lease, signal));
}

/** When to look again whether the job that must end first has ended. */
const order_pause_ms = 250;
/** When to try again after others wrote to the same EMR. */
const turn_pause_ms = 500;

/** Undoes the start of a job whose EMR hangs, or that must wait for another one. */
async function defer({ db }: Context, claimed: ClaimedJob, pause_ms: number): Promise<void> {
  await db.repeatable(claimed.job.client_id, async (tx) => {
    await deferJob(tx, claimed, pause_ms);
    await deleteStart(tx, claimed.job);
  });
}

function attemptSpan(job: Job): SpanOptions {
  return {
    kind: 'consumer',
    queued_by: job.traceparent,
    attributes: {
      'chartwire.job_id': job.id,
      'chartwire.job_type': job.type,
      'chartwire.attempt': job.attempts,
      'chartwire.operation_id': job.operation_id,
      'chartwire.account_id': job.account_id,
    },
  };
}

/** The same steps, with a span for each write. */
function traceSteps({ telemetry }: Context, steps: Steps): Steps {
  return {
    ...steps,
    write: (name, write, input, store) =>
      telemetry.span(`step ${name}`, { attributes: { 'chartwire.step': name } }, () =>
        steps.write(name, write, input, store),
      ),
  };
}

type Report = (result: Parameters<Circuits['report']>[1]) => void;

/** Reports the first result it is given. */
function reportOnce(circuits: Circuits, circuit: string): Report {
  let reported = false;
  return (result) => {
    if (!reported) circuits.report(circuit, result);
    reported = true;
  };
}

/** What a failed attempt says about the EMR. */
function assessHealth(error: unknown, duration_ms: number): Parameters<Report>[0] {
  if (!(error instanceof EmrFailure)) return 'unknown';
  if (!isUnreachable(error)) return 'responded';
  return duration_ms >= hung_after_ms ? 'hung' : 'unknown';
}

function isUnreachable({ kind }: EmrFailure): boolean {
  return kind === 'unavailable' || kind === 'unknown_outcome';
}

/** Ends the outage that the job found when it started. A failure is only logged: the job itself is finished. */
async function noteResponse(ctx: Context, job: Job): Promise<void> {
  if (!job.during_outage) return;
  try {
    await ctx.db.tenant(job.client_id, (tx) => endOutage(tx, job));
  } catch (error) {
    ctx.log.warn({ job_id: job.id, err: error }, 'the end of an EMR outage could not be recorded');
  }
}

/**
 * Also throws LeaseLost if the lost lease is noticed only while a failure is being stored: the EMR may have closed its
 * connection while the worker was frozen.
 */
async function runJob(ctx: Context, attempt: Attempt): Promise<void> {
  const { job, signal, steps, handler, report } = attempt;
  const started_ms = performance.now();
  try {
    const traceparent = ctx.telemetry.traceparent();
    if (traceparent !== null) await steps.trace(traceparent);
    const result = await handler.run(ctx, attempt);
    report('responded');
    await finish(ctx, attempt, result);
    await noteResponse(ctx, job);
  } catch (error) {
    if (error instanceof LeaseLost || signal.reason === stop_reasons.lease_lost) throw new LeaseLost();
    if (error instanceof TurnTaken) return defer(ctx, attempt, turn_pause_ms);
    if (error instanceof JobPaused) {
      report('responded');
      return ctx.db.repeatable(job.client_id, (tx) => releaseJob(tx, attempt, error.pause_ms));
    }
    if (signal.reason !== stop_reasons.shutdown) {
      report(assessHealth(error, performance.now() - started_ms));
      await handleFailure(ctx, attempt, error);
      return error instanceof EmrFailure && !isUnreachable(error) ? noteResponse(ctx, job) : undefined;
    }
    await ctx.db.repeatable(job.client_id, (tx) => releaseJob(tx, attempt));
  }
}

async function finish(ctx: Context, attempt: Attempt, result: JobResult): Promise<void> {
  const { job } = attempt;
  const deliveries = await finishJob(ctx, attempt, result);
  // This process delivers the events itself. If every end woke every worker, three would do less than one.
  if (deliveries > 0) ctx.notifications.notifyHere('chartwire_deliveries', job.client_id);
  if (result.event) ctx.notifications.notify('chartwire_live', `events ${job.client_id}`);
  ctx.metrics.jobs.observe({ type: job.type, state: result.state }, job.waited_s);
  annotateAttempt(ctx, result.state, result.error?.code);
  ctx.log.info(
    { job_id: job.id, job_type: job.type, state: result.state, attempt: job.attempts, code: result.error?.code ?? '' },
    'job finished',
  );
}

/** How the attempt ended: a final state of the job, `parked`, or `retry`. */
function annotateAttempt(
  { telemetry }: Context,
  state: FinalState | 'parked' | 'retry',
  code: string | undefined,
): void {
  telemetry.annotate({ 'chartwire.job_state': state, ...(code !== undefined && { 'error.type': code }) });
}

async function handleFailure(ctx: Context, attempt: Attempt, error: unknown): Promise<void> {
  if (error instanceof NeedsReview) return fail(ctx, attempt, { code: 'outcome_unknown', message: error.message });
  if (error instanceof ScanRefusal) {
    return error.code === 'document_infected'
      ? fail(ctx, attempt, describeFailure(error))
      : retryLater(ctx, attempt, error, scanner_wait_ms);
  }
  if (!(error instanceof EmrFailure)) {
    const { id: job_id, type: job_type } = attempt.job;
    ctx.log.error({ job_id, job_type, err: error }, 'job failed with an internal error');
    return retryLater(ctx, attempt, error);
  }
  if (error.kind === 'refused' || error.kind === 'not_found') return fail(ctx, attempt, describeFailure(error));
  if (error.kind === 'login_required') return waitForRelink(ctx, attempt, error);
  return retryLater(ctx, attempt, error);
}

function fail(ctx: Context, attempt: Attempt, failure: JobFailure): Promise<void> {
  const { handler, steps } = attempt;
  if (handler.reads_only || !steps.hasUnknownOutcome()) {
    return finish(ctx, attempt, handler.onFailure(ctx, attempt, failure));
  }
  // A write may have arrived. "failed", or the code of why it could not be looked up, would invite the client to send
  // it again: a person has to check first.
  const result = handler.onFailure(ctx, attempt, { ...failure, code: 'outcome_unknown' });
  return finish(ctx, attempt, { ...result, state: 'needs_review' });
}

/** Parks the job, unless the account has got another session meanwhile: then the next attempt uses that one. */
async function waitForRelink(ctx: Context, attempt: Attempt, error: EmrFailure): Promise<void> {
  const { job, steps, expireAccount } = attempt;
  if ((job.parked_s ?? 0) > parked_days_max * 86_400) {
    const message = `The account was not re-linked within ${parked_days_max} days.`;
    return fail(ctx, attempt, { code: 'login_required', message });
  }
  if (!(await expireAccount(ctx, job, error.message))) return retryLater(ctx, attempt, error);
  await steps.note('parked', { reason: error.message });
  annotateAttempt(ctx, 'parked', error.code);
  return ctx.db.repeatable(job.client_id, (tx) => parkRunningJob(tx, attempt));
}

/** Returns the job to the queue for another attempt after a pause. After an hour of failures, it has failed. */
async function retryLater(
  ctx: Context,
  attempt: Attempt,
  error: unknown,
  total_ms: number = retry.total_ms,
): Promise<void> {
  const { job, steps, handler } = attempt;
  const failure = describeFailure(error);
  if ((job.retrying_s ?? 0) * 1000 > total_ms) return fail(ctx, attempt, failure);
  ctx.metrics.job_retries.inc({ type: job.type, kind: failure.code });
  annotateAttempt(ctx, 'retry', failure.code);
  const requested_ms = error instanceof EmrFailure ? (error.retry_after_ms ?? 0) : 0;
  const pause_ms = Math.min(Math.max(backoffMs(job.retries + 1), requested_ms), retry.total_ms);
  await steps.note('retry', { reason: failure.message, in_ms: pause_ms });
  // It is looked up for an hour, or waits for the scanner: nothing else has to wait for that.
  const waits = error instanceof ScanRefusal || (error instanceof EmrFailure && error.undecided);
  const apart = handler.independent === true && waits;
  await ctx.db.repeatable(job.client_id, async (tx) => {
    await (apart ? retryApart : retryJob)(tx, attempt, { failure, pause_ms });
    if (error instanceof EmrFailure && isUnreachable(error)) await recordOutage(tx, job);
  });
}

/** Internal error messages are not shown: they may quote data. */
function describeFailure(error: unknown): JobFailure {
  if (error instanceof EmrFailure) {
    return { code: error.code, message: error.message, ...(error.details && { details: error.details }) };
  }
  if (error instanceof ScanRefusal) return { code: error.code, message: error.message };
  return { code: 'internal', message: 'Internal error.' };
}
