import * as oauth from 'openid-client';
import { OutboundFailure } from '../../../security/outbound.ts';
import type { SigningAlgorithm } from '../../../security/signingKeys.ts';
import { noResponse } from '../../callFailures.ts';
import { type Credentials, type EmrEndpoint, EmrFailure, type Grant } from '../../connector.ts';
import { jsonOf, response_limits } from '../../responses.ts';
import type { AuthorizationServer } from './discover.ts';
import { scopesFor } from './scopes.ts';

/** The tokens, or the error code of a rejection. */
export type TokenOutcome = { tokens: Tokens } | { refused: string };
export type Tokens = {
  access_token: string;
  /** Milliseconds since 1970. Absent if the server does not say. */
  expires_at?: string;
  refresh_token?: string;
  scope?: string;
  /** A reference to the person's record, if the server sent one. */
  fhir_user?: string;
  /** The person's id at the authorization server. */
  subject?: string;
  user_name?: string;
};

/** Requests a token for the service itself, by secret or by an assertion signed with our key. */
export async function requestTokens(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  credentials: Credentials,
): Promise<TokenOutcome> {
  const config = await oauthConfiguration(endpoint, authority, credentials);
  const scope = scopesFor('system', authority.scopes);
  return tokenOutcome(() => oauth.clientCredentialsGrant(config, { scope }));
}

export async function refreshTokens(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  credentials: Credentials,
  refresh_token: string,
): Promise<TokenOutcome> {
  const config = await oauthConfiguration(endpoint, authority, credentials);
  return tokenOutcome(() => oauth.refreshTokenGrant(config, refresh_token));
}

/** Revokes a token (RFC 7009). A token that the server does not know counts as revoked. */
export async function revokeToken(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  credentials: Credentials,
  token: string,
  token_type_hint: 'access_token' | 'refresh_token',
): Promise<void> {
  const config = await oauthConfiguration(endpoint, authority, credentials);
  try {
    await oauth.tokenRevocation(config, token, { token_type_hint });
  } catch (error) {
    const refused = rejectionCode(error);
    if (refused === undefined) throw toFailure(error);
    throw new EmrFailure('refused', 'The EMR did not revoke the token.');
  }
}

/** openid-client's configuration. All its requests pass the outbound guard. */
export async function oauthConfiguration(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  credentials: Credentials,
): Promise<oauth.Configuration> {
  const { token_endpoint, authorization_endpoint, revocation_endpoint, identity_algorithms } = authority;
  const { issuer = endpoint.address } = authority;
  const config = new oauth.Configuration(
    {
      issuer,
      token_endpoint,
      ...(authorization_endpoint && { authorization_endpoint }),
      ...(revocation_endpoint && { revocation_endpoint }),
      ...(identity_algorithms && { id_token_signing_alg_values_supported: identity_algorithms }),
    },
    credentials.client_id ?? '',
    undefined,
    await authenticationOf(endpoint, authority, credentials),
  );
  // The outbound guard decides which addresses may be called and whether plain http is allowed.
  oauth.allowInsecureRequests(config);
  config[oauth.customFetch] = guardedFetch(endpoint);
  return config;
}

/** Runs a token request. Returns the code of a rejection; throws if the server is unavailable. */
export async function tokenOutcome(
  exchange: () => Promise<oauth.TokenEndpointResponse & oauth.TokenEndpointResponseHelpers>,
): Promise<TokenOutcome> {
  try {
    return { tokens: toTokens(await exchange()) };
  } catch (error) {
    const refused = rejectionCode(error);
    if (refused === undefined) throw toFailure(error);
    return { refused };
  }
}

/** OAuth error codes for "not now", which some servers send with a 4xx status. */
const transient_codes = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

function rejectionCode(error: unknown): string | undefined {
  const has_code = error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError;
  const unavailable = error instanceof oauth.ResponseBodyError && (error.status >= 500 || error.status === 429);
  if (has_code) return unavailable || transient_codes.has(error.error) ? undefined : error.error;
  // A plain 401 is a rejection, whatever its body.
  const plain = [error, Object(error).cause].some((each) => Object(each).status === 401);
  return plain ? 'invalid_client' : undefined;
}

/**
 * The grant contains the authorization server, needed for renewal, and the scope, needed to read the capabilities
 * again.
 */
export function toGrant(tokens: Tokens, authority: AuthorizationServer | undefined, server: string): Grant {
  const { access_token, expires_at, refresh_token, scope = '' } = tokens;
  return {
    access_token,
    scope,
    ...(expires_at && { expires_at }),
    ...(refresh_token && { refresh_token }),
    ...(authority && { authority: JSON.stringify(authority) }),
    server,
  };
}

async function authenticationOf(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  { way, client_secret, app_secret }: Credentials,
): Promise<oauth.ClientAuth> {
  if (way === 'backend_services') return signedAssertion(endpoint, authority);
  const secret = client_secret || app_secret;
  if (!secret) return oauth.None();
  // Every OAuth server must support Basic. Servers that list only `client_secret_post` get that.
  const methods = authority.auth_methods ?? ['client_secret_basic'];
  const basic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post');
  return basic ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
}

async function signedAssertion(endpoint: EmrEndpoint, authority: AuthorizationServer): Promise<oauth.ClientAuth> {
  if (!endpoint.keys) throw new Error('A sign-in by key needs keys.');
  const { algorithms = ['RS384'] } = authority;
  const alg: SigningAlgorithm = !algorithms.includes('RS384') && algorithms.includes('ES384') ? 'ES384' : 'RS384';
  const { kid, key } = await endpoint.keys.current(alg);
  return oauth.PrivateKeyJwt(
    { kid, key },
    {
      [oauth.modifyAssertion]: (_header, payload) => {
        // SMART: the audience is the token endpoint, not the issuer.
        payload.aud = authority.token_endpoint;
      },
    },
  );
}

function guardedFetch(endpoint: EmrEndpoint): oauth.CustomFetch {
  return async (url, { method, headers, body }) => {
    const response = await endpoint.outbound.fetch(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body === null || body === undefined ? undefined : String(body),
      signal: endpoint.signal,
      timeout_ms: 15_000,
      response_bytes_max: response_limits.sign_in.bytes_max,
    });
    // The library parses it again, without limits.
    const parsed = await jsonOf(response, 'sign_in');
    if (parsed && 'too_complex' in parsed) throw new EmrFailure('unavailable', 'The EMR sent no readable token.');
    const bodyless = [204, 205, 304].includes(response.status);
    return new Response(bodyless ? null : new Uint8Array(response.body), {
      status: response.status,
      headers: response.headers,
    });
  };
}

function toTokens(response: oauth.TokenEndpointResponse & oauth.TokenEndpointResponseHelpers): Tokens {
  const lifetime_s = response.expiresIn();
  const claims = response.claims();
  const [fhirUser, name, subject] = [claims?.fhirUser, claims?.name, claims?.sub];
  return {
    access_token: response.access_token,
    ...(lifetime_s !== undefined && { expires_at: String(Date.now() + lifetime_s * 1000) }),
    ...(response.refresh_token && { refresh_token: response.refresh_token }),
    ...(response.scope && { scope: response.scope }),
    ...(typeof fhirUser === 'string' && { fhir_user: fhirUser }),
    ...(subject && { subject }),
    ...(typeof name === 'string' && { user_name: name }),
  };
}

/**
 * openid-client wraps the outbound failure. Its own errors contain the response, which may hold a token, so they are
 * dropped.
 */
function toFailure(error: unknown): unknown {
  const cause = error instanceof Error && error.cause instanceof OutboundFailure ? error.cause : error;
  if (cause instanceof OutboundFailure) return noResponse('The EMR', cause, 'unavailable');
  if (cause instanceof EmrFailure) return cause;
  const kinds = [oauth.ClientError, oauth.ResponseBodyError, oauth.AuthorizationResponseError];
  if ([...kinds, oauth.WWWAuthenticateChallengeError].some((kind) => error instanceof kind)) {
    return new EmrFailure('unavailable', 'The EMR sent no readable token.');
  }
  return error;
}
