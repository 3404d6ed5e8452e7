import type { TestSandbox } from '../harness/sandbox.ts';
import { endPauses, endRetries, setFault, untilFailedAttempt } from '../journeys/support.ts';

type Accepted = { job_id: number; telephone_encounter_id: string };

const create = 'create_telephone_encounter';

/** A telephone encounter that the EMR rejected. */
export async function rejectedCall(fixture: TestSandbox, fields: Record<string, unknown> = {}): Promise<Accepted> {
  await setFault(fixture.api, create, 'refuse', { reason: 'This chart is locked.' });
  return finishedCall(fixture, fields);
}

/** A telephone encounter whose response was lost and that could not be looked up in the EMR for an hour. */
export async function lostCall(fixture: TestSandbox, kind: 'lose_answer' | 'reset' = 'lose_answer'): Promise<Accepted> {
  await setFault(fixture.api, create, kind);
  await setFault(fixture.api, 'find_receipt', 'error_500', { times: 50 });
  const { body } = await fixture.api.callIn();
  await untilFailedAttempt(fixture.api, body.job_id);
  await endRetries(fixture.owner, body.job_id);
  await endPauses(fixture.owner);
  await fixture.api.untilEvent(body.job_id);
  await fixture.api.control('DELETE', '/control/faults');
  return body;
}

/** A telephone encounter whose job has finished. */
export async function finishedCall(fixture: TestSandbox, fields: Record<string, unknown> = {}): Promise<Accepted> {
  const { body } = await fixture.api.callIn(fields);
  await fixture.api.untilEvent(body.job_id);
  return body;
}
