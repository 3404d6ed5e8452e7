import { OutboundFailure } from '../../platform/security/outbound.ts';
import { signWebhook } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { retryAfterS } from './retrySchedule.ts';
import { snippetOf } from './snippetOf.ts';

/** The result of one attempt. */
export type Outcome = {
  success: boolean;
  /** The receiver responded 410 Gone and will never accept a delivery again. */
  gone: boolean;
  /** Whether the receiver has, or may have, received the event. */
  sent: boolean;
  status_code: number | null;
  /** Why it failed, as shown to operators. */
  problem: string | null;
  /** The start of the response. It may echo the event, so it is stored under the tenant policy and never logged. */
  snippet: string | null;
  retry_after_s: number | undefined;
  duration_ms: number;
};

export type Webhook = { url: string; id: string; body: string; attempt: number; secrets: readonly string[] };

/** A hanging receiver occupies one of the worker's slots this long. */
export const timeout_ms = 15_000;

/** How much of a response is read: enough for ordinary ones to complete, so that the connection can be reused. */
export const response_bytes_max = 65_536;

/** Sends a signed webhook once. Undefined if our side aborted it: then the outcome is unknown and not counted. */
export async function sendWebhook(
  ctx: Pick<Context, 'webhook_outbound'>,
  { url, id, body, attempt, secrets }: Webhook,
  limits: { signal: AbortSignal; timeout_ms?: number | undefined },
): Promise<Outcome | undefined> {
  const started_ms = performance.now();
  const nothing = { status_code: null, problem: null, snippet: null, retry_after_s: undefined };
  const failure = { ...nothing, success: false, gone: false, sent: true };
  const duration_ms = () => Math.round(performance.now() - started_ms);
  try {
    const {
      status,
      headers,
      body: response_body,
    } = await ctx.webhook_outbound.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Chartwire',
        'webhook-attempt': String(attempt),
        ...signWebhook({ id, timestamp_s: Math.floor(Date.now() / 1000), body, secrets }),
      },
      body,
      timeout_ms: limits.timeout_ms ?? timeout_ms,
      signal: limits.signal,
      response_bytes_max,
    });
    const snippet = snippetOf(response_body, headers['content-type']);
    const outcome = { ...failure, status_code: status, snippet, duration_ms: duration_ms() };
    if (status >= 200 && status < 300) return { ...outcome, success: true };
    const retry_after_s = retryAfterS(headers['retry-after'], Date.now());
    return { ...outcome, gone: status === 410, problem: problemOf(status), retry_after_s };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    if (limits.signal.aborted) return undefined;
    // The message contains the host name and nothing else of the request.
    return { ...failure, sent: error.sent, problem: error.message, duration_ms: duration_ms() };
  }
}

function problemOf(status: number): string {
  if (status >= 300 && status < 400) return `The receiver responded with ${status}; redirects are not followed.`;
  if (status === 410) return 'The receiver responded with 410 Gone, which disables the endpoint.';
  return `The receiver responded with ${status}.`;
}
