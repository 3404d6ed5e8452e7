import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { OutboundFailure, type OutboundResponse } from '../../security/outbound.ts';
import { noResponse, tooBusy } from '../callFailures.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../connector.ts';

/** A compiled schema. A response may contain additional fields. */
export type Shape<Answer> = { Check(value: unknown): value is Answer };

export type Call<Answer> = {
  method: 'GET' | 'POST';
  path: string;
  body?: Record<string, unknown>;
  answer: Shape<Answer>;
  /** Whether it changes a chart. A lost response then leaves the outcome unknown. */
  writes?: boolean;
};

/** `failure` is the default meaning of a rejection, for callers that do not handle its `code`. */
export type Reply<Answer> = { answer: Answer } | Denied;
export type Denied = { code: string | undefined; failure: EmrFailure };

/** Sends one request to Larkspur. Throws if Larkspur is unreachable, too slow, overloaded or out of order. */
export async function call<Answer>(
  endpoint: EmrEndpoint,
  asked: Call<Answer>,
  session_token?: string,
): Promise<Reply<Answer>> {
  const lost = asked.writes ? 'unknown_outcome' : 'unavailable';
  const response = await exchange(endpoint, asked, session_token, lost);
  const { status } = response;
  if (status === 429 || status === 503) throw tooBusy('Larkspur', response);
  if (status >= 500) throw new EmrFailure(lost, `Larkspur answered with an error (${status}).`);
  const json = jsonOf(response);
  if (status < 300 && asked.answer.Check(json)) return { answer: json };
  if (status >= 400 && rejection.Check(json)) return denied(status, json);
  // Includes a 404 that is not in Larkspur's format: a proxy's error page does not mean "no such record".
  return { code: undefined, failure: new EmrFailure(lost, unreadable) };
}

export function answerOf<Answer>(reply: Reply<Answer>): Answer {
  if ('answer' in reply) return reply.answer;
  throw reply.failure;
}

/** A path with its parameters encoded. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

export const unreadable = 'Larkspur gave an answer that could not be read.';

const timeout_ms = 10_000;
/** The largest response, a page of 200 providers with their hours, is 0.6 MB. */
const response_bytes_max = 8_000_000;
/** Long enough for a list of the values that a practice accepts. */
const error_text_max = 1000;

const Denial = Type.Object({
  errorCode: Type.String(),
  errorText: Type.String(),
  conflictType: Type.Optional(Type.String()),
  conflictDetails: Type.Optional(Type.String()),
  mrn: Type.Optional(Type.String()),
});
type Denial = Static<typeof Denial>;
const rejection = Compile(Denial);

async function exchange(
  endpoint: EmrEndpoint,
  { method, path, body }: Call<unknown>,
  session_token: string | undefined,
  lost: EmrFailureKind,
): Promise<OutboundResponse> {
  try {
    return await endpoint.outbound.fetch(endpoint.address.replace(/\/$/, '') + path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(session_token && { authorization: `Bearer ${session_token}` }),
      },
      body: body && JSON.stringify(body),
      signal: endpoint.signal,
      timeout_ms,
      response_bytes_max,
    });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    throw noResponse('Larkspur', error, lost);
  }
}

/** Returns undefined if the body is not valid JSON. The parser's error quotes the body, so it is dropped. */
function jsonOf({ body, truncated }: OutboundResponse): unknown {
  if (truncated) return undefined;
  try {
    // Fatal, because a replacement character would change a name in a chart.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function denied(status: number, rejection: Denial): Denied {
  const { errorCode, errorText } = rejection;
  const plain = `Larkspur did not accept the request (${status}).`;
  // Only these texts are about the record. The others are about our request and mean nothing to the reader.
  const spoken = status === 404 || status === 422 || errorCode === 'CONFLICT';
  const words = errorCode === 'DUPLICATE_PATIENT' ? duplicate_patient : (spoken && shown(errorText)) || plain;
  const failure = new EmrFailure(status === 404 ? 'not_found' : 'refused', words, detailsOf(rejection));
  return { code: errorCode, failure };
}

const duplicate_patient = 'This is a duplicate: Larkspur has a patient of this name, date of birth and sex.';

function detailsOf({ errorCode, conflictType, conflictDetails, mrn }: Denial): { details?: Record<string, unknown> } {
  if (errorCode === 'DUPLICATE_PATIENT' && mrn) return { details: { duplicate_patient_mrn: mrn } };
  if (!conflictType) return {};
  const conflict_details = shown(conflictDetails ?? '');
  return { details: { conflict_type: conflictType.toLowerCase(), conflict_details } };
}

function shown(text: string): string {
  const clean = text.replace(/\p{Cc}+/gu, ' ').trim();
  return [...clean].slice(0, error_text_max).join('');
}
