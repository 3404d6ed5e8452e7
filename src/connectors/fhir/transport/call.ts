import type * as fhir from 'fhir/r4.js';
import { OutboundFailure, type OutboundResponse } from '../../../security/outbound.ts';
import { noResponse, tooBusy } from '../../callFailures.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../../connector.ts';

export type FhirRequest = {
  method: 'GET' | 'POST' | 'PUT';
  url: URL;
  headers?: Record<string, string>;
  /** A resource, or the parameters of a search. */
  body?: fhir.FhirResource | URLSearchParams;
  /** Whether it changes a chart. A lost response then leaves the outcome unknown. */
  writes?: boolean;
};

/** `resource` is absent if the body was empty or not a FHIR resource. */
export type FhirResponse = {
  status: number;
  headers: Record<string, string>;
  resource: fhir.FhirResource | undefined;
  empty: boolean;
};

/**
 * Sends one request to a FHIR server. Throws if the server is unreachable, too slow, overloaded or out of order, or if
 * a proxy responds in its place. 401 and other 4xx responses are returned.
 */
export async function call(
  endpoint: EmrEndpoint,
  request: FhirRequest,
  access_token: string | undefined,
): Promise<FhirResponse> {
  const kind_if_sent = request.writes ? 'unknown_outcome' : 'unavailable';
  const response = await exchange(endpoint, request, access_token, kind_if_sent);
  const { status, headers } = response;
  if (response.truncated) throw new EmrFailure(kind_if_sent, 'The EMR sent a response that is too large.');
  if (status === 429 || (status === 503 && 'retry-after' in headers)) throw tooBusy('The EMR', response);
  // Never followed: the organization did not choose the target, and it would receive the token.
  if (status >= 300 && status < 400 && status !== 304) {
    throw new EmrFailure(kind_if_sent, `The EMR redirected to another address (${status}), which is not followed.`);
  }
  // 501 is a definite "not supported".
  if ((status >= 500 && status !== 501) || status === 408)
    throw new EmrFailure(kind_if_sent, `The EMR responded with an error (${status}).`);
  const resource = resourceOf(response);
  const empty = response.body.length === 0;
  // A proxy's error page does not mean "no such record" or a rejection.
  if (status >= 400 && status !== 401 && isPage(response)) throw new EmrFailure(kind_if_sent, unreadable_response);
  return { status, headers, resource, empty };
}

/** The default meaning of a 4xx response. */
export function rejection({ status, resource }: FhirResponse): EmrFailure {
  const outcome = resource?.resourceType === 'OperationOutcome' ? resource : undefined;
  const codes = (outcome?.issue ?? []).map((issue) => issue?.code);
  if (status === 404 || status === 410) return new EmrFailure('not_found', 'The EMR has no such record.');
  if (status === 501 || status === 405) return new EmrFailure('refused', 'The EMR does not offer this.');
  if (status === 403) return new EmrFailure('refused', 'The EMR does not allow this account to do this.');
  // Some servers fail this way when two requests collide. Nothing was stored, and a retry succeeds.
  if (codes.some((code) => transient_codes.has(code ?? ''))) {
    return new EmrFailure('unavailable', 'The EMR was busy with another change. The request is retried.');
  }
  const fallback = `The EMR did not accept the request (${status}).`;
  return new EmrFailure('refused', outcomeMessage(outcome) ?? fallback);
}

export const unreadable_response = 'The EMR sent an unreadable response.';

/** Issue types that mean the same request may succeed later. */
const transient_codes = new Set(['lock-error', 'transient', 'throttled', 'timeout', 'no-store']);
/** 10 s is not enough for the first page of claims on some servers. */
const timeout_ms = 30_000;
/** A page of 100 claims with contained resources is about 1 MB. */
export const response_bytes_max = 16_000_000;
const fhir_json = 'application/fhir+json';

async function exchange(
  endpoint: EmrEndpoint,
  { method, url, headers, body }: FhirRequest,
  access_token: string | undefined,
  kind_if_sent: EmrFailureKind,
): Promise<OutboundResponse> {
  const form = body instanceof URLSearchParams;
  try {
    return await endpoint.outbound.fetch(url, {
      method,
      headers: {
        accept: `${fhir_json}, application/json;q=0.9`,
        // Some servers cache searches: a record that was just stored would not be found.
        'cache-control': 'no-cache',
        ...(body && { 'content-type': form ? 'application/x-www-form-urlencoded' : fhir_json }),
        ...(access_token && { authorization: `Bearer ${access_token}` }),
        ...headers,
      },
      body: form ? body.toString() : body && JSON.stringify(body),
      signal: endpoint.signal,
      timeout_ms,
      response_bytes_max,
    });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    throw noResponse('The EMR', error, kind_if_sent);
  }
}

/**
 * Returns undefined if the body is not a FHIR resource in valid JSON. The parser's error quotes the body, so it is
 * dropped.
 */
function resourceOf({ body }: OutboundResponse): fhir.FhirResource | undefined {
  try {
    // Fatal, because a replacement character would change a name in a chart.
    const json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    // Identifies a resource. Its fields are still unchecked, and the mappings treat them so.
    return typeof json?.resourceType === 'string' ? (json as fhir.FhirResource) : undefined;
  } catch {
    return undefined;
  }
}

function isPage({ headers, body }: OutboundResponse): boolean {
  const type = headers['content-type'] ?? '';
  return body.length > 0 && (/\bhtml\b/i.test(type) || body.subarray(0, 200).toString('latin1').trimStart()[0] === '<');
}

/** The server's own explanation of a rejection, if it is readable text: no stack trace, no HTML, no URL. */
export function outcomeMessage(outcome: fhir.OperationOutcome | undefined): string | undefined {
  const issues = Array.isArray(outcome?.issue) ? outcome.issue : [];
  const messages = issues
    .filter((issue) => issue?.severity === 'error' || issue?.severity === 'fatal')
    .map((issue) => printable(issue.details?.text) ?? printable(issue.diagnostics))
    .filter((message) => message !== undefined);
  return messages.length === 0
    ? undefined
    : `The EMR rejected the request: ${[...new Set(messages)].slice(0, 3).join('; ')}`;
}

const message_length_max = 300;

function printable(text: unknown): string | undefined {
  if (
    typeof text !== 'string' ||
    /<\/?\w|\bat [\w$.<>]+\(|\w+(Exception|Error)\b|https?:|\bselect\b.+\bfrom\b/i.test(text)
  ) {
    return undefined;
  }
  const clean = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return clean === '' ? undefined : [...clean].slice(0, message_length_max).join('');
}
