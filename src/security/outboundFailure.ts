/**
 * - `refused_address`: we will not call there
 * - `unreachable`: no name, no connection, no TLS; nothing was sent
 * - `timeout`: the time was over; `sent` tells whether before or after the request went out
 * - `broken`: the request may have arrived, but no whole answer came back
 */
export type OutboundFailureKind = 'refused_address' | 'unreachable' | 'timeout' | 'broken';

/**
 * Why a call got no answer. The text names the host and nothing else of the call, so it may be shown and logged.
 * `sent: false` means that the other side cannot have seen the request; `true` that it may have.
 */
export class OutboundFailure extends Error {
  readonly kind: OutboundFailureKind;
  readonly sent: boolean;

  constructor(kind: OutboundFailureKind, message: string, details: { sent?: boolean; cause?: unknown } = {}) {
    super(message, { cause: details.cause });
    this.name = 'OutboundFailure';
    this.kind = kind;
    this.sent = details.sent ?? false;
  }
}

export function timedOut(host: string, timeout_ms: number, sent: boolean): OutboundFailure {
  return new OutboundFailure('timeout', `${host} did not answer within ${timeout_ms / 1000} s.`, { sent });
}

/** Stopped by our own side (a shutdown, a lost lease): of an unknown outcome once the request was on its way. */
export function stopped(host: string, sent: boolean): OutboundFailure {
  return new OutboundFailure(sent ? 'broken' : 'unreachable', `The call to ${host} was stopped.`, { sent });
}

/** The failure behind an error of undici, net or tls. */
export function failureOf(error: Error, host: string, sent: boolean): OutboundFailure {
  if (error instanceof OutboundFailure) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
  // After sending, no cause: an error of undici's parser carries the bytes that came back, which may be health data.
  if (sent) return new OutboundFailure('broken', `The connection to ${host} broke off (${code}).`, { sent });
  const reason =
    reasons[code] ?? (isCertificateFault(code) ? 'has a certificate that is not trusted' : 'cannot be reached');
  return new OutboundFailure('unreachable', `${host} ${reason} (${code}).`, { cause: error });
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'is not a name that can be found',
  EAI_AGAIN: 'cannot be looked up right now',
  ECONNREFUSED: 'refuses connections',
  UND_ERR_CONNECT_TIMEOUT: 'does not accept a connection in time',
};

function isCertificateFault(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code);
}
