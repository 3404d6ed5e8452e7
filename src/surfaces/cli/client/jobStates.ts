import type { Job, JobSummary, JobTimelineEntry } from '../../../../sdk/src/generated/types.gen.ts';
import { type FailureCode, failures } from '../../../catalog/failures.ts';
import { type Styled, styleState } from '../terminal.ts';

/** The state of a job as people read it: the dashboard’s words. */
export function describeState(job: Pick<Job, 'status' | 'attempts'> & Partial<Job & JobSummary>): Styled {
  const { status, attempts } = job;
  if (job.waiting_for_relink || (status === 'queued' && job.timeline?.at(-1)?.step === 'parked')) {
    return styleState('parked', 'waiting for re-link');
  }
  if (isRetrying(job)) return styleState('retrying', `retrying (attempt ${attempts})`);
  if (status === 'needs_review') return styleState(status, 'needs review');
  return styleState(status, status === 'cancelled' ? 'canceled' : status);
}

/** Why it failed, or why it is attempted again. */
export function findReason(job: Job | JobSummary): string | undefined {
  if ('error_code' in job) return job.error_code === null ? undefined : labelFailure(job.error_code);
  if (job.error) return job.error.message;
  const reason = job.finished_at === null ? lastNote(job)?.detail?.reason : undefined;
  return typeof reason === 'string' ? reason : undefined;
}

/** Queued or running after an attempt that failed. A sync that continues later has not failed. */
function isRetrying(job: Pick<Job, 'status' | 'attempts'> & Partial<Job & JobSummary>): boolean {
  const { status, attempts, timeline, type } = job;
  if (status !== 'queued' && status !== 'running') return false;
  if (timeline) return lastNote(job)?.step === 'retry';
  return type !== 'sync' && attempts > (status === 'running' ? 1 : 0);
}

/** The last note that says how an attempt ended. */
function lastNote({ timeline = [] }: { timeline?: readonly JobTimelineEntry[] }): JobTimelineEntry | undefined {
  return timeline.findLast(({ kind, step }) => kind === 'note' && /^(retry|parked|requests)$/.test(step));
}

function labelFailure(code: string): string {
  return Object.hasOwn(failures, code) ? failures[code as FailureCode].label : code;
}
