import type { Context } from '../context.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';
import { type Circuits, hung_after_ms } from '../worker/circuits.ts';
import { stop_reasons } from '../worker/worker.ts';
import { type Delivery, deferDelivery, readDelivery, releaseDelivery } from './deliveries.ts';
import { failDisabled, recordOutcome } from './recordOutcome.ts';
import { readLiveSecrets } from './secrets.ts';
import { type Outcome, sendWebhook } from './sendWebhook.ts';

type DeliveryContext = Pick<Context, 'db' | 'notifications' | 'vault' | 'webhook_outbound' | 'log' | 'metrics'>;
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
    const fields = { delivery: delivery.id, webhook_endpoint: delivery.endpoint_id, event_type: delivery.event_type };
    if (!delivery.enabled) {
      await ctx.db.tenant(lease.client_id, (tx) => failDisabled(tx, lease, delivery));
      ctx.log.info(fields, 'webhook not sent: endpoint disabled');
      return;
    }
    const pause_ms = options.circuits?.admit(delivery.endpoint_id) ?? 0;
    if (pause_ms > 0) return await ctx.db.tenant(lease.client_id, (tx) => deferDelivery(tx, lease, pause_ms));
    const { url, event_id: id, body } = delivery;
    const webhook = { url, id, body, secrets, attempt: delivery.attempts + 1 };
    const outcome = await sendWebhook(ctx, webhook, { signal, timeout_ms: options.timeout_ms });
    options.circuits?.report(delivery.endpoint_id, healthOf(outcome));
    if (outcome === undefined) {
      if (signal.reason !== stop_reasons.shutdown) throw new LeaseLost();
      return await ctx.db.tenant(lease.client_id, (tx) => releaseDelivery(tx, lease));
    }
    const state = await ctx.db.tenant(lease.client_id, (tx) =>
      recordOutcome(tx, lease, delivery, outcome, options.random),
    );
    ctx.notifications.notify('chartwire_live', 'events');
    ctx.metrics.deliveries.observe({ outcome: state }, outcome.duration_ms / 1000);
    ctx.log.info({ ...fields, state, attempt: delivery.attempts + 1, ...logged(outcome) }, 'webhook attempted');
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ctx.log.warn({ delivery: lease.id }, 'lease lost during a delivery; result discarded');
  }
}

/** What an attempt tells about the receiver. */
function healthOf(outcome: Outcome | undefined): Parameters<Circuits['report']>[1] {
  if (outcome === undefined) return 'unknown';
  if (outcome.success || outcome.status_code !== null) return 'responded';
  return outcome.duration_ms >= hung_after_ms ? 'hung' : 'unknown';
}

function load(ctx: DeliveryContext, lease: Lease): Promise<{ delivery: Delivery; secrets: string[] }> {
  return ctx.db.tenant(lease.client_id, async (tx) => {
    const delivery = await readDelivery(tx, lease);
    return { delivery, secrets: await readLiveSecrets(ctx.vault, tx, delivery.endpoint_id) };
  });
}

function logged({ status_code, problem, duration_ms }: Outcome): Record<string, string | number> {
  return {
    duration_ms,
    ...(status_code === null ? {} : { status: status_code }),
    ...(problem === null ? {} : { problem }),
  };
}
