import type { JobRow } from '../../../../src/model/dashboard/jobs.ts';
import { job_types } from '../../../../src/model/dashboard/jobWords.ts';

export function wordType(type: string): string {
  return job_types[type] ?? type;
}

/** A name of the interface as people read it: `refill_medication_name` → `Refill medication name`. */
export function wordName(name: string): string {
  const words = name
    .replaceAll('_', ' ')
    .replace(/\bid\b/g, 'ID')
    .replace(/\bmrn\b/g, 'MRN')
    .replace(/\b(emr|ehr)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function wordDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1_440)} days`;
}

/** From acceptance to the end; while it is under way there is nothing to say. */
export function tookOf({ created_at, finished_at }: Pick<JobRow, 'created_at' | 'finished_at'>): string {
  return finished_at === null ? '–' : wordDuration(Date.parse(finished_at) - Date.parse(created_at));
}

type Told = { short: string; advice: string };

/** What each kind of bad end means, and what to do about it. */
const ends: Record<string, Told> = {
  refused: {
    short: 'Refused by the EMR',
    advice: 'Correct what the EMR objects to, in the request or in the EMR. Then run the job again or send it anew.',
  },
  not_found: {
    short: 'Not found in the EMR',
    advice: 'Check the MRN and the ids of the request against the EMR.',
  },
  unavailable: {
    short: 'EMR not reachable',
    advice: 'The EMR did not answer for an hour. Run the job again when it does.',
  },
  unknown_outcome: {
    short: 'Outcome unknown',
    advice: 'Look into the EMR whether it was done, then resolve the review.',
  },
  outcome_unknown: {
    short: 'Outcome unknown',
    advice: 'Look into the EMR whether it was done, then resolve the review.',
  },
  login_required: {
    short: 'Account not linked again in time',
    advice: 'Have the account linked again on the Accounts page, then run the job again.',
  },
  internal: {
    short: 'Fault of the service',
    advice: 'Look for this job in the service’s log. Run it again once the cause is mended.',
  },
};

export function wordEnd(code: string): Told {
  return ends[code] ?? { short: wordName(code), advice: '' };
}

export const review_words = { done: 'Done in the EMR', not_done: 'Not done' } as const;
