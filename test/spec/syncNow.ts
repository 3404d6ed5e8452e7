import { expect } from 'vitest';
import type { Api } from '../harness/api.ts';

/** Reads everything from the EMR anew. On a busy machine that takes its time: thousands of records are compared. */
export async function syncNow(api: Api): Promise<void> {
  const { job_id } = (await api.call('POST', '/v1/sync')).body;
  const event = await api.untilEvent(job_id, 55_000);
  expect(event.event_type).toBe('sync.completed');
}
