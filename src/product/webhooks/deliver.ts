import type { Batch } from '../../platform/db/batches.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import type { SpanOptions } from '../../platform/telemetry/telemetry.ts';
import { type Circuits, hung_after_ms } from '../../platform/worker/backoff.ts';
import { stop_reasons } from '../../platform/worker/worker.ts';
import type { Context } from '../context.ts';
import { type Delivery, deferDelivery, readDeliveries, releaseDelivery } from './deliveries.ts';
import { type Attempted, failDisabled, recordFailed, recordSuccesses } from './recordOutcome.ts';
import { readSecretsOf } from './secrets.ts';
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
    const { delivery, secrets } = await load(ctx, lease);
    if (!delivery.enabled) {
      await ctx.db.repeatable(lease.client_id, (tx) => failDisabled(tx, lease, delivery));
      ctx.log.info(logFields(delivery), 'webhook not sent: endpoint disabled');
      return;
    }
    const pause_ms = options.circuits?.admit(delivery.endpoint_id) ?? 0;
    if (pause_ms > 0) return await ctx.db.repeatable(lease.client_id, (tx) => deferDelivery(tx, lease, pause_ms));
    await ctx.telemetry.span(`webhook ${delivery.event_type}`, attemptSpan(delivery), () =>
      attempt(ctx, lease, signal, { delivery, secrets }, options),
    );
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ctx.log.warn({ delivery: lease.id }, 'lease lost during a delivery; result discarded');
  }
}

type Loaded = { delivery: Delivery; secrets: string[] };

async function attempt(
  ctx: DeliveryContext,
  lease: Lease,
  signal: AbortSignal,
  { delivery, secrets }: Loaded,
  options: Options,
): Promise<void> {
  const { url, event_id: id, body } = delivery;
  const number = delivery.attempts + 1;
  const webhook = { url, id, body, secrets, attempt: number };
  const outcome = await sendWebhook(ctx, webhook, { signal, timeout_ms: options.timeout_ms });
  options.circuits?.report(delivery.endpoint_id, healthOf(outcome));
  if (outcome === undefined) {
    if (signal.reason !== stop_reasons.shutdown) throw new LeaseLost();
    return ctx.db.repeatable(lease.client_id, (tx) => releaseDelivery(tx, lease));
  }
  const state = await store(ctx, { lease, delivery, outcome }, options.random);
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
  await db.togetherOrAlone(lease.client_id, successes_stored_together, { audit, success: attempted });
  return 'success';
}

const successes_stored_together: Batch<Pick<DeliveryContext, 'audit'> & { success: Attempted }, void> = {
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
function healthOf(outcome: Outcome | undefined): Parameters<Circuits['report']>[1] {
  if (outcome === undefined) return 'unknown';
  if (outcome.success || outcome.status_code !== null) return 'responded';
  return outcome.duration_ms >= hung_after_ms ? 'hung' : 'unknown';
}

/** Reads a claimed delivery, together with the others of the client that were claimed at the same time. */
async function load({ db, vault }: DeliveryContext, lease: Lease): Promise<Loaded> {
  const loaded = await db.togetherOrAlone(lease.client_id, deliveries_read_together, { vault, lease });
  if (!loaded) throw new LeaseLost();
  return loaded;
}

const deliveries_read_together: Batch<Pick<DeliveryContext, 'vault'> & { lease: Lease }, Loaded | undefined> = {
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
    const secrets = await readSecretsOf(first.vault, tx, [...new Set(endpoint_ids)]);
    return deliveries.map((delivery) => delivery && { delivery, secrets: secrets.get(delivery.endpoint_id) ?? [] });
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
