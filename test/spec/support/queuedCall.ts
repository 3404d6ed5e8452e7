import type { TestSandbox } from '../../harness/sandbox.ts';
import { withJobsPaused } from './pauseJobs.ts';

/** A telephone encounter whose job is parked, so that no worker starts it. Returns the job's id. */
export function queuedCall(fixture: TestSandbox): Promise<number> {
  return withJobsPaused(fixture, async () => {
    const { body } = await fixture.api.callIn({ patient_mrn: 'LK100004' });
    await fixture.owner`UPDATE jobs SET parked = true, parked_since = now() WHERE id = ${body.job_id}`;
    return body.job_id;
  });
}
