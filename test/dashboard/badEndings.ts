import type { TestSandbox } from '../harness/sandbox.ts';
import { endPauses, endRetries, setFault, untilFailedTry } from '../journeys/journey.ts';

type Accepted = { job_id: number; telephone_encounter_id: string };

const create = 'create_telephone_encounter';

/** A telephone encounter that the EMR rejected. */
export async function refusedCall(world: TestSandbox, fields: Record<string, unknown> = {}): Promise<Accepted> {
  await setFault(world.api, create, 'refuse', { reason: 'This chart is locked.' });
  return endedCall(world, fields);
}

/** A telephone encounter whose response was lost and that could not be looked up in the EMR for an hour. */
export async function lostCall(world: TestSandbox, kind: 'lose_answer' | 'reset' = 'lose_answer'): Promise<Accepted> {
  await setFault(world.api, create, kind);
  await setFault(world.api, 'find_receipt', 'error_500', { times: 50 });
  const { body } = await world.api.callIn();
  await untilFailedTry(world.api, body.job_id);
  await endRetries(world.owner, body.job_id);
  await endPauses(world.owner);
  await world.api.untilEvent(body.job_id);
  await world.api.control('DELETE', '/control/faults');
  return body;
}

/** A telephone encounter whose job has finished. */
export async function endedCall(world: TestSandbox, fields: Record<string, unknown> = {}): Promise<Accepted> {
  const { body } = await world.api.callIn(fields);
  await world.api.untilEvent(body.job_id);
  return body;
}
