import type { JobHandler } from '../jobs/run.ts';
import { sync } from '../records/sync.ts';
import { sync_type } from '../records/syncPasses.ts';
import { writes } from './writes.ts';

/** The handler of every job type. */
export const job_handlers: ReadonlyMap<string, JobHandler> = new Map([
  [sync_type, sync],
  ...writes.map((write) => [write.type, write.job_handler] as const),
]);
