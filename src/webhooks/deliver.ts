import type { Context } from '../context.ts';
import { type Lease, LeaseLost } from '../db/lease.ts';
import { OutboundFailure } from '../security/outbound.ts';
import { signWebhook } from '../security/signatures.ts';
import { stop_reasons } from '../worker/worker.ts';
import { type Delivery, readDelivery, releaseDelivery } from './deliveries.ts';
import { retryAfterS } from './ladder.ts';
import { readLiveSecrets } from './secrets.ts';
import { type Outcome, settle, settleDisabled } from './settle.ts';

/** A receiver that works answers in less; one that hangs holds one of the worker's slots for so long. */
export const timeout_ms = 15_000;

/** What is read of an answer: enough for any sane one to end by itself, so that its connection can be kept. */
export const response_bytes_max = 65_536;

type Means = Pick<Context, 'db' | 'bell' | 'vault' | 'outbound' | 'log' | 'metrics'>;
type Options = { timeout_ms?: number; random?: () => number };

/** Makes one try of a claimed delivery and settles what follows from it. */
export async function deliver(ctx: Means, lease: Lease, signal: AbortSignal, options: Options = {}): Promise<void> {
  try {
    const { delivery, secrets } = await load(ctx, lease);
    const fields = { delivery: delivery.id, webhook_endpoint: delivery.endpoint_id, event_type: delivery.event_type };
    if (!delivery.enabled) {
      await ctx.db.tenant(lease.client_id, (tx) => settleDisabled(tx, lease, delivery));
      ctx.log.info(fields, 'a webhook was not sent: its endpoint is disabled');
      return;
    }
    const outcome = await send(ctx, delivery, secrets, signal, options.timeout_ms ?? timeout_ms);
    if (outcome === undefined) {
      if (signal.reason !== stop_reasons.shutdown) throw new LeaseLost();
      return await ctx.db.tenant(lease.client_id, (tx) => releaseDelivery(tx, lease));
    }
    const state = await ctx.db.tenant(lease.client_id, (tx) => settle(tx, lease, delivery, outcome, options.random));
    ctx.bell.ring('chartwire_live', 'events');
    ctx.metrics.deliveries.observe({ outcome: state }, outcome.duration_ms / 1000);
    ctx.log.info({ ...fields, state, attempt: delivery.attempts + 1, ...logged(outcome) }, 'a webhook was tried');
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    ctx.log.warn({ delivery: lease.id }, 'the lease ended before the delivery; its result is dropped');
  }
}

function load(ctx: Means, lease: Lease): Promise<{ delivery: Delivery; secrets: string[] }> {
  return ctx.db.tenant(lease.client_id, async (tx) => {
    const delivery = await readDelivery(tx, lease);
    return { delivery, secrets: await readLiveSecrets(ctx.vault, tx, delivery.endpoint_id) };
  });
}

/** Sends the event once. Undefined when our own side stopped it: then nothing is known and nothing counts. */
async function send(
  ctx: Means,
  delivery: Delivery,
  secrets: string[],
  signal: AbortSignal,
  timeout_ms: number,
): Promise<Outcome | undefined> {
  const { event_id: id, body } = delivery;
  const began_ms = performance.now();
  const told = { success: false, gone: false, status_code: null, problem: null, retry_after_s: undefined };
  const duration_ms = () => Math.round(performance.now() - began_ms);
  try {
    const { status, headers } = await ctx.outbound.fetch(delivery.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Chartwire',
        'webhook-attempt': String(delivery.attempts + 1),
        ...signWebhook({ id, timestamp_s: Math.floor(Date.now() / 1000), body, secrets }),
      },
      body,
      ...{ timeout_ms, signal, response_bytes_max },
    });
    const answer = { ...told, status_code: status, duration_ms: duration_ms() };
    if (status >= 200 && status < 300) return { ...answer, success: true };
    const retry_after_s = retryAfterS(headers['retry-after'], Date.now());
    return { ...answer, gone: status === 410, problem: problemOf(status), retry_after_s };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    if (signal.aborted) return undefined;
    // Its text names the host and nothing else of the call.
    return { ...told, problem: error.message, duration_ms: duration_ms() };
  }
}

function problemOf(status: number): string {
  if (status >= 300 && status < 400) return `The receiver answered ${status}; redirects are not followed.`;
  if (status === 410) return 'The receiver answered 410 Gone, which disables the endpoint.';
  return `The receiver answered ${status}.`;
}

function logged({ status_code, problem, duration_ms }: Outcome): Record<string, string | number> {
  return {
    duration_ms,
    ...(status_code === null ? {} : { status: status_code }),
    ...(problem === null ? {} : { problem }),
  };
}
