/** The states of a job and every legal move between them; the database refuses any other. */
export const job_moves = [
  ['queued', 'running'],
  // Tried again, parked for a login, or handed back at shutdown.
  ['running', 'queued'],
  ['running', 'succeeded'],
  ['running', 'partial'],
  ['running', 'failed'],
  ['running', 'needs_review'],
] as const;

export type JobState = (typeof job_moves)[number][number];
export type FinalState = Exclude<JobState, 'queued' | 'running'>;
export const job_states = [...new Set(job_moves.flat())];
