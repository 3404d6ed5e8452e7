import { fieldLabel } from '../../parts/labels.ts';
import { failures, job_types, type review_outcomes } from '../../service/api.gen.ts';
import type { JobRow } from '../../service/types.ts';

export function typeLabel(type: string): string {
  return (job_types as Record<string, string>)[type] ?? type;
}

/** The label of a field that names a record, which is shown by its name: `Provider`, not `Provider ID`. */
export function referenceLabel(name: string): string {
  return fieldLabel(name).replace(/( EMR)? ID$/, '');
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

/** From acceptance to finish, without the time it waited for re-linking. */
export function jobDuration(job: Pick<JobRow, 'created_at' | 'finished_at' | 'parked_ms'>): string {
  const { created_at, finished_at, parked_ms } = job;
  return finished_at === null ? '–' : duration(Date.parse(finished_at) - Date.parse(created_at) - parked_ms);
}

/** How long ago a time was, by the operator's clock: `40 s`, `12 min`, `3 h`. */
export function age(at: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** What a failure code means and what to do about it. Jobs of earlier versions may have other codes. */
export function describeFailure(code: string): Failure {
  const label = code.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  return (failures as Record<string, Failure>)[code] ?? { label, cause: '', remedy: '', send_again: 'unchanged' };
}

/**
 * Whether running a job again can help. Where only other values can, the request is edited; without that, the cause may
 * have been fixed in the EMR.
 */
export function canRunAgainHelp(code: string | null, editable: boolean): boolean {
  if (code === null) return true;
  const { send_again } = describeFailure(code);
  return send_again === 'unchanged' || send_again === 'if_not_saved' || (send_again === 'corrected' && !editable);
}

type Failure = {
  label: string;
  cause: string;
  remedy: string;
  send_again: (typeof failures)[keyof typeof failures]['send_again'];
};
