/**
 * - `refused_address`: the address is not allowed
 * - `unreachable`: DNS, connection or TLS failed; nothing was sent
 * - `timeout`: `sent` says whether the request had gone out
 * - `broken`: the request may have arrived, but no complete response came back
 */
export type OutboundFailureKind = 'refused_address' | 'unreachable' | 'timeout' | 'broken';

/**
 * Why a request got no response. The message contains the host name only, so it may be shown and logged.
 * `sent: false` means that the other side cannot have received the request; `true` that it may have.
 */
export class OutboundFailure extends Error {
  readonly kind: OutboundFailureKind;
  readonly sent: boolean;
  /** The host name, if it does not exist. A resolver that does not respond is not a reason to say so. */
  readonly unknown_host: string | undefined;

  constructor(
    kind: OutboundFailureKind,
    message: string,
    details: { sent?: boolean; unknown_host?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'OutboundFailure';
    this.kind = kind;
    this.sent = details.sent ?? false;
    this.unknown_host = details.unknown_host;
  }
}

export function timedOut(host: string, timeout_ms: number, sent: boolean): OutboundFailure {
  return new OutboundFailure('timeout', `${host} did not respond within ${timeout_ms / 1000} s.`, { sent });
}

/** Aborted by our side (a shutdown, a lost lease): the outcome is unknown if the request had been sent. */
export function stopped(host: string, sent: boolean): OutboundFailure {
  return new OutboundFailure(sent ? 'broken' : 'unreachable', `The request to ${host} was aborted.`, { sent });
}

/** Maps an error from undici, net or tls. */
export function failureOf(error: Error, host: string, sent: boolean): OutboundFailure {
  if (error instanceof OutboundFailure) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
  // No cause after sending: undici's parser errors contain response bytes, which may be health data.
  if (sent) return new OutboundFailure('broken', `The connection to ${host} was lost (${code}).`, { sent });
  const reason =
    reasons[code] ?? (isCertificateError(code) ? 'has a certificate that is not trusted' : 'cannot be reached');
  const unknown_host = code === 'ENOTFOUND' ? host.replace(/:\d+$/, '') : undefined;
  return new OutboundFailure('unreachable', `${host} ${reason} (${code}).`, { cause: error, unknown_host });
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'could not be found',
  EAI_AGAIN: 'could not be resolved',
  ECONNREFUSED: 'refused the connection',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept a connection in time',
};

function isCertificateError(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code);
}
