import type * as fhir from 'fhir/r4.js';
import { OutboundFailure, type OutboundResponse } from '../../../security/outbound.ts';
import { noResponse, tooBusy } from '../../callFailures.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../../connector.ts';

export type FhirRequest = {
  method: 'GET' | 'POST' | 'PUT';
  url: URL;
  headers?: Record<string, string>;
  /** A resource, or the form of a search. */
  body?: fhir.FhirResource | URLSearchParams;
  /** Whether it changes a chart: then a lost answer leaves the outcome unknown. */
  writes?: boolean;
};

/** An answer of the server itself. `resource` is absent where the body was empty or nothing of FHIR. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  resource: fhir.FhirResource | undefined;
  empty: boolean;
};

/**
 * One exchange with a FHIR server. Throws when the server is not there to answer: out of reach, too slow, too busy, out
 * of order, or with something before it that speaks in its place. 401 and the other 4xx are answers.
 */
export async function call(
  endpoint: EmrEndpoint,
  asked: FhirRequest,
  access_token: string | undefined,
): Promise<Answer> {
  const lost = asked.writes ? 'unknown_outcome' : 'unavailable';
  const response = await exchange(endpoint, asked, access_token, lost);
  const { status, headers } = response;
  if (response.truncated) throw new EmrFailure(lost, 'The EMR gave an answer that is too large to be read.');
  if (status === 429 || (status === 503 && 'retry-after' in headers)) throw tooBusy('The EMR', response);
  // Never followed: where it leads was not chosen by the organization, and it would be handed the token.
  if (status >= 300 && status < 400 && status !== 304) {
    throw new EmrFailure(lost, `The EMR sends us to another address (${status}), which is not followed.`);
  }
  // 501 is a plain no.
  if ((status >= 500 && status !== 501) || status === 408)
    throw new EmrFailure(lost, `The EMR answered with an error (${status}).`);
  const resource = resourceOf(response);
  const empty = response.body.length === 0;
  // A proxy's page must not pass for "there is no such record", nor for a refusal.
  if (status >= 400 && status !== 401 && isPage(response)) throw new EmrFailure(lost, unreadable);
  return { status, headers, resource, empty };
}

/** What a 4xx means to a caller who knows no better. */
export function rejection({ status, resource }: Answer): EmrFailure {
  const outcome = resource?.resourceType === 'OperationOutcome' ? resource : undefined;
  const codes = (outcome?.issue ?? []).map((issue) => issue?.code);
  if (status === 404 || status === 410) return new EmrFailure('not_found', 'The EMR has no such record.');
  if (status === 501 || status === 405) return new EmrFailure('refused', 'The EMR does not offer this.');
  if (status === 403) return new EmrFailure('refused', 'The EMR does not allow this account to do this.');
  // Some servers fail so when two requests meet; nothing was stored, and the next try finds the way free.
  if (codes.some((code) => passing.has(code ?? ''))) {
    return new EmrFailure('unavailable', 'The EMR was busy with another change. It is tried again.');
  }
  const plain = `The EMR did not accept the request (${status}).`;
  return new EmrFailure('refused', outcomeMessage(outcome) ?? plain);
}

export const unreadable = 'The EMR gave an answer that could not be read.';

/** Issue types by which a server says that the same request may do later. */
const passing = new Set(['lock-error', 'transient', 'throttled', 'timeout', 'no-store']);
/** FHIR servers search while the caller waits; 10 s are not enough for a first page of claims. */
const timeout_ms = 30_000;
/** A page of 100 claims with everything contained takes about 1 MB. */
export const response_bytes_max = 16_000_000;
const fhir_json = 'application/fhir+json';

async function exchange(
  endpoint: EmrEndpoint,
  { method, url, headers, body }: FhirRequest,
  access_token: string | undefined,
  lost: EmrFailureKind,
): Promise<OutboundResponse> {
  const form = body instanceof URLSearchParams;
  try {
    return await endpoint.outbound.fetch(url, {
      method,
      headers: {
        accept: `${fhir_json}, application/json;q=0.9`,
        // Some servers answer a search from memory: a record that was just stored would not be found.
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
    throw noResponse('The EMR', error, lost);
  }
}

/** Undefined when it is not JSON to its last byte, or not of FHIR. The parser's error quotes the answer: it stays here. */
function resourceOf({ body }: OutboundResponse): fhir.FhirResource | undefined {
  try {
    // Strict, because a replaced byte would be a changed name in a chart.
    const json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    // FHIR's own mark of a resource. Every field of it is still a stranger's word, and the readers treat it so.
    return typeof json?.resourceType === 'string' ? (json as fhir.FhirResource) : undefined;
  } catch {
    return undefined;
  }
}

function isPage({ headers, body }: OutboundResponse): boolean {
  const type = headers['content-type'] ?? '';
  return body.length > 0 && (/\bhtml\b/i.test(type) || body.subarray(0, 200).toString('latin1').trimStart()[0] === '<');
}

/**
 * What a server says of a refusal, in its own words, where they are words: not the trace of a program, not a page, not
 * an address. Undefined where nothing fit to be shown is left.
 */
export function outcomeMessage(outcome: fhir.OperationOutcome | undefined): string | undefined {
  const issues = Array.isArray(outcome?.issue) ? outcome.issue : [];
  const said = issues
    .filter((issue) => issue?.severity === 'error' || issue?.severity === 'fatal')
    .map((issue) => shown(issue.details?.text) ?? shown(issue.diagnostics))
    .filter((words) => words !== undefined);
  return said.length === 0 ? undefined : `The EMR refused: ${[...new Set(said)].slice(0, 3).join('; ')}`;
}

const words_max = 300;

function shown(text: unknown): string | undefined {
  if (
    typeof text !== 'string' ||
    /<\/?\w|\bat [\w$.<>]+\(|\w+(Exception|Error)\b|https?:|\bselect\b.+\bfrom\b/i.test(text)
  ) {
    return undefined;
  }
  const clean = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return clean === '' ? undefined : [...clean].slice(0, words_max).join('');
}
