import type { Tx } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import { addAttempt, type Delivery, finishDelivery, lockDelivery, retryDelivery } from './deliveries.ts';
import { disableEndpoint } from './disableEndpoint.ts';
import { clearFailures, recordFailure } from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';
import { nextAttemptDelay } from './retrySchedule.ts';
import type { Outcome } from './sendWebhook.ts';

/** The result of an attempt: delivered, to be retried, or failed permanently. */
export type Verdict = 'success' | 'retry' | 'failed';

/** An endpoint is disabled after every attempt has failed for this long. */
const failing_days_max = 5;

/**
 * Stores an attempt, the delivery's state, the endpoint's health and the event's status in one transaction. Throws
 * LeaseLost if another worker has claimed the delivery. Lock order: see `lockEvents`.
 */
export async function recordOutcome(
  tx: Tx,
  lease: Lease,
  delivery: Delivery,
  outcome: Outcome,
  random?: () => number,
): Promise<Verdict> {
  const usable = outcome.success ? await clearFailure(tx, delivery) : await countFailure(tx, delivery, outcome);
  await lockEvents(tx, [delivery.event_id]);
  await lockDelivery(tx, lease);
  const number = delivery.attempts + 1;
  await addAttempt(tx, lease, { ...outcome, number });
  const pause_ms = usable
    ? nextAttemptDelay(number - delivery.schedule_from, outcome.retry_after_s, random)
    : undefined;
  const verdict = outcome.success ? 'success' : pause_ms === undefined ? 'failed' : 'retry';
  if (verdict === 'retry') await retryDelivery(tx, lease, pause_ms ?? 0, number);
  else await finishDelivery(tx, lease, verdict, number);
  await updateDeliveryStatus(tx, [delivery.event_id]);
  return verdict;
}

/** Fails a delivery whose endpoint was disabled before this attempt. Nothing is sent and no attempt is counted. */
export async function failDisabled(tx: Tx, lease: Lease, delivery: Delivery): Promise<void> {
  await lockEvents(tx, [delivery.event_id]);
  await lockDelivery(tx, lease);
  await finishDelivery(tx, lease, 'failed', delivery.attempts);
  await updateDeliveryStatus(tx, [delivery.event_id]);
}

async function clearFailure(tx: Tx, delivery: Delivery): Promise<boolean> {
  await clearFailures(tx, delivery.endpoint_id);
  return true;
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
