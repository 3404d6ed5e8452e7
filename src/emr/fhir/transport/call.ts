import type * as fhir from 'fhir/r4.js';
import type { FailureCode } from '../../../catalog/failures.ts';
import type { OutboundResponse } from '../../../platform/security/outbound.ts';
import type { EmrEndpoint, LoadSign } from '../../connector.ts';
import { parseResponse, type ResponseKind, sendRequest, tooBusy } from '../../emrCalls.ts';
import { EmrFailure, type EmrFailureKind } from '../../emrFailure.ts';
import { requirePractice, withPractice } from './practice.ts';

export type FhirRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  url: URL;
  headers?: Record<string, string>;
  /** A resource, the parameters of a search, or a file, whose type is then in `headers`. */
  body?: fhir.FhirResource | URLSearchParams | Buffer | undefined;
  /** What the response contains. Default: `record`. */
  returns?: ResponseKind;
  /** Whether it changes a chart. A lost response then leaves the outcome unknown. */
  writes?: boolean;
  /** Returns a response with status 500 instead of throwing: the caller finds out what was stored. */
  returns_500?: boolean;
  /** Returns the 404 page of a web server instead of throwing: the address may be that of another server. */
  returns_404_page?: boolean;
};

/** `resource` is absent if the body was empty or not a FHIR resource. */
export type FhirResponse = {
  status: number;
  headers: Record<string, string>;
  resource: fhir.FhirResource | undefined;
  /** Ids in a successful response that is JSON but no resource: `{"pid":103,"uuid":"…"}`. */
  named_ids: readonly string[];
  /** The response is an error that lists `validationErrors`, and no resource. */
  validation_errors: boolean;
  empty: boolean;
};

/**
 * Sends one request to a FHIR server. Throws if the server is unreachable, too slow, overloaded or failing, or if a
 * proxy responds in its place. 401 and other 4xx responses are returned.
 */
export async function call(
  endpoint: EmrEndpoint,
  request: FhirRequest,
  access_token: string | undefined,
): Promise<FhirResponse> {
  const kind_if_sent = kindIfSent(request);
  if (access_token !== undefined) requireBelowBase(endpoint, request.url);
  const response = await exchangeInBudget(endpoint, withPractice(endpoint, request), access_token);
  const { status, headers } = response;
  const sign = loadSign(request, status);
  if (sign) await endpoint.observeLoad?.(sign);
  if (response.truncated && status < 400) throw new EmrFailure(kind_if_sent, too_large);
  if (status === 429 || (status === 503 && 'retry-after' in headers)) throw tooBusy('The EMR', response);
  // Never followed: the organization did not choose the target, and it would receive the token.
  if (status >= 300 && status < 400 && status !== 304) {
    throw new EmrFailure(kind_if_sent, `The EMR redirected to another address (${status}), which is not followed.`);
  }
  const returned_500 = status === 500 && request.returns_500 && !isHtmlPage(response);
  // 501 is a definite "not supported".
  if ((status >= 500 && status !== 501 && !returned_500) || status === 408)
    throw new EmrFailure(kind_if_sent, `The EMR responded with an error (${status}).`);
  const parsed = await parseResponse(response, request.returns ?? 'record');
  if (parsed && 'too_complex' in parsed && status < 400) throw new EmrFailure(kind_if_sent, too_large);
  const resource = parsed && 'json' in parsed ? readResource(parsed.json) : undefined;
  if (resource) requirePractice(endpoint, resource);
  const empty = response.body.length === 0;
  // A proxy's error page does not mean "no such record" or a rejection, except of the size.
  const returned_page = request.returns_404_page && status === 404;
  if (status >= 400 && status !== 401 && status !== 413 && !returned_page && isHtmlPage(response))
    throw new EmrFailure(kind_if_sent, unreadable_response);
  const named_ids = parsed && 'json' in parsed && !resource && status < 300 ? readIds(parsed.json) : [];
  const validation_errors = parsed !== undefined && 'json' in parsed && hasValidationErrors(parsed.json);
  return { status, headers, resource, named_ids, empty, validation_errors };
}

/**
 * A token is sent only to the base address that it was obtained for: tenants that share a host have one path each. A
 * path may also go up in encoded form, which some proxies decode.
 */
function requireBelowBase({ address }: EmrEndpoint, url: URL): void {
  if (isBelowBase(new URL(address), url)) return;
  throw new EmrFailure('refused', 'The request would leave the EMR’s base address. Nothing was sent.');
}

export function isBelowBase(base: URL, url: URL): boolean {
  const path = base.pathname.replace(/\/+$/, '');
  const below = url.pathname === path || url.pathname.startsWith(`${path}/`);
  const climbs = url.pathname
    .replace(/%2f|%5c/gi, '/')
    .replace(/%2e/gi, '.')
    .split('/')
    .includes('..');
  return url.origin === base.origin && below && !climbs;
}

/** What a response says about the server's load, if anything. */
function loadSign(request: FhirRequest, status: number): LoadSign | undefined {
  if (status === 429 || status === 503) return 'too_busy';
  if (isRead(request)) return undefined;
  if (status === 409 || status === 412) return 'collided';
  if (status >= 500 && status !== 501) return 'failed';
  return request.method === 'POST' && status < 300 ? 'created' : undefined;
}

/** A search may be a POST. */
function isRead({ method, body }: FhirRequest): boolean {
  return method === 'GET' || body instanceof URLSearchParams;
}

/** The default meaning of a 4xx response. `type`: the resource that was read or written; absent for a search. */
export function toRejection({ status, resource }: FhirResponse, type?: string): EmrFailure {
  const outcome = resource?.resourceType === 'OperationOutcome' ? resource : undefined;
  if (status === 404 || status === 410) return noSuchRecord(type);
  if (status === 501 || status === 405)
    return new EmrFailure('refused', 'The EMR does not support this operation.', { code: 'not_supported' });
  if (status === 413 || readIssues(outcome).some((issue) => issue?.code === 'too-long' && type === 'Binary')) {
    return new EmrFailure('refused', too_large_to_send, { code: 'emr_validation' });
  }
  if (status === 403) {
    const message = 'This account is not allowed to perform this operation in the EMR.';
    return new EmrFailure('refused', message, { code: 'not_permitted' });
  }
  // Some servers fail this way when two requests collide. Nothing was stored, and a retry succeeds.
  if (isTransient(outcome)) {
    return new EmrFailure('unavailable', 'The EMR was busy with another change. The request is retried.');
  }
  const code = toFailureCode(filterErrors(outcome), type);
  const message = outcomeMessage(outcome) ?? `The EMR did not accept the request (${status}).`;
  return new EmrFailure('refused', code === 'duplicate_patient' ? `This is a duplicate. ${message}` : message, {
    code,
  });
}

/** Whether the server says that the request failed because of another one. Databases call it a serialization failure. */
export function isTransient(outcome: fhir.OperationOutcome | undefined): boolean {
  const named =
    /could not serialize|serialization failure|deadlock|concurrent (update|delete|modification|transaction)/i;
  return readIssues(outcome).some(
    (issue) =>
      transient_codes.has(issue?.code) || named.test(`${issue?.details?.text ?? ''} ${issue?.diagnostics ?? ''}`),
  );
}

export function noSuchRecord(type?: string): EmrFailure {
  const code = type === 'Patient' ? 'patient_not_found' : 'record_not_found';
  return new EmrFailure('not_found', 'The EMR has no such record.', { code });
}

/** Writes recognize a rejected size by this message. */
export const too_large_to_send = 'The EMR does not accept a request of this size.';
const too_large = 'The EMR sent a response that is too large.';
export const unreadable_response = 'The EMR sent an unreadable response.';

/** Issue types that mean the same request may succeed later. */
const transient_codes = new Set<string | undefined>(['lock-error', 'transient', 'throttled', 'timeout', 'no-store']);
/** 10 s is not enough for the first page of claims on some servers. */
const timeout_ms = 30_000;
const fhir_json = 'application/fhir+json';

/**
 * A read that was one too many is sent again once the EMR takes more. A write is left to its job: it may have been one
 * too many at the same time, which says nothing about the minute.
 */
async function exchangeInBudget(
  endpoint: EmrEndpoint,
  request: FhirRequest,
  access_token: string | undefined,
): Promise<OutboundResponse> {
  const { budget } = endpoint;
  const response = await exchange(endpoint, request, access_token);
  if (!budget || !isRead(request) || response.status !== 429 || 'retry-after' in response.headers) return response;
  await budget.exceeded();
  return exchange(endpoint, request, access_token);
}

function exchange(
  endpoint: EmrEndpoint,
  request: FhirRequest,
  access_token: string | undefined,
): Promise<OutboundResponse> {
  const { method, url, headers, body, returns = 'record' } = request;
  const form = body instanceof URLSearchParams;
  const raw = Buffer.isBuffer(body);
  return sendRequest(endpoint, url, {
    emr: 'The EMR',
    method,
    headers: {
      ...endpoint.headers,
      accept: `${fhir_json}, application/json;q=0.9`,
      // Some servers cache searches: a record that was just stored would not be found.
      'cache-control': 'no-cache',
      ...(body && !raw && { 'content-type': form ? 'application/x-www-form-urlencoded' : fhir_json }),
      ...(access_token && { authorization: `Bearer ${access_token}` }),
      ...headers,
    },
    body: form ? body.toString() : raw ? body : body && JSON.stringify(body),
    timeout_ms,
    returns,
    kind_if_sent: kindIfSent(request),
  });
}

function kindIfSent({ writes }: FhirRequest): EmrFailureKind {
  return writes ? 'unknown_outcome' : 'unavailable';
}

/** Identifies a resource. Its fields are still unchecked, and the mappings treat them so. */
function readResource(json: unknown): fhir.FhirResource | undefined {
  const { resourceType } = Object(json) as { resourceType?: unknown };
  return typeof resourceType === 'string' ? (json as fhir.FhirResource) : undefined;
}

/** `{"validationErrors":{"uuid":…}}` without anything else that is filled. */
function hasValidationErrors(json: unknown): boolean {
  const { validationErrors } = Object(json) as { validationErrors?: unknown };
  return typeof validationErrors === 'object' && validationErrors !== null && Object.keys(validationErrors).length > 0;
}

/** A UUID comes first: an id next to it is the server's internal number. */
function readIds(json: unknown): string[] {
  const { uuid, id } = Object(json) as { uuid?: unknown; id?: unknown };
  const texts = [uuid, id].filter((each) => typeof each === 'string' || typeof each === 'number').map(String);
  return texts.filter((each) => /^[A-Za-z0-9.-]{1,64}$/.test(each));
}

export function isHtmlPage({ headers, body }: OutboundResponse): boolean {
  const type = headers['content-type'] ?? '';
  return body.length > 0 && (/\bhtml\b/i.test(type) || body.subarray(0, 200).toString('latin1').trimStart()[0] === '<');
}

/** The code of the first issue that has a meaning of its own. */
export function toFailureCode(issues: readonly fhir.OperationOutcomeIssue[], type = ''): FailureCode {
  const codes = issues.map(({ code }) => issue_codes.get(`${type}.${code}`) ?? issue_codes.get(code));
  return codes.find((code) => code !== undefined) ?? 'emr_refused';
}

/**
 * Failure codes by issue type (http://hl7.org/fhir/R4/valueset-issue-type.html), after those for a type of resource.
 * `processing` and `business-rule` can mean anything.
 */
const issue_codes = new Map<string, FailureCode>([
  ['Patient.duplicate', 'duplicate_patient'],
  ['Patient.not-found', 'patient_not_found'],
  ['Patient.deleted', 'patient_not_found'],
  ['Appointment.conflict', 'slot_taken'],
  ['invalid', 'emr_validation'],
  ['structure', 'emr_validation'],
  ['required', 'emr_validation'],
  ['value', 'emr_validation'],
  ['invariant', 'emr_validation'],
  ['extension', 'emr_validation'],
  ['too-long', 'emr_validation'],
  ['code-invalid', 'unknown_value'],
  ['not-found', 'record_not_found'],
  ['deleted', 'record_not_found'],
  ['multiple-matches', 'record_ambiguous'],
  ['duplicate', 'duplicate_record'],
  ['conflict', 'record_changed'],
  ['security', 'not_permitted'],
  ['forbidden', 'not_permitted'],
  ['suppressed', 'not_permitted'],
  ['not-supported', 'not_supported'],
  ['too-costly', 'too_many_matches'],
]);

/** The server's own explanation of a rejection, if it is readable text: no stack trace, no HTML, no URL. */
export function outcomeMessage(outcome: fhir.OperationOutcome | undefined): string | undefined {
  const messages = filterErrors(outcome)
    .map((issue) => printable(issue.details?.text) ?? printable(issue.diagnostics))
    .filter((message) => message !== undefined);
  return messages.length === 0
    ? undefined
    : `The EMR rejected the request: ${[...new Set(messages)].slice(0, 3).join('; ')}`;
}

function filterErrors(outcome: fhir.OperationOutcome | undefined): fhir.OperationOutcomeIssue[] {
  return readIssues(outcome).filter((issue) => issue?.severity === 'error' || issue?.severity === 'fatal');
}

/** The server's response is unchecked: elements can be null. */
export function readIssues(outcome: fhir.OperationOutcome | undefined): fhir.OperationOutcomeIssue[] {
  return Array.isArray(outcome?.issue) ? outcome.issue : [];
}

const message_length_max = 300;

/** A text of the server that can be shown to people: no HTML, no stack trace, no URL, no SQL. */
export function printable(text: unknown): string | undefined {
  if (
    typeof text !== 'string' ||
    /<\/?\w|\bat [\w$.<>]+\(|\w+(Exception|Error)\b|https?:|\bselect\b.+\bfrom\b/i.test(text)
  ) {
    return undefined;
  }
  const clean = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return clean === '' ? undefined : [...clean].slice(0, message_length_max).join('');
}
