import type { Tx } from '../../platform/db/database.ts';
import type { Lease } from '../../platform/db/lease.ts';
import type { Audit, AuditEntry } from '../context.ts';
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

/** An attempt and its outcome. */
export type Attempted = { lease: Lease; delivery: Delivery; outcome: Outcome };

type AuditStatement = Pick<Audit, 'recordStatement'>;

/**
 * The same as `recordFailed` for attempts that succeeded. Throws LeaseLost, and stores nothing, if another worker has
 * claimed one of the deliveries. Two round trips.
 */
export async function recordSuccesses(audit: AuditStatement, tx: Tx, successes: readonly Attempted[]): Promise<void> {
  const leases = successes.map(({ lease }) => lease);
  const event_ids = [...new Set(successes.map(({ delivery }) => delivery.event_id))];
  await Promise.all([
    clearFailures(tx, [...new Set(successes.map(({ delivery }) => delivery.endpoint_id))]),
    lockEvents(tx, event_ids),
    lockDeliveries(tx, leases),
  ]);
  const attempts = successes.map(({ lease, delivery, outcome }) => ({
    ...outcome,
    ...{ lease, number: delivery.attempts + 1, sent_to: sentTo({ delivery, outcome }) },
  }));
  const records = auditRecords(audit, tx, successes);
  await Promise.all([
    addAttempts(tx, attempts, records),
    finishDelivered(tx, leases),
    updateDeliveryStatus(tx, event_ids),
  ]);
}

/**
 * Stores an attempt that failed, the delivery's state, the endpoint's health and the event's status in one transaction.
 * Throws LeaseLost if another worker has claimed the delivery. Lock order: see `lockEvents`.
 */
export async function recordFailed(
  audit: AuditStatement,
  tx: Tx,
  attempted: Attempted,
  random?: () => number,
): Promise<'retry' | 'failed'> {
  const { lease, delivery, outcome } = attempted;
  const usable = await countFailure(tx, delivery, outcome);
  await lockEvents(tx, [delivery.event_id]);
  await lockDeliveries(tx, [lease]);
  const number = delivery.attempts + 1;
  const records = auditRecords(audit, tx, (await isDisclosure(tx, attempted)) ? [attempted] : []);
  await addAttempts(tx, [{ ...outcome, lease, number, sent_to: sentTo(attempted) }], records);
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

/** The host that has, or may have, received the event. */
function sentTo({ delivery, outcome }: Pick<Attempted, 'delivery' | 'outcome'>): string | null {
  return outcome.sent ? new URL(delivery.url).host : null;
}

/**
 * Whether a failed attempt is the first that may have disclosed the event to this host. The others are not recorded: an
 * event that is retried for days would leave ten records of the same disclosure.
 */
async function isDisclosure(tx: Tx, attempted: Attempted): Promise<boolean> {
  const host = sentTo(attempted);
  if (host === null) return false;
  const [earlier] = await tx`SELECT FROM delivery_attempts
    WHERE delivery_id = ${attempted.lease.id} AND sent_to = ${host} LIMIT 1`;
  return earlier === undefined;
}

function auditRecords(
  audit: AuditStatement,
  tx: Tx,
  attempts: readonly Attempted[],
): Parameters<typeof addAttempts>[2] {
  return { statement: audit.recordStatement(tx, attempts.map(disclosure)), count: attempts.length };
}

/** Which event, about which patients, went to which host. */
function disclosure({ delivery, outcome }: Attempted): AuditEntry {
  return {
    client_id: delivery.client_id,
    actor_kind: 'worker',
    actor: 'worker',
    account_id: delivery.account_id,
    action: 'webhook.deliver',
    outcome: outcome.status_code === null ? 'no_response' : String(outcome.status_code),
    ...(delivery.job_id !== null && { job_id: delivery.job_id }),
    subject: delivery.endpoint_id,
    mrns: delivery.mrns,
    detail: {
      event_id: delivery.event_id,
      event_type: delivery.event_type,
      host: new URL(delivery.url).host,
      attempt: delivery.attempts + 1,
    },
  };
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
