import * as oidc from 'openid-client';
import { OutboundFailure } from './outbound.ts';

/**
 * - `unavailable`: no usable response; a later attempt can succeed
 * - `declined`: the provider did not sign the person in
 * - `client_refused`: it does not accept our client ID, secret or redirect URI
 * - `invalid`: its response is not valid for this sign-in
 */
export type IdentityFailureKind = 'unavailable' | 'declined' | 'client_refused' | 'invalid';

/** Why a sign-in at the provider failed. It has no cause: the library's errors contain responses with tokens. */
export class IdentityFailure extends Error {
  readonly kind: IdentityFailureKind;
  /** The error code of OAuth or of the library. */
  readonly code: string;
  constructor(kind: IdentityFailureKind, code: string, message: string) {
    super(message);
    this.name = 'IdentityFailure';
    this.kind = kind;
    this.code = code;
  }
}

/** OAuth error codes for "not now", and those that concern our client instead of the person. */
const unavailable_codes = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);
const client_codes = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

/** The failure behind an error of the library or of the network; other errors are returned as they are. */
export function failureOf(error: unknown): unknown {
  const cause = error instanceof oidc.ClientError ? error.cause : undefined;
  const [own] = [error, cause].filter((each) => each instanceof IdentityFailure);
  if (own) return own;
  const [outbound] = [error, cause].filter((each) => each instanceof OutboundFailure);
  if (outbound) return new IdentityFailure('unavailable', outbound.kind, outbound.message);
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    // Anyone can write the code into a URL, so only the form of a real one is repeated.
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'unknown';
    return new IdentityFailure(kindOf(code), code, 'The provider refused the sign-in.');
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    return new IdentityFailure('client_refused', `status_${error.status}`, 'The provider refused the request.');
  }
  if (error instanceof oidc.ClientError || error instanceof TypeError) {
    const { code = 'unknown' } = error as { code?: string };
    return new IdentityFailure('invalid', code, 'The provider’s response is not valid.');
  }
  return error;
}

function kindOf(code: string): IdentityFailureKind {
  if (unavailable_codes.has(code)) return 'unavailable';
  return client_codes.has(code) ? 'client_refused' : 'declined';
}
