import { newId } from '../../catalog/ids.ts';
import { OutboundFailure } from '../../platform/security/outbound.ts';
import { signWebhook } from '../../platform/security/signatures.ts';
import type { TlsIdentity } from '../../platform/security/tlsIdentity.ts';
import type { Context } from '../context.ts';
import { openIdentity } from './certificates.ts';
import { retryAfterS } from './deliveries.ts';
import { findEndpoint, readCertificate } from './endpoints.ts';
import { readLiveSecrets } from './secrets.ts';

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
  /** The webhook-timestamp and webhook-signature headers that were sent. */
  signed_at_s: number;
  signature: string;
};

export type Webhook = {
  url: string;
  id: string;
  body: string;
  attempt: number;
  secrets: readonly string[];
  /** The certificate to present to the receiver. */
  identity?: TlsIdentity | undefined;
};

/** A hanging receiver occupies one of the worker's slots this long. */
export const timeout_ms = 15_000;

/** How much of a response is read: enough for ordinary ones to complete, so that the connection can be reused. */
export const response_bytes_max = 65_536;

/** Sends a signed webhook once. Undefined if our side aborted it: then the outcome is unknown and not counted. */
export async function sendWebhook(
  ctx: Pick<Context, 'webhook_outbound'>,
  { url, id, body, attempt, secrets, identity }: Webhook,
  limits: { signal: AbortSignal; timeout_ms?: number | undefined },
): Promise<Outcome | undefined> {
  const started_ms = performance.now();
  const signed_at_s = Math.floor(Date.now() / 1000);
  const headers = signWebhook({ id, timestamp_s: signed_at_s, body, secrets });
  const signed = { signed_at_s, signature: headers['webhook-signature'] };
  const nothing = { status_code: null, problem: null, snippet: null, retry_after_s: undefined };
  const failure = { ...nothing, ...signed, success: false, gone: false, sent: true };
  const duration_ms = () => Math.round(performance.now() - started_ms);
  try {
    const response = await ctx.webhook_outbound.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Chartwire',
        'webhook-attempt': String(attempt),
        ...headers,
      },
      body,
      timeout_ms: limits.timeout_ms ?? timeout_ms,
      signal: limits.signal,
      identity,
      response_bytes_max,
    });
    const { status } = response;
    const snippet = toSnippet(response.body, response.headers['content-type']);
    const outcome = { ...failure, status_code: status, snippet, duration_ms: duration_ms() };
    if (status >= 200 && status < 300) return { ...outcome, success: true };
    const retry_after_s = retryAfterS(response.headers['retry-after'], Date.now());
    return { ...outcome, gone: status === 410, problem: describeProblem(status), retry_after_s };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    if (limits.signal.aborted) return undefined;
    // The message contains the host name and nothing else of the request.
    return { ...failure, sent: error.sent, problem: error.message, duration_ms: duration_ms() };
  }
}

function describeProblem(status: number): string {
  if (status >= 300 && status < 400) return `The receiver responded with ${status}; redirects are not followed.`;
  if (status === 410) return 'The receiver responded with 410 Gone, which disables the endpoint.';
  return `The receiver responded with ${status}.`;
}

/** Not in the event catalog: applications must ignore types they do not know. */
const test_type = 'webhook.test';

/** `body`: what was sent. */
export type TestResult = Pick<Outcome, 'status_code' | 'problem' | 'snippet' | 'duration_ms'> & {
  delivered: boolean;
  body: string;
};

/**
 * Sends a signed test event to an endpoint once and returns the outcome. It is not stored as an event, does not count
 * towards the endpoint's health, and works on disabled endpoints too. Undefined if there is no such endpoint.
 */
export async function testEndpoint(
  ctx: Pick<Context, 'db' | 'vault' | 'webhook_outbound'>,
  client_id: string,
  endpoint_id: string,
): Promise<TestResult | undefined> {
  const target = await ctx.db.tenant(client_id, async (tx) => {
    const endpoint = await findEndpoint(tx, endpoint_id);
    const stored = await readCertificate(tx, endpoint_id);
    if (!endpoint || !stored) return undefined;
    const identity = await openIdentity(ctx.vault, tx, endpoint_id, stored);
    return { url: endpoint.url, secrets: await readLiveSecrets(ctx.vault, tx, endpoint_id), identity };
  });
  if (!target) return undefined;
  const id = newId();
  const data = { message: 'This is a test event. Nothing happened.' };
  const body = JSON.stringify({ id, object: 'event', created: new Date().toISOString(), type: test_type, data });
  const never = new AbortController().signal;
  const outcome = await sendWebhook(ctx, { ...target, id, body, attempt: 1 }, { signal: never });
  if (!outcome) throw new Error('A test event was aborted without a signal.');
  const { success: delivered, status_code, problem, snippet, duration_ms } = outcome;
  return { delivered, status_code, problem, snippet, duration_ms, body };
}

const characters_max = 500;

/** Media types shown as text. */
const readable = /^(text\/|application\/(json|xml|problem\+json|x-www-form-urlencoded)|[^;]*\+(json|xml))/i;

/**
 * The start of a receiver's response, for display; null if it is empty or not text. Kept for successes too: receivers
 * that respond 200 with an error message in the body are common.
 */
export function toSnippet(body: Buffer, content_type: string | undefined): string | null {
  if (content_type !== undefined && content_type !== '' && !readable.test(content_type)) return null;
  // A character has at most 4 bytes.
  const text = body.subarray(0, characters_max * 4).toString('utf8');
  const shown = Array.from(text).slice(0, characters_max).join('');
  // PostgreSQL cannot store NUL, and terminals interpret other control characters. Line breaks and tabs are kept.
  const harmless = shown.replaceAll(/[^\P{Cc}\n\t]/gu, (control) => (control === '\r' ? '' : '\ufffd')).trim();
  return harmless === '' ? null : harmless;
}
