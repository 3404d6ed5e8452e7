import { parseId } from '../../catalog/ids.ts';
import type { Tx } from '../../platform/db/database.ts';
import { addDeliveries, restartDeliveries } from './deliveries.ts';
import { findSubscribed } from './endpoints.ts';
import { findRecent, lockEvents, updateDeliveryStatus } from './events.ts';

/**
 * Resends an event of the last 30 days to every enabled endpoint subscribed to its type, including endpoints added
 * since. Pending deliveries are left as they are. Undefined if the account has no such event. The caller notifies
 * `chartwire_deliveries` after the commit.
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
  // Lock order: see `lockEvents`.
  const endpoint_ids = (await findSubscribed(tx, [recent.type]))(recent.type);
  if ((await lockEvents(tx, [id])) === 0) return undefined;
  const restarted = await restartDeliveries(tx, id, endpoint_ids);
  const added = await addDeliveries(
    tx,
    endpoint_ids.map((endpoint_id) => ({ client_id, event_id: id, endpoint_id })),
  );
  await updateDeliveryStatus(tx, [id]);
  return { deliveries: restarted + added, mrns: recent.mrns };
}
