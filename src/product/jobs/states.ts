/** Every legal transition between the states of a job; the database rejects any other. */
export const job_transitions = [
  ['queued', 'running'],
  // Waiting for a retry, parked until the account is re-linked, or released at shutdown.
  ['running', 'queued'],
  ['running', 'succeeded'],
  ['running', 'partial'],
  ['running', 'failed'],
  ['running', 'needs_review'],
] as const;

export type JobState = (typeof job_transitions)[number][number];
export type FinalState = Exclude<JobState, 'queued' | 'running'>;
export const job_states = [...new Set(job_transitions.flat())];

/** What an operator found in the EMR about a write whose outcome is unknown. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];
