import { recognizeCopies } from '../catalog/classCopies.ts';
import { JsonTooComplex, parseJsonInParts } from '../platform/security/json.ts';
import { OutboundFailure, type OutboundRequest, type OutboundResponse } from '../platform/security/outbound.ts';
import type { EmrEndpoint } from './connector.ts';
import { EmrFailure, type EmrFailureKind } from './emrFailure.ts';

/** Thrown in a dry run in place of sending a write. Everything that could be read before has been checked. */
export class NotSent extends Error {
  constructor() {
    super('A dry run sends no write.');
    this.name = 'NotSent';
  }
}

recognizeCopies(NotSent, 'NotSent');

/**
 * Sends a request to an EMR, which failures name as `emr`. Throws an EmrFailure if there is no response: `kind_if_sent`
 * applies when the request may have reached the EMR.
 */
export async function sendRequest(
  { outbound, signal, dry_run }: EmrEndpoint,
  url: string | URL,
  {
    emr,
    returns,
    kind_if_sent,
    only_validates = false,
    ...request
  }: Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'timeout_ms'> & {
    emr: string;
    returns: ResponseKind;
    kind_if_sent: EmrFailureKind;
    /** The EMR validates this write and changes nothing. */
    only_validates?: boolean;
  },
): Promise<OutboundResponse> {
  // Here, below all connectors: none can write in a dry run by mistake.
  if (dry_run && kind_if_sent === 'unknown_outcome' && !only_validates) throw new NotSent();
  try {
    const response_bytes_max = response_limits[returns].bytes_max;
    return await outbound.fetch(url, { ...request, signal, response_bytes_max, error_bytes_max });
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    throw noResponse(emr, error, kind_if_sent);
  }
}

/**
 * What an EMR's response may cost us, by what it contains. EMRs are not trusted with our memory: their addresses are
 * chosen by clinics.
 * - `list`: a page of 100 claims with contained resources is 1 MB with 50,000 values
 * - `record`: may repeat a document of 5 MB as base64
 * - `statement`: a capability statement of all 145 types is up to 2 MB
 * - `sign_in`: tokens and addresses
 */
export const response_limits = {
  list: { bytes_max: 16_000_000, values_max: 500_000 },
  record: { bytes_max: 8_000_000, values_max: 100_000 },
  statement: { bytes_max: 4_000_000, values_max: 300_000 },
  sign_in: { bytes_max: 262_144, values_max: 10_000 },
} as const;

export type ResponseKind = keyof typeof response_limits;

/** For status 400 and above. The rest of a longer explanation is not read. */
const error_bytes_max = 262_144;

/** FHIR's deepest records, questionnaires and parameters of parameters, stay below 40. */
const depth_max = 100;

/**
 * The JSON of a response, undefined if it is not JSON, or `too_complex`. The parser's error quotes the body, so it is
 * dropped. Large responses are parsed in parts, so that other requests are served meanwhile.
 */
export async function parseResponse(
  { body, truncated }: OutboundResponse,
  kind: ResponseKind,
): Promise<{ json: unknown } | { too_complex: true } | undefined> {
  if (truncated) return undefined;
  try {
    return { json: await parseJsonInParts(body, { depth_max, values_max: response_limits[kind].values_max }) };
  } catch (error) {
    return error instanceof JsonTooComplex ? { too_complex: true } : undefined;
  }
}

/** The failure for a call that got no response. `kind_if_sent` applies when the request may have reached the EMR. */
export function noResponse(emr: string, error: OutboundFailure, kind_if_sent: EmrFailureKind): EmrFailure {
  if (error.kind === 'refused_address') {
    const message = 'The address of the EMR is not allowed.';
    return new EmrFailure('refused', message, { code: 'emr_address_refused', wrong_address: true, cause: error });
  }
  const { unknown_host } = error;
  if (unknown_host !== undefined) {
    // Retried nevertheless: names also disappear while a DNS zone is being changed.
    const message = `The host ${unknown_host} could not be found.`;
    return new EmrFailure('unavailable', message, { unknown_host, cause: error });
  }
  const message = error.tls_problem ? tls_messages[error.tls_problem](emr) : messages[error.kind](emr);
  return new EmrFailure(error.sent ? kind_if_sent : 'unavailable', message, { cause: error });
}

const messages: Record<Exclude<OutboundFailure['kind'], 'refused_address'>, (emr: string) => string> = {
  unreachable: (emr) => `${emr} cannot be reached.`,
  timeout: (emr) => `${emr} did not respond in time.`,
  broken: (emr) => `The connection to ${inSentence(emr)} was lost.`,
};

const tls_messages: Record<NonNullable<OutboundFailure['tls_problem']>, (emr: string) => string> = {
  server_certificate: (emr) => `The certificate of ${inSentence(emr)} is not trusted.`,
  client_certificate: (emr) => `${emr} did not accept our client certificate.`,
};

/** The failure for an EMR that is overloaded. It may say how long to wait. */
export function tooBusy(emr: string, { status, headers }: OutboundResponse): EmrFailure {
  const retry_after_ms = readRetryAfter(headers);
  const message = status === 429 ? `${emr} is receiving too many requests.` : `${emr} is not available right now.`;
  return new EmrFailure('unavailable', message, retry_after_ms === undefined ? {} : { retry_after_ms });
}

/** How long a response asks to wait: it names seconds or a date. */
export function readRetryAfter({ 'retry-after': text = '' }: OutboundResponse['headers']): number | undefined {
  const wait_ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(wait_ms) ? undefined : Math.max(0, wait_ms);
}

/** `The EMR` in the middle of a sentence. A product name keeps its capital. */
function inSentence(emr: string): string {
  return emr.replace(/^The /, 'the ');
}
