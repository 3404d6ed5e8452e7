import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose';
import type { ServerMetadata } from 'openid-client';
import { IdentityFailure } from './providerClaims.ts';

/** What a logout token says: which sessions at the provider have ended, by the session, the person, or both. */
export type LogoutToken = {
  issuer: string;
  jti: string;
  sid: string | undefined;
  subject: string | undefined;
  issued_at: Date;
};

type Fetch = (url: string, init: { method: string; headers: Headers; signal: AbortSignal }) => Promise<Response>;

/** Providers send it at once, and do not repeat it for long. */
const age_s_max = 600;
const clock_skew_s = 30;
/** Unknown keys are looked up at most this often, whoever sends tokens. */
const keys_pause_ms = 30_000;
/** A key that the provider has replaced is accepted this long. */
const keys_ms = 60_000;
const claim_chars_max = 255;
const logout_event = 'http://schemas.openid.net/event/backchannel-logout';

/** Validates logout tokens (OpenID Connect Back-Channel Logout 1.0, section 2.6), except for repeated ones. */
export function logoutTokenReader(client_id: string, fetch: Fetch) {
  let cached: { uri: string; keys: ReturnType<typeof createRemoteJWKSet> } | undefined;
  const findKeys = (uri: string) => {
    if (cached?.uri !== uri) {
      const options = { cooldownDuration: keys_pause_ms, cacheMaxAge: keys_ms, [customFetch]: fetch };
      cached = { uri, keys: createRemoteJWKSet(new URL(uri), options) };
    }
    return cached.keys;
  };
  return async (token: string, metadata: ServerMetadata): Promise<LogoutToken> => {
    if (metadata.jwks_uri === undefined) throw invalid('jwks_uri_missing');
    const { payload, protectedHeader } = await jwtVerify(token, findKeys(metadata.jwks_uri), {
      issuer: metadata.issuer,
      audience: client_id,
      algorithms: signatures(metadata),
      clockTolerance: clock_skew_s,
      maxTokenAge: age_s_max,
      requiredClaims: ['iat', 'exp', 'jti', 'events'],
    }).catch((error: unknown) => {
      throw toFailure(error);
    });
    // Providers before 2022 do not set the type. An ID token has none either, but no `events`.
    if (!['logout+jwt', 'jwt', undefined].includes(protectedHeader.typ?.toLowerCase())) throw invalid('typ');
    return readClaims(payload, client_id);
  };
}

function readClaims(payload: JWTPayload, client_id: string): LogoutToken {
  const { iss = '', aud, azp, iat = 0, jti, sid, sub, events } = payload;
  if (Array.isArray(aud) && aud.length > 1 && azp !== client_id) throw invalid('aud');
  const event = isObject(events) && Object.hasOwn(events, logout_event) ? events[logout_event] : undefined;
  if (!isObject(event)) throw invalid('events');
  // So that an ID token cannot be used as a logout token.
  if ('nonce' in payload) throw invalid('nonce');
  if (!isText(jti)) throw invalid('jti');
  if (sid === undefined && sub === undefined) throw invalid('sid_and_sub_missing');
  if (sid !== undefined && !isText(sid)) throw invalid('sid');
  if (sub !== undefined && !isText(sub)) throw invalid('sub');
  return { issuer: iss, jti, sid, subject: sub, issued_at: new Date(iat * 1000) };
}

/** Signatures with a public key only: whoever knows the client secret must not be able to end sessions. */
function signatures({ id_token_signing_alg_values_supported = ['RS256'] }: ServerMetadata): string[] {
  return id_token_signing_alg_values_supported.filter((alg) => /^((RS|PS|ES)\d+|EdDSA|Ed25519)$/.test(alg));
}

function toFailure(error: unknown): unknown {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
    return invalid(error.claim);
  // The keys could not be read: the response was slow, or not a key set.
  const unread = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid;
  if (unread || (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC')) {
    return new IdentityFailure('unavailable', error.code, 'The provider’s keys cannot be read.');
  }
  return error instanceof errors.JOSEError ? invalid(error.code) : error;
}

function invalid(code: string): IdentityFailure {
  return new IdentityFailure('invalid', code, 'The logout token is not valid.');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= claim_chars_max;
}
