import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { FailureCode } from '../../catalog/failures.ts';
import type { EmrEndpoint } from '../connector.ts';
import { parseResponse, type ResponseKind, sendRequest, tooBusy } from '../emrCalls.ts';
import { EmrFailure } from '../emrFailure.ts';
import { toFieldName, unreadable_response } from './values.ts';

/** A compiled schema. A response may contain additional fields. */
export type Shape<Body> = { Check(value: unknown): value is Body };

export type LarkspurRequest<Body> = {
  method: 'GET' | 'POST';
  path: string;
  body?: Record<string, unknown>;
  schema: Shape<Body>;
  /** What the response contains. Default: `record`. */
  returns?: ResponseKind;
  /** Whether it changes a chart. A lost response then leaves the outcome unknown. */
  writes?: boolean;
};

/** `failure` is the default meaning of a rejection, for callers that do not handle its `code`. */
export type Reply<Body> = { body: Body } | Rejection;
export type Rejection = { code: string | undefined; failure: EmrFailure };

/** Sends one request to Larkspur. Throws if Larkspur is unreachable, too slow, overloaded or failing. */
export async function call<Body>(
  endpoint: EmrEndpoint,
  request: LarkspurRequest<Body>,
  session_token?: string,
): Promise<Reply<Body>> {
  const kind_if_sent = request.writes ? 'unknown_outcome' : 'unavailable';
  const { method, path: request_path, body, schema, returns = 'record' } = request;
  // Larkspur then performs the write and rolls it back.
  const only_validates = Boolean(request.writes && endpoint.dry_run);
  const url = endpoint.address.replace(/\/$/, '') + request_path + (only_validates ? '?validateOnly=true' : '');
  const response = await sendRequest(endpoint, url, {
    emr: 'Larkspur',
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(session_token && { authorization: `Bearer ${session_token}` }),
    },
    body: body && JSON.stringify(body),
    timeout_ms,
    returns,
    kind_if_sent,
    only_validates,
  });
  const { status } = response;
  if (status === 429 || status === 503) throw tooBusy('Larkspur', response);
  if (status >= 500) throw new EmrFailure(kind_if_sent, `Larkspur responded with an error (${status}).`);
  const parsed = await parseResponse(response, returns);
  const json = parsed && 'json' in parsed ? parsed.json : undefined;
  if (status < 300 && schema.Check(json)) return { body: json };
  if (status >= 400 && errorBody.Check(json)) return toRejection(status, json);
  // Includes a 404 that is not in Larkspur's format: a proxy's error page does not mean "no such record".
  return { code: undefined, failure: new EmrFailure(kind_if_sent, unreadable_response) };
}

export function requireBody<Body>(reply: Reply<Body>): Body {
  if ('body' in reply) return reply.body;
  throw reply.failure;
}

/** A path with its parameters encoded. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

const timeout_ms = 10_000;
/** Long enough for a list of the values that a practice accepts. */
const error_text_max = 1000;

const ErrorBody = Type.Object({
  errorCode: Type.String(),
  errorText: Type.String(),
  /** The kind of record that was not found. */
  record: Type.Optional(Type.String()),
  conflictType: Type.Optional(Type.String()),
  conflictDetails: Type.Optional(Type.String()),
  mrn: Type.Optional(Type.String()),
  /** Fields that the practice requires. */
  missing: Type.Optional(Type.Array(Type.String())),
});
type ErrorBody = Static<typeof ErrorBody>;
const errorBody = Compile(ErrorBody);

function toRejection(status: number, errorBody: ErrorBody): Rejection {
  const { errorCode, errorText } = errorBody;
  // Only these texts are about the record. Others are in Larkspur's terms, and are shown as such.
  const about_record = status === 404 || status === 422 || ['CONFLICT', 'ALREADY_EXISTS'].includes(errorCode);
  const message = ownMessage(errorBody) ?? ((about_record && printable(errorText)) || refusal(status, errorText));
  const options = { code: toFailureCode(errorBody), ...toDetails(errorBody) };
  return { code: errorCode, failure: new EmrFailure(status === 404 ? 'not_found' : 'refused', message, options) };
}

function refusal(status: number, text: string): string {
  const reason = printable(text).replace(/[.\s]+$/, '');
  return `Larkspur did not accept the request (${status})${reason && `: ${reason}`}.`;
}

/** In the interface's terms, for texts that would name Larkspur's fields. */
function ownMessage({ errorCode, missing = [] }: ErrorBody): string | undefined {
  if (errorCode === 'DUPLICATE_PATIENT') return duplicate_patient;
  if (missing.length > 0) return `This practice requires: ${printable(missing.map(toFieldName).join(', '))}.`;
  return undefined;
}

function toFailureCode({ errorCode, record }: ErrorBody): FailureCode {
  if (errorCode === 'NOT_FOUND') return missing_codes.get(record ?? '') ?? 'record_not_found';
  return failure_codes.get(errorCode) ?? 'emr_refused';
}

/** By the kind of record that was not found. */
const missing_codes = new Map<string, FailureCode>([
  ['patient', 'patient_not_found'],
  ['visit type', 'unknown_value'],
]);

/** Larkspur's error codes about the content of a request. `REFUSED` and unknown codes have no more specific meaning. */
const failure_codes = new Map<string, FailureCode>([
  ['BAD_REQUEST', 'emr_validation'],
  ['RULE_BROKEN', 'emr_validation'],
  ['UNKNOWN_VALUE', 'unknown_value'],
  ['INACTIVE_RECORD', 'record_inactive'],
  ['UNKNOWN_NAME', 'record_not_found'],
  ['AMBIGUOUS_NAME', 'record_ambiguous'],
  ['MEDICATION_NOT_FOUND', 'medication_not_found'],
  ['ALREADY_EXISTS', 'duplicate_record'],
  ['DUPLICATE_PATIENT', 'duplicate_patient'],
  ['CONFLICT', 'slot_taken'],
]);

const duplicate_patient = 'This is a duplicate: Larkspur already has a patient with this name, date of birth and sex.';

function toDetails({ errorCode, conflictType, conflictDetails, mrn }: ErrorBody): {
  details?: Record<string, unknown>;
} {
  if (errorCode === 'DUPLICATE_PATIENT' && mrn) return { details: { duplicate_patient_mrn: mrn } };
  if (!conflictType) return {};
  const conflict_details = printable(conflictDetails ?? '');
  return { details: { conflict_type: conflictType.toLowerCase(), conflict_details } };
}

function printable(text: string): string {
  const clean = text.replace(/\p{Cc}+/gu, ' ').trim();
  return [...clean].slice(0, error_text_max).join('');
}
