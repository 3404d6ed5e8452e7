import { Chartwire } from '../../../sdk/src/client.ts';
import { JobFailedError } from '../../../sdk/src/errors.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { EventTrigger } from '../../model/events/event.ts';
import { type EventType, events, type TriggerRequest } from '../../model/events.ts';
import { callControl } from './faultSwitches.ts';
import type { Sandbox } from './seedSandbox.ts';
import { account_requests, unlinkMeanwhile } from './triggers/accounts.ts';
import { appointment_requests } from './triggers/appointments.ts';
import { billing_requests } from './triggers/billing.ts';
import { document_requests } from './triggers/documents.ts';
import { note_requests } from './triggers/notes.ts';
import { patient_requests } from './triggers/patients.ts';
import { referral_requests } from './triggers/referrals.ts';
import {
  type Observe,
  type Prepared,
  type Scene,
  type TriggeredEvent,
  type TriggerRequests,
  withFault,
} from './triggers/scene.ts';
import { staff_requests } from './triggers/staff.ts';
import { task_requests } from './triggers/tasks.ts';
import { telephone_encounter_requests } from './triggers/telephoneEncounters.ts';

/** The requests that the triggers of the event catalogue name. */
const requests: TriggerRequests & Record<TriggerRequest, unknown> = {
  ...telephone_encounter_requests,
  ...patient_requests,
  ...appointment_requests,
  ...document_requests,
  ...billing_requests,
  ...task_requests,
  ...note_requests,
  ...referral_requests,
  ...account_requests,
  ...staff_requests,
};

/** How a trigger is watched: by the client's stream, and by the responses that it gets. */
type Watching = { observe: Observe; fetch?: typeof fetch };

/** Makes a real event happen in the sandbox, by a request of the API and, where needed, a fault in the EMR. */
export async function triggerEvent(sandbox: Sandbox, type: EventType, watching: Watching): Promise<TriggeredEvent> {
  const event = await runTrigger(createScene(sandbox, watching), type, events[type].trigger);
  if (event.type === type) return event;
  throw new StartFailure(`The sandbox sent the event ${event.type} instead of ${type}.`);
}

function createScene(sandbox: Sandbox, { observe, fetch }: Watching): Scene {
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret, access_token: accessToken } = sandbox;
  return {
    sandbox,
    observe,
    client: new Chartwire({ baseUrl, clientId, clientSecret, accessToken, retriesMax: 2, ...(fetch && { fetch }) }),
    control: (method, path, body) => callControl(sandbox.larkspur, method, path, body),
  };
}

async function runTrigger(
  scene: Scene,
  type: EventType,
  { request, fault, unlinks_account }: EventTrigger,
): Promise<TriggeredEvent> {
  const prepare = requests[request];
  if (!prepare) throw new Error(`The event catalogue names the request ${request}, which is missing.`);
  const prepared = await prepare(scene);
  try {
    if (unlinks_account && prepared.meanwhile) {
      return await unlinkMeanwhile(scene, prepared.meanwhile, fault?.operation);
    }
    return await (fault ? withFault(scene, fault, () => readEvent(prepared, type)) : readEvent(prepared, type));
  } finally {
    await prepared.undo?.();
  }
}

/** A failure with another event than the one to trigger is thrown: it says why. */
async function readEvent({ send }: Prepared, type: EventType): Promise<TriggeredEvent> {
  try {
    const event = await send();
    if (event) return event;
  } catch (error) {
    if (error instanceof JobFailedError && error.event.type === type) return error.event as TriggeredEvent;
    throw error;
  }
  throw new StartFailure('The change was merged into one that is still waiting. Try again when that one finishes.');
}
