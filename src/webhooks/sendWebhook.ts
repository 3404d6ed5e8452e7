import type { Context } from '../context.ts';
import { OutboundFailure } from '../security/outbound.ts';
import { signWebhook } from '../security/signatures.ts';
import { retryAfterS } from './ladder.ts';
import { snippetOf } from './snippetOf.ts';

/** What one try showed. */
export type Outcome = {
  success: boolean;
  /** The receiver says that it will never take a delivery again. */
  gone: boolean;
  status_code: number | null;
  /** Why it failed, in plain words. */
  problem: string | null;
  /** How the answer began. It may echo the event: for the database behind its wall, never for a log. */
  snippet: string | null;
  retry_after_s: number | undefined;
  duration_ms: number;
};

export type Webhook = { url: string; id: string; body: string; attempt: number; secrets: readonly string[] };

/** A receiver that works answers in less; one that hangs holds one of the worker's slots for so long. */
export const timeout_ms = 15_000;

/** What is read of an answer: enough for any sane one to end by itself, so that its connection can be kept. */
export const response_bytes_max = 65_536;

/** Sends a signed webhook once. Undefined when our own side stopped it: then nothing is known and nothing counts. */
export async function sendWebhook(
  ctx: Pick<Context, 'outbound'>,
  { url, id, body, attempt, secrets }: Webhook,
  limits: { signal: AbortSignal; timeout_ms?: number | undefined },
): Promise<Outcome | undefined> {
  const began_ms = performance.now();
  const nothing = { status_code: null, problem: null, snippet: null, retry_after_s: undefined };
  const told = { ...nothing, success: false, gone: false };
  const duration_ms = () => Math.round(performance.now() - began_ms);
  try {
    const {
      status,
      headers,
      body: answered,
    } = await ctx.outbound.fetch(url, {
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
    const snippet = snippetOf(answered, headers['content-type']);
    const answer = { ...told, status_code: status, snippet, duration_ms: duration_ms() };
    if (status >= 200 && status < 300) return { ...answer, success: true };
    const retry_after_s = retryAfterS(headers['retry-after'], Date.now());
    return { ...answer, gone: status === 410, problem: problemOf(status), retry_after_s };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    if (limits.signal.aborted) return undefined;
    // Its text names the host and nothing else of the call.
    return { ...told, problem: error.message, duration_ms: duration_ms() };
  }
}

function problemOf(status: number): string {
  if (status >= 300 && status < 400) return `The receiver answered ${status}; redirects are not followed.`;
  if (status === 410) return 'The receiver answered 410 Gone, which disables the endpoint.';
  return `The receiver answered ${status}.`;
}
