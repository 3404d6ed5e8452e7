import { job_types, type review_outcomes } from '../../service/api.gen.ts';
import type { JobRow } from '../../service/types.ts';

export function typeLabel(type: string): string {
  return (job_types as Record<string, string>)[type] ?? type;
}

export const review_labels: Record<(typeof review_outcomes)[number], string> = {
  done: 'Saved in the EMR',
  not_done: 'Not saved',
};

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1_440)} days`;
}

/** From acceptance to finish. */
export function jobDuration({ created_at, finished_at }: Pick<JobRow, 'created_at' | 'finished_at'>): string {
  return finished_at === null ? '–' : duration(Date.parse(finished_at) - Date.parse(created_at));
}

type Failure = { label: string; advice: string };

/** What each error code of a job means and what to do about it. */
const failures: Record<string, Failure> = {
  refused: {
    label: 'Rejected by the EMR',
    advice: 'Fix the problem in the request or in the EMR. Then run the job again or send a new request.',
  },
  not_found: {
    label: 'Not found in the EMR',
    advice: 'Check that the MRN and the IDs in the request exist in the EMR.',
  },
  unavailable: {
    label: 'EMR unreachable',
    advice: 'The EMR did not respond for an hour. Run the job again when it is available.',
  },
  unknown_outcome: {
    label: 'Outcome unknown',
    advice: 'Check in the EMR whether it was saved, then resolve the job.',
  },
  outcome_unknown: {
    label: 'Outcome unknown',
    advice: 'Check in the EMR whether it was saved, then resolve the job.',
  },
  login_required: {
    label: 'Account not re-linked in time',
    advice: 'Re-link the account on the Accounts page, then run the job again.',
  },
  internal: {
    label: 'Internal error',
    advice: 'Search for this job in the service log. Fix the cause, then run the job again.',
  },
};

export function failureOf(code: string): Failure {
  const label = code.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  return failures[code] ?? { label, advice: '' };
}
