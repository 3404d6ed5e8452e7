/**
 * State filters. A parked job is a queued job that waits for its account to be re-linked. `unfixed` are the failed and
 * partial ones that were not run again.
 */
export const job_filters = [
  'queued',
  'running',
  'parked',
  'succeeded',
  'partial',
  'failed',
  'needs_review',
  'unresolved',
  'unfixed',
] as const;
export type JobFilter = (typeof job_filters)[number];

/** What an operator found in the EMR about a write whose outcome is unknown. */
export const review_outcomes = ['done', 'not_done'] as const;
export type ReviewOutcome = (typeof review_outcomes)[number];
