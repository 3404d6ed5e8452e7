import type { Tx } from '../db/database.ts';
import { failWaiting, findPendingEvents } from './deliveries.ts';
import { markDisabled } from './endpoints.ts';
import { lockEvents, restateEvents } from './events.ts';

/** Sends no more to an endpoint: what waits for it ends as failed. False when it was not enabled. */
export async function disableEndpoint(tx: Tx, id: string, reason: string): Promise<boolean> {
  if (!(await markDisabled(tx, id, reason))) return false;
  const event_ids = await findPendingEvents(tx, id);
  await lockEvents(tx, event_ids);
  await failWaiting(tx, id);
  await restateEvents(tx, event_ids);
  return true;
}
