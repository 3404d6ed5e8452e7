import type { Tx } from '../db/database.ts';
import { findPendingEvents } from './deliveries.ts';
import { deleteEndpoint, lockEndpoint } from './endpoints.ts';
import { lockEvents, restateEvents } from './events.ts';

/** Forgets an endpoint with its secrets and deliveries; events no longer wait for it. False when there is none. */
export async function removeEndpoint(tx: Tx, id: string): Promise<boolean> {
  if (!(await lockEndpoint(tx, id))) return false;
  const event_ids = await findPendingEvents(tx, id);
  await lockEvents(tx, event_ids);
  await deleteEndpoint(tx, id);
  await restateEvents(tx, event_ids);
  return true;
}
