import type { Tx } from '../db/database.ts';
import { parseId } from '../ids.ts';
import { addDeliveries, restartDeliveries } from './deliveries.ts';
import { findWanting } from './endpoints.ts';
import { findRecent, lockEvents, restateEvents } from './events.ts';

/**
 * Sends an event of the last 30 days again to every enabled endpoint that wants its type, also to one that was added
 * since. Deliveries that are pending go on as they are. Undefined when the account has no such event; the caller
 * rings `chartwire_deliveries` after its commit.
 */
export async function resendEvent(
  tx: Tx,
  client_id: string,
  account_id: string,
  event_id: string,
): Promise<{ deliveries: number; mrns: string[] } | undefined> {
  const id = parseId(event_id);
  const recent = id && (await findRecent(tx, account_id, id));
  if (!id || !recent) return undefined;
  // Endpoints before the event: the order of locks that events.ts explains.
  const endpoint_ids = await findWanting(tx, recent.type);
  if ((await lockEvents(tx, [id])) === 0) return undefined;
  const restarted = await restartDeliveries(tx, id, endpoint_ids);
  const added = await addDeliveries(tx, { client_id, event_id: id, endpoint_ids });
  await restateEvents(tx, [id]);
  return { deliveries: restarted + added, mrns: recent.mrns };
}
