import { sync_type } from '../records/requestSync.ts';
import { writes } from './writes.ts';

/** What a job of each type is called in the dashboard. */
export const job_labels: Readonly<Record<string, string>> = Object.fromEntries([
  ...writes.map(({ type, label }) => [type, label]),
  [sync_type, 'Sync'],
]);
