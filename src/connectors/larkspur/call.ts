import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { OutboundFailure, type OutboundResponse } from '../../security/outbound.ts';
import { noResponse, tooBusy } from '../callFailures.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../connector.ts';

/** What an answer must look like; more fields than these may be in it. */
export type Shape<Answer> = { Check(value: unknown): value is Answer };

export type Call<Answer> = {
  method: 'GET' | 'POST';
  path: string;
  body?: Record<string, unknown>;
  answer: Shape<Answer>;
  /** Whether it changes a chart: then a lost answer leaves the outcome unknown. */
  writes?: boolean;
};

/** What came back. `failure` is what a denial means to a caller who knows no better by its `code`. */
export type Reply<Answer> = { answer: Answer } | Denied;
export type Denied = { code: string | undefined; failure: EmrFailure };

/** One exchange with Larkspur. Throws when it is not there to answer: out of reach, too slow, too busy, or out of order. */
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
  // Also a 404 that is not in Larkspur's words: a proxy's page must not pass for "there is no such record".
  return { code: undefined, failure: new EmrFailure(lost, unreadable) };
}

export function answerOf<Answer>(reply: Reply<Answer>): Answer {
  if ('answer' in reply) return reply.answer;
  throw reply.failure;
}

/** A path with its values encoded. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

export const unreadable = 'Larkspur gave an answer that could not be read.';

const timeout_ms = 10_000;
/** Many times the longest answer there is: a page of 200 providers with their hours takes 0.6 MB. */
const response_bytes_max = 8_000_000;
/** Room for a list of the values that a practice accepts. */
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

/** Undefined when it is not JSON to its last byte. The parser's error quotes the answer, so it goes no further. */
function jsonOf({ body, truncated }: OutboundResponse): unknown {
  if (truncated) return undefined;
  try {
    // Strict, because a replaced byte would be a changed name in a chart.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function denied(status: number, rejection: Denial): Denied {
  const { errorCode, errorText } = rejection;
  const plain = `Larkspur did not accept the request (${status}).`;
  // Only these speak of the record; other texts speak of the request, which is ours and not the reader's.
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
