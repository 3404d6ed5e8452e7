import type { Batch } from '../../platform/db/batches.ts';
import type { Tx } from '../../platform/db/database.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import type { TlsIdentity } from '../../platform/security/tlsIdentity.ts';
import type { SpanOptions } from '../../platform/telemetry/telemetry.ts';
import { type Circuits, hung_after_ms } from '../../platform/worker/backoff.ts';
import { stop_reasons } from '../../platform/worker/worker.ts';
import type { Audit, AuditEntry, Context } from '../context.ts';
import { openIdentity } from './certificates.ts';
import {
  addAttempts,
  type Delivery,
  deferDelivery,
  finishDelivered,
  finishDelivery,
  lockDeliveries,
  nextAttemptDelay,
  readDeliveries,
  releaseDelivery,
  retryDelivery,
} from './deliveries.ts';
import { disableEndpoint } from './disableEndpoint.ts';
import { clearFailures, recordFailure } from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';
import { readEndpointSecrets } from './secrets.ts';
import { type Outcome, sendWebhook } from './sendWebhook.ts';

type DeliveryContext = Pick<
  Context,
  'db' | 'audit' | 'notifications' | 'vault' | 'webhook_outbound' | 'log' | 'metrics' | 'telemetry'
>;
type Options = { timeout_ms?: number; random?: () => number; circuits?: Circuits };

/** Makes one attempt at a claimed delivery and stores the result. */
export async function deliver(
  ctx: DeliveryContext,
  lease: Lease,
  signal: AbortSignal,
  options: Options = {},
): Promise<void> {
  try {
    const loaded = await load(ctx, lease);
    const { delivery } = loaded;
    if (!delivery.enabled) {
      await ctx.db.repeatable(lease.client_id, (tx) => failDisabled(tx, lease, delivery));
      ctx.log.info(logFields(delivery), 'webhook not sent: endpoint disabled');
      return;
    }
    // Paused after it was claimed. Nothing claims it again until the endpoint is resumed.
    if (delivery.paused) return await ctx.db.repeatable(lease.client_id, (tx) => releaseDelivery(tx, lease));
    const pause_ms = options.circuits?.admit(delivery.endpoint_id) ?? 0;
    if (pause_ms > 0) return await ctx.db.repeatable(lease.client_id, (tx) => deferDelivery(tx, lease, pause_ms));
    await ctx.telemetry.span(`webhook ${delivery.event_type}`, attemptSpan(delivery), () =>
      attempt(ctx, lease, loaded, { ...options, signal }),
    );
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ctx.log.warn({ delivery: lease.id }, 'lease lost during a delivery; result discarded');
  }
}

type Loaded = { delivery: Delivery; secrets: string[]; identity: TlsIdentity | undefined };

async function attempt(
  ctx: DeliveryContext,
  lease: Lease,
  { delivery, secrets, identity }: Loaded,
  { signal, timeout_ms, circuits, random }: Options & { signal: AbortSignal },
): Promise<void> {
  const { url, event_id: id, body } = delivery;
  const number = delivery.attempts + 1;
  const webhook = { url, id, body, secrets, identity, attempt: number };
  const outcome = await sendWebhook(ctx, webhook, { signal, timeout_ms });
  circuits?.report(delivery.endpoint_id, assessHealth(outcome));
  if (outcome === undefined) {
    if (signal.reason !== stop_reasons.shutdown) throw new LeaseLost();
    return ctx.db.repeatable(lease.client_id, (tx) => releaseDelivery(tx, lease));
  }
  const state = await store(ctx, { lease, delivery, outcome }, random);
  ctx.notifications.notify('chartwire_live', `events ${lease.client_id}`);
  ctx.metrics.deliveries.observe({ outcome: state }, outcome.duration_ms / 1000);
  annotateAttempt(ctx, outcome, state);
  ctx.log.info({ ...logFields(delivery), state, attempt: number, ...logged(outcome) }, 'webhook attempted');
}

/** Stores the result of an attempt; successes together with others of the client that arrive at the same time. */
async function store(
  { db, audit }: DeliveryContext,
  attempted: Attempted,
  random: Options['random'],
): Promise<'success' | 'retry' | 'failed'> {
  const { lease, outcome } = attempted;
  if (!outcome.success) {
    return db.repeatable(lease.client_id, (tx) => recordFailed(audit, tx, attempted, random));
  }
  await db.batchedOrAlone(lease.client_id, success_batch, { audit, success: attempted });
  return 'success';
}

const success_batch: Batch<Pick<DeliveryContext, 'audit'> & { success: Attempted }, void> = {
  max: 100,
  kind: 'transaction',
  run: async (tx, _client_id, entries) => {
    const [first] = entries;
    const successes = entries.map(({ success }) => success);
    if (first) await recordSuccesses(first.audit, tx, successes);
    return [];
  },
};

function attemptSpan(delivery: Delivery): SpanOptions {
  return {
    kind: 'client',
    queued_by: delivery.traceparent,
    attributes: {
      'chartwire.delivery_id': delivery.id,
      'chartwire.event_id': delivery.event_id,
      'chartwire.event_type': delivery.event_type,
      'chartwire.webhook_endpoint': delivery.endpoint_id,
      'chartwire.attempt': delivery.attempts + 1,
    },
  };
}

/** `problem` names the receiver's host, which the endpoint's id identifies as well. */
function annotateAttempt({ telemetry }: DeliveryContext, { status_code, success }: Outcome, state: string): void {
  telemetry.annotate({
    'chartwire.delivery_state': state,
    ...(status_code !== null && { 'http.response.status_code': status_code }),
    ...(!success && { 'error.type': status_code === null ? 'no_response' : String(status_code) }),
  });
}

/** What an attempt says about the receiver. */
function assessHealth(outcome: Outcome | undefined): Parameters<Circuits['report']>[1] {
  if (outcome === undefined) return 'unknown';
  if (outcome.success || outcome.status_code !== null) return 'responded';
  return outcome.duration_ms >= hung_after_ms ? 'hung' : 'unknown';
}

/** Reads a claimed delivery, together with the others of the client that were claimed at the same time. */
async function load({ db, vault }: DeliveryContext, lease: Lease): Promise<Loaded> {
  const loaded = await db.batchedOrAlone(lease.client_id, delivery_batch, { vault, lease });
  if (!loaded) throw new LeaseLost();
  return loaded;
}

const delivery_batch: Batch<Pick<DeliveryContext, 'vault'> & { lease: Lease }, Loaded | undefined> = {
  max: 100,
  kind: 'transaction',
  run: async (tx, _client_id, entries) => {
    const [first] = entries;
    if (!first) return [];
    const deliveries = await readDeliveries(
      tx,
      entries.map(({ lease }) => lease),
    );
    const endpoint_ids = deliveries.flatMap((delivery) => delivery?.endpoint_id ?? []);
    const secrets = await readEndpointSecrets(first.vault, tx, [...new Set(endpoint_ids)]);
    return Promise.all(
      deliveries.map(
        async (delivery) =>
          delivery && {
            delivery,
            secrets: secrets.get(delivery.endpoint_id) ?? [],
            identity: await openIdentity(first.vault, tx, delivery.endpoint_id, delivery),
          },
      ),
    );
  },
};

function logFields({ id, endpoint_id, event_type }: Delivery) {
  return { delivery: id, webhook_endpoint: endpoint_id, event_type };
}

function logged({ status_code, problem, duration_ms }: Outcome): Record<string, string | number> {
  return {
    duration_ms,
    ...(status_code === null ? {} : { status: status_code }),
    ...(problem === null ? {} : { problem }),
  };
}

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
