import type { Tx } from '../../platform/db/database.ts';
import { findPendingEvents } from './deliveries.ts';
import { deleteEndpoint, type Endpoint, findEndpoint, lockEndpoint } from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';

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
