import { JsonTooComplex, parseJsonInParts } from '../platform/security/json.ts';
import type { OutboundResponse } from '../platform/security/outbound.ts';

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
export const error_bytes_max = 262_144;

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
