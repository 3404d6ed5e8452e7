import type { Tx } from '../../platform/db/database.ts';
import { failWaiting, findPendingEvents } from './deliveries.ts';
import { deleteEndpoint, type Endpoint, findEndpoint, lockEndpoint, markDisabled } from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';

/** Disables an endpoint and fails its pending deliveries. Returns false if it was not enabled. */
export async function disableEndpoint(tx: Tx, id: string, reason: string): Promise<boolean> {
  if (!(await markDisabled(tx, id, reason))) return false;
  const event_ids = await findPendingEvents(tx, id);
  await lockEvents(tx, event_ids);
  await failWaiting(tx, id);
  await updateDeliveryStatus(tx, event_ids);
  return true;
}

/** Deletes an endpoint with its secrets and deliveries, and returns it. Undefined if it does not exist. */
export async function removeEndpoint(tx: Tx, id: string): Promise<Endpoint | undefined> {
  if (!(await lockEndpoint(tx, id))) return undefined;
  const endpoint = await findEndpoint(tx, id);
  const event_ids = await findPendingEvents(tx, id);
  await lockEvents(tx, event_ids);
  await deleteEndpoint(tx, id);
  await updateDeliveryStatus(tx, event_ids);
  return endpoint;
}
