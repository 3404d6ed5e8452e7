import { ApiError, apiError, type ErrorCode } from '../../catalog/errors.ts';
import { formatAddress, isInNetworks, parseNetwork } from '../../catalog/networks.ts';
import { readFingerprint } from '../../platform/security/certificates.ts';

/** Where requests with a client's credentials may come from. Empty lists: anywhere, without a certificate. */
export type OriginLimits = {
  allowed_networks: string[];
  /** Of the certificates of which one must be presented, as SHA-256. Several, so that one can be replaced. */
  certificate_fingerprints: string[];
};

/** Where a request came from, as far as that can be trusted. */
export type RequestOrigin = {
  address: string;
  /** Called only for clients with certificates. */
  readCertificate: () => PresentedCertificate;
};

export type PresentedCertificate = 'missing' | 'unreadable' | { fingerprint: string; valid_from: Date; valid_to: Date };

/**
 * Why a request of a client is refused, if so. Decided without its secret: whoever has stolen one must not learn
 * elsewhere that it is valid.
 */
export function refuseOrigin(
  { allowed_networks, certificate_fingerprints }: OriginLimits,
  { address, readCertificate }: RequestOrigin,
): ApiError | undefined {
  if (allowed_networks.length > 0 && !isInNetworks(address, allowed_networks)) {
    return apiError('client_network_refused', { address: formatAddress(address) });
  }
  return certificate_fingerprints.length > 0
    ? refuseCertificate(certificate_fingerprints, readCertificate())
    : undefined;
}

const codes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'client_network_refused',
  'client_certificate_required',
  'client_certificate_refused',
]);

/** Whether an error is one of `refuseOrigin`. */
export function isOriginRefusal(error: unknown): boolean {
  return error instanceof ApiError && codes.has(error.code);
}

/** A TLS server that accepts any certificate does not check whether it has expired. */
function refuseCertificate(registered: readonly string[], presented: PresentedCertificate): ApiError | undefined {
  if (presented === 'missing') return apiError('client_certificate_required');
  if (presented === 'unreadable') return refused('what the proxy forwards is not one certificate');
  const { fingerprint, valid_from, valid_to } = presented;
  if (!registered.includes(fingerprint)) return refused('it is not registered for this application');
  if (valid_to.getTime() <= Date.now()) return refused(`it expired at ${valid_to.toISOString()}`);
  if (valid_from.getTime() > Date.now()) return refused(`it is not valid before ${valid_from.toISOString()}`);
  return undefined;
}

function refused(reason: string): ApiError {
  return apiError('client_certificate_refused', { reason });
}

/** Validates what an operator entered and throws on the first error. Returns it in one spelling, without repetitions. */
export function checkOriginLimits(sent: Partial<OriginLimits>): Partial<OriginLimits> {
  const { allowed_networks: networks, certificate_fingerprints: fingerprints } = sent;
  return {
    ...(networks && { allowed_networks: [...new Set(networks.map(checkNetwork))] }),
    ...(fingerprints && { certificate_fingerprints: [...new Set(fingerprints.map(checkFingerprint))] }),
  };
}

function checkNetwork(text: string): string {
  const parsed = parseNetwork(text);
  if ('network' in parsed) return parsed.network;
  throw invalid('allowed_networks', `${parsed.refused}; not '${text.trim()}'`);
}

function checkFingerprint(text: string): string {
  const fingerprint = readFingerprint(text);
  if (fingerprint !== undefined) return fingerprint;
  throw invalid('certificate_fingerprints', 'must be SHA-256 fingerprints of 64 hexadecimal digits, or certificates');
}

function invalid(field: keyof OriginLimits, rule: string): Error {
  return apiError('invalid_field', { rule: `${field} ${rule}` }, { field });
}

/** The audit detail of a change of the limits. */
export function describeLimits(before: Partial<OriginLimits>, after: Partial<OriginLimits>): Record<string, unknown> {
  const names = ['allowed_networks', 'certificate_fingerprints'] as const;
  const changes = names.flatMap((name) => {
    const [old, changed] = [before[name] ?? [], after[name] ?? []];
    return old.join() === changed.join() ? [] : [[name, { old, new: changed }] as const];
  });
  return Object.fromEntries(changes);
}
