import type { OutboundFailure, OutboundResponse } from '../platform/security/outbound.ts';
import { EmrFailure, type EmrFailureKind } from './connector.ts';

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
  return new EmrFailure(error.sent ? kind_if_sent : 'unavailable', messages[error.kind](emr), { cause: error });
}

const messages: Record<Exclude<OutboundFailure['kind'], 'refused_address'>, (emr: string) => string> = {
  unreachable: (emr) => `${emr} cannot be reached.`,
  timeout: (emr) => `${emr} did not respond in time.`,
  broken: (emr) => `The connection to ${inSentence(emr)} was lost.`,
};

/** The failure for an EMR that is overloaded. It may say how long to wait. */
export function tooBusy(emr: string, { status, headers }: OutboundResponse): EmrFailure {
  const retry_after = headers['retry-after'] ?? '';
  const wait_ms = /^\d+$/.test(retry_after) ? Number(retry_after) * 1000 : Date.parse(retry_after) - Date.now();
  const message = status === 429 ? `${emr} is receiving too many requests.` : `${emr} is not available right now.`;
  return new EmrFailure('unavailable', message, Number.isNaN(wait_ms) ? {} : { retry_after_ms: Math.max(0, wait_ms) });
}

/** `The EMR` in the middle of a sentence. A product name keeps its capital. */
function inSentence(emr: string): string {
  return emr.replace(/^The /, 'the ');
}
