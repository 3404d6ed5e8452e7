import type { Tx } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import { addAttempt, type Delivery, endDelivery, holdDelivery, retryDelivery } from './deliveries.ts';
import { disableEndpoint } from './disableEndpoint.ts';
import { clearFailing, noteFailing } from './endpoints.ts';
import { lockEvents, restateEvents } from './events.ts';
import { nextTry } from './ladder.ts';
import type { Outcome } from './sendWebhook.ts';

/** What follows from a try: it arrived, it is tried again, or the ladder is at its end. */
export type Verdict = 'success' | 'retry' | 'failed';

/** An endpoint of which every try failed for this long is taken for dead. */
const failing_days_max = 5;

/**
 * Commits a try: its row, the delivery, the endpoint's health and the event's status stand together. Refused with
 * LeaseLost when another worker holds the delivery. Locks are taken in the order that events.ts explains.
 */
export async function settle(
  tx: Tx,
  lease: Lease,
  delivery: Delivery,
  outcome: Outcome,
  random?: () => number,
): Promise<Verdict> {
  const usable = outcome.success ? await stayHealthy(tx, delivery) : await countFailure(tx, delivery, outcome);
  await lockEvents(tx, [delivery.event_id]);
  await holdDelivery(tx, lease);
  const number = delivery.attempts + 1;
  await addAttempt(tx, lease, { ...outcome, number });
  const pause_ms = usable ? nextTry(number - delivery.ladder_from, outcome.retry_after_s, random) : undefined;
  const verdict = outcome.success ? 'success' : pause_ms === undefined ? 'failed' : 'retry';
  if (verdict === 'retry') await retryDelivery(tx, lease, pause_ms ?? 0, number);
  else await endDelivery(tx, lease, verdict, number);
  await restateEvents(tx, [delivery.event_id]);
  return verdict;
}

/** Ends a delivery whose endpoint was disabled before this try: nothing is sent and no try is counted. */
export async function settleDisabled(tx: Tx, lease: Lease, delivery: Delivery): Promise<void> {
  await lockEvents(tx, [delivery.event_id]);
  await holdDelivery(tx, lease);
  await endDelivery(tx, lease, 'failed', delivery.attempts);
  await restateEvents(tx, [delivery.event_id]);
}

async function stayHealthy(tx: Tx, delivery: Delivery): Promise<boolean> {
  await clearFailing(tx, delivery.endpoint_id);
  return true;
}

/** Notes the failure at the endpoint and says whether the endpoint may be tried again. */
async function countFailure(tx: Tx, { endpoint_id }: Delivery, outcome: Outcome): Promise<boolean> {
  const endpoint = await noteFailing(tx, endpoint_id);
  if (!endpoint?.enabled) return false;
  const reason = outcome.gone
    ? 'The receiver answered 410 Gone.'
    : endpoint.failing_s >= failing_days_max * 86_400
      ? `Every delivery failed for ${failing_days_max} days.`
      : undefined;
  if (reason === undefined) return true;
  await disableEndpoint(tx, endpoint_id, reason);
  return false;
}
