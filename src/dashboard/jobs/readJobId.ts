import { apiError } from '../../errors.ts';

/** Fifteen digits are more than the database will ever hand out; what is longer names no job. */
export function readJobId(job_id: string): number {
  if (!/^\d{1,15}$/.test(job_id)) throw apiError('record_not_found', { noun: 'Job', id: job_id });
  return Number(job_id);
}
