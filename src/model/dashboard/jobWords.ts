/** The states by which jobs can be filtered: a parked job is queued and waits for its account to be re-linked. */
export const job_filters = [
  'queued',
  'running',
  'parked',
  'succeeded',
  'partial',
  'failed',
  'needs_review',
  'unresolved',
] as const;
export type JobFilter = (typeof job_filters)[number];

/** What a person found in the EMR about a write whose outcome the service does not know. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];
