import type { OutboundFailure, OutboundResponse } from '../security/outbound.ts';
import { EmrFailure, type EmrFailureKind } from './connector.ts';

/** The failure for a call that got no response. `kind_if_sent` applies when the request may have reached the EMR. */
export function noResponse(emr: string, error: OutboundFailure, lost: EmrFailureKind): EmrFailure {
  const { kind, words } = failures[error.kind];
  return new EmrFailure(kind ?? (error.sent ? lost : 'unavailable'), words(emr), { cause: error });
}

const failures: Record<OutboundFailure['kind'], { words: (emr: string) => string; kind?: EmrFailureKind }> = {
  refused_address: { words: () => 'The address of the EMR is not allowed.', kind: 'refused' },
  unreachable: { words: (emr) => `${emr} cannot be reached.` },
  timeout: { words: (emr) => `${emr} did not answer in time.` },
  broken: { words: (emr) => `The connection to ${lowered(emr)} broke off.` },
};

/** The failure for an EMR that is overloaded. It may say how long to wait. */
export function tooBusy(emr: string, { status, headers }: OutboundResponse): EmrFailure {
  const after = headers['retry-after'] ?? '';
  const wait_ms = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  const words = status === 429 ? `${emr} asks for fewer requests.` : `${emr} is not available right now.`;
  return new EmrFailure('unavailable', words, Number.isNaN(wait_ms) ? {} : { retry_after_ms: Math.max(0, wait_ms) });
}

/** `The EMR` in the middle of a sentence. A product name keeps its capital. */
function lowered(emr: string): string {
  return emr.replace(/^The /, 'the ');
}
