import type { Tx } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import {
  addAttempts,
  type Delivery,
  finishDelivered,
  finishDelivery,
  lockDeliveries,
  retryDelivery,
} from './deliveries.ts';
import { disableEndpoint } from './disableEndpoint.ts';
import { clearFailures, recordFailure } from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';
import { nextAttemptDelay } from './retrySchedule.ts';
import type { Outcome } from './sendWebhook.ts';

/** An endpoint is disabled after every attempt has failed for this long. */
const failing_days_max = 5;

/** An attempt that succeeded. */
export type Success = { lease: Lease; delivery: Delivery; outcome: Outcome };

/**
 * The same as `recordFailed` for attempts that succeeded. Throws LeaseLost, and stores nothing, if another worker has
 * claimed one of the deliveries. Two round trips.
 */
export async function recordSuccesses(tx: Tx, successes: readonly Success[]): Promise<void> {
  const leases = successes.map(({ lease }) => lease);
  const event_ids = [...new Set(successes.map(({ delivery }) => delivery.event_id))];
  await Promise.all([
    clearFailures(tx, [...new Set(successes.map(({ delivery }) => delivery.endpoint_id))]),
    lockEvents(tx, event_ids),
    lockDeliveries(tx, leases),
  ]);
  const attempts = successes.map(({ lease, delivery, outcome }) => ({
    ...outcome,
    ...{ lease, number: delivery.attempts + 1 },
  }));
  await Promise.all([addAttempts(tx, attempts), finishDelivered(tx, leases), updateDeliveryStatus(tx, event_ids)]);
}

/**
 * Stores an attempt that failed, the delivery's state, the endpoint's health and the event's status in one transaction.
 * Throws LeaseLost if another worker has claimed the delivery. Lock order: see `lockEvents`.
 */
export async function recordFailed(
  tx: Tx,
  lease: Lease,
  delivery: Delivery,
  outcome: Outcome,
  random?: () => number,
): Promise<'retry' | 'failed'> {
  const usable = await countFailure(tx, delivery, outcome);
  await lockEvents(tx, [delivery.event_id]);
  await lockDeliveries(tx, [lease]);
  const number = delivery.attempts + 1;
  await addAttempts(tx, [{ ...outcome, lease, number }]);
  const pause_ms = usable
    ? nextAttemptDelay(number - delivery.schedule_from, outcome.retry_after_s, random)
    : undefined;
  const verdict = pause_ms === undefined ? 'failed' : 'retry';
  if (pause_ms !== undefined) await retryDelivery(tx, lease, pause_ms, number);
  else await finishDelivery(tx, lease, 'failed', number);
  await updateDeliveryStatus(tx, [delivery.event_id]);
  return verdict;
}

/** Fails a delivery whose endpoint was disabled before this attempt. Nothing is sent and no attempt is counted. */
export async function failDisabled(tx: Tx, lease: Lease, delivery: Delivery): Promise<void> {
  await lockEvents(tx, [delivery.event_id]);
  await lockDeliveries(tx, [lease]);
  await finishDelivery(tx, lease, 'failed', delivery.attempts);
  await updateDeliveryStatus(tx, [delivery.event_id]);
}

/** Records the failure on the endpoint. Returns whether the endpoint stays enabled. */
async function countFailure(tx: Tx, { endpoint_id }: Delivery, outcome: Outcome): Promise<boolean> {
  const endpoint = await recordFailure(tx, endpoint_id);
  if (!endpoint?.enabled) return false;
  const reason = outcome.gone
    ? 'The receiver responded with 410 Gone.'
    : endpoint.failing_s >= failing_days_max * 86_400
      ? `Every delivery failed for ${failing_days_max} days.`
      : undefined;
  if (reason === undefined) return true;
  await disableEndpoint(tx, endpoint_id, reason);
  return false;
}
