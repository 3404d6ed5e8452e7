import * as oauth from 'openid-client';
import { OutboundFailure } from '../../../platform/security/outbound.ts';
import type { SigningAlgorithm } from '../../../platform/security/signingKeys.ts';
import type { Credentials, EmrEndpoint, Grant } from '../../connector.ts';
import { noResponse, parseResponse, response_limits } from '../../emrCalls.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { type AuthorizationServer, requireTrusted, type SecretMethod } from './authorizationServer.ts';
import { clearerRefusal, mayBeAuthentication, type TokenRefusal } from './refusals.ts';
import { systemScopes } from './signInWays.ts';

/** We, as a client of an authorization server. */
type OauthClient = { endpoint: EmrEndpoint; authority: AuthorizationServer; credentials: Credentials };

/** The tokens, with what was learned about the server, or a rejection. */
export type TokenOutcome = { tokens: Tokens; authority: AuthorizationServer } | TokenRefusal;
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

/**
 * Requests a token for the service itself, by secret or by an assertion signed with our key. If the server refuses the
 * scopes, the next ones are requested, and then none, for whatever the client is registered for. The scopes that an
 * owner wrote are the only ones that are requested.
 */
export async function requestTokens(client: OauthClient): Promise<TokenOutcome> {
  const { authority, endpoint } = client;
  const request = (server: AuthorizationServer, parameters: Record<string, string>) =>
    obtainTokens({ ...client, authority: server }, (config) => oauth.clientCredentialsGrant(config, parameters));
  if (endpoint.scope) {
    const outcome = await request(authority, { scope: endpoint.scope });
    return isScopeRefused(outcome) ? { ...outcome, scopes: endpoint.scope } : outcome;
  }
  if (authority.unscoped) return request(authority, {});
  const scopes = authority.scope ? [authority.scope] : systemScopes(authority.scopes);
  let refused: TokenOutcome | undefined;
  for (const scope of scopes) {
    const outcome = await request({ ...authority, scope }, { scope });
    if (!isScopeRefused(outcome)) return outcome;
    refused ??= { ...outcome, scopes: scope };
  }
  const { scope: _, ...unscoped } = authority;
  const registered = await request({ ...unscoped, unscoped: true }, {});
  return refused && 'refused' in registered ? refused : registered;
}

function isScopeRefused(outcome: TokenOutcome): outcome is TokenRefusal {
  return 'refused' in outcome && outcome.refused === 'invalid_scope';
}

export async function refreshTokens(client: OauthClient, refresh_token: string): Promise<TokenOutcome> {
  return obtainTokens(client, (config) => oauth.refreshTokenGrant(config, refresh_token));
}

/** Exchanges the code that the EMR's page returned. `nonce` is set if an ID token was requested. */
export async function exchangeCode(
  client: OauthClient,
  returned: URL,
  { verifier, state, nonce }: { verifier: string; state: string; nonce: string | undefined },
): Promise<TokenOutcome> {
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  if (nonce === undefined) {
    return obtainTokens(client, (config) => oauth.authorizationCodeGrant(config, returned, checks));
  }
  return obtainTokens(client, async (config, exchanged) => {
    exchanged.keep_id_token = true;
    try {
      return await oauth.authorizationCodeGrant(config, returned, { ...checks, expectedNonce: nonce });
    } catch (error) {
      const { response, had_id_token } = exchanged;
      if (had_id_token && error instanceof oauth.ClientError) {
        throw new EmrFailure('refused', 'The EMR sent an ID token that is not valid for this sign-in.');
      }
      if (!response || had_id_token) throw error;
      // A server that granted less than `openid` sends no ID token. The code is used up, so the response is read again.
      config[oauth.customFetch] = async () => response();
      return oauth.authorizationCodeGrant(config, returned, checks);
    }
  });
}

/** Revokes a token (RFC 7009). A token that the server does not know counts as revoked. */
export async function revokeToken(
  client: OauthClient,
  token: string,
  token_type_hint: 'access_token' | 'refresh_token',
): Promise<void> {
  requireTrusted(client.endpoint, client.authority);
  const [authentication] = await listAuthentications(client);
  const config = oauthConfiguration(client, authentication?.auth);
  try {
    await oauth.tokenRevocation(config, token, { token_type_hint });
  } catch (error) {
    const refused = toTokenRefusal(error);
    if (refused === undefined) throw toFailure(error);
    throw new EmrFailure('refused', 'The EMR did not revoke the token.');
  }
}

/** openid-client's configuration. All its requests pass the outbound guard. */
export function oauthConfiguration(
  { endpoint, authority, credentials }: OauthClient,
  auth: oauth.ClientAuth = oauth.None(),
  exchanged: Exchanged = {},
): oauth.Configuration {
  const { token_endpoint, authorization_endpoint, revocation_endpoint } = authority;
  const { issuer = endpoint.address } = authority;
  const config = new oauth.Configuration(
    {
      issuer,
      token_endpoint,
      ...(authorization_endpoint && { authorization_endpoint }),
      ...(revocation_endpoint && { revocation_endpoint }),
      id_token_signing_alg_values_supported: identity_algorithms,
    },
    credentials.client_id ?? '',
    undefined,
    auth,
  );
  // The outbound guard decides which addresses may be called and whether plain http is allowed.
  oauth.allowInsecureRequests(config);
  config[oauth.customFetch] = guardedFetch(endpoint, exchanged);
  return config;
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

/**
 * ID tokens come from the token endpoint itself, so that their signature is not what makes them trustworthy (OpenID
 * Connect Core 3.1.3.7). Servers sign with algorithms that their discovery does not list.
 */
const identity_algorithms = ['RS', 'ES', 'PS', 'HS']
  .flatMap((family) => [256, 384, 512].map((bits) => `${family}${bits}`))
  .concat('EdDSA', 'Ed25519');

type TokenResponse = oauth.TokenEndpointResponse & oauth.TokenEndpointResponseHelpers;

/** The last response of a token request. ID tokens that were not requested are removed from it, unread. */
type Exchanged = { keep_id_token?: boolean; had_id_token?: boolean; response?: () => Response };

/**
 * Runs a token request as the client. If the server refuses the client, a secret is sent once more in the other way.
 * Returns a rejection; throws if the server is unavailable.
 */
async function obtainTokens(
  client: OauthClient,
  exchange: (config: oauth.Configuration, exchanged: Exchanged) => Promise<TokenResponse>,
): Promise<TokenOutcome> {
  const { authority } = client;
  // Before anything is signed: an assertion is valid wherever its audience accepts it.
  requireTrusted(client.endpoint, authority);
  let refusal: TokenRefusal | undefined;
  for (const { auth, secret_method } of await listAuthentications(client)) {
    const exchanged: Exchanged = {};
    const config = oauthConfiguration(client, auth, exchanged);
    try {
      const tokens = toTokens(await exchange(config, exchanged));
      return { tokens, authority: secret_method ? { ...authority, secret_method } : authority };
    } catch (error) {
      const refused = toTokenRefusal(error);
      if (refused === undefined) throw toFailure(error);
      refusal = refusal ? clearerRefusal(refusal, refused) : refused;
      if (!mayBeAuthentication(refused)) break;
    }
  }
  if (!refusal) throw new Error('There is no way to authenticate the client.');
  return refusal;
}

/** OAuth error codes for "not now", which some servers send with a 4xx status. */
const transient_codes = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

function toTokenRefusal(error: unknown): TokenRefusal | undefined {
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    const unavailable = error instanceof oauth.ResponseBodyError && (error.status >= 500 || error.status === 429);
    if (unavailable || transient_codes.has(error.error)) return undefined;
    const { error: refused, error_description: description } = error;
    // The response body. Some servers explain the error in a field of their own.
    const { hint } = Object(error.cause) as { hint?: unknown };
    return { refused, ...(description && { description }), ...(typeof hint === 'string' && { hint }) };
  }
  // A plain 401 is a rejection, whatever its body.
  const plain = [error, Object(error).cause].some((each) => Object(each).status === 401);
  return plain ? { refused: 'invalid_client' } : undefined;
}

function guardedFetch(endpoint: EmrEndpoint, exchanged: Exchanged): oauth.CustomFetch {
  return async (url, { method, headers, body }) => {
    const response = await endpoint.outbound.fetch(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...endpoint.headers, ...headers },
      body: body === null || body === undefined ? undefined : String(body),
      signal: endpoint.signal,
      timeout_ms: 15_000,
      response_bytes_max: response_limits.sign_in.bytes_max,
    });
    if (response.status === 429 && !('retry-after' in response.headers)) await endpoint.budget?.exceeded();
    // The library parses it again, without limits.
    const parsed = await parseResponse(response, 'sign_in');
    if (parsed && 'too_complex' in parsed) throw new EmrFailure('unavailable', 'The EMR sent no readable token.');
    const json = Object(parsed?.json) as Record<string, unknown>;
    exchanged.had_id_token = 'id_token' in json;
    const strip = exchanged.had_id_token && !exchanged.keep_id_token;
    const { id_token: _, ...rest } = json;
    const sent = strip ? Buffer.from(JSON.stringify(rest)) : response.body;
    const bodyless = [204, 205, 304].includes(response.status);
    const { status, headers: received } = response;
    exchanged.response = () => new Response(bodyless ? null : new Uint8Array(sent), { status, headers: received });
    return exchanged.response();
  };
}

function toTokens(response: TokenResponse): Tokens {
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

/** One way to authenticate as the client. `secret_method` is set if it sends a secret. */
type ClientAuthentication = { auth: oauth.ClientAuth; secret_method?: SecretMethod };

/**
 * The ways to authenticate, in the order in which to try them. Servers do not always list how they accept a secret, and
 * some accept it only in the body, so a refused one is sent again the other way. Once one has worked, only that is used.
 */
async function listAuthentications({
  endpoint,
  authority,
  credentials: { way, client_secret, app_secret },
}: OauthClient): Promise<ClientAuthentication[]> {
  if (way === 'backend_services') return [{ auth: await signedAssertion(endpoint, authority) }];
  const secret = client_secret || app_secret;
  if (!secret) return [{ auth: oauth.None() }];
  return secretMethods(authority).map((secret_method) => ({
    secret_method,
    auth: secret_method === 'client_secret_basic' ? basicAuthentication(secret) : oauth.ClientSecretPost(secret),
  }));
}

/** Every OAuth server must support Basic, so it comes first unless the server lists only the body. */
function secretMethods({ secret_method, auth_methods = [] }: AuthorizationServer): SecretMethod[] {
  if (secret_method) return [secret_method];
  const only_body = auth_methods.includes('client_secret_post') && !auth_methods.includes('client_secret_basic');
  return only_body ? ['client_secret_post', 'client_secret_basic'] : ['client_secret_basic', 'client_secret_post'];
}

/**
 * HTTP Basic. RFC 6749 requires form encoding, which openid-client also applies to `-`, `_`, `.` and `~`. Many servers
 * do not decode, and these four are common in client IDs. No decoder needs them encoded, so they stay.
 */
function basicAuthentication(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = [client.client_id, secret].map(formEncode).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncode(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

async function signedAssertion(endpoint: EmrEndpoint, authority: AuthorizationServer): Promise<oauth.ClientAuth> {
  if (!endpoint.keys) throw new Error('A sign-in by key needs keys.');
  const { algorithms = ['RS384'] } = authority;
  const alg: SigningAlgorithm = !algorithms.includes('RS384') && algorithms.includes('ES384') ? 'ES384' : 'RS384';
  const { kid, key } = await endpoint.keys.current(alg);
  return oauth.PrivateKeyJwt(
    { kid, key },
    {
      [oauth.modifyAssertion]: (header, payload) => {
        // SMART requires it, and some servers answer 401 without it. openid-client leaves it out.
        header.typ = 'JWT';
        // SMART: the audience is the token endpoint, not the issuer.
        payload.aud = authority.token_endpoint;
      },
    },
  );
}
