import * as oidc from 'openid-client';
import type { Config } from '../config.ts';
import { createOutbound, type Outbound, OutboundFailure } from './outbound.ts';

/** What the provider says about a person who has signed in. */
export type Identity = { issuer: string; subject: string; claims: Readonly<Record<string, unknown>> };

/**
 * What a session keeps to ask the provider again. `by`: where it says which roles a person has, in the user info or in the
 * ID token that comes with refreshed tokens.
 */
export type ProviderTokens = {
  by: 'user_info' | 'id_token';
  access_token: string;
  /** In milliseconds since 1970; null if the provider does not say. */
  expires_at: number | null;
  refresh_token: string | null;
};

/** How the caller reads claims: whether they suffice to sign in, and which roles they give, as a text to compare. */
export type ClaimReader = {
  isComplete(claims: Identity['claims']): boolean;
  rolesOf(claims: Identity['claims']): string;
};

/**
 * What ties the browser's return to the sign-in that it left for. `again`: the provider must ask the person to sign in,
 * even if it knows the browser, and must say when they did.
 */
export type SignInChecks = { state: string; nonce: string; verifier: string; again: boolean };

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

/** The OpenID Connect provider of the settings. */
export type IdentityProvider = {
  /** Where the browser goes to sign in. */
  authorizationUrl(redirect_uri: string, checks: SignInChecks): Promise<string>;
  /**
   * Who has signed in, from the URL to which the browser returned. Without `tokens`, the provider offers no way to find out
   * the roles again: neither its user info nor refreshed tokens give those of the sign-in.
   */
  identify(
    returned: URL,
    checks: SignInChecks,
    reader: ClaimReader,
  ): Promise<Identity & { tokens: ProviderTokens | undefined }>;
  /** What the provider says about the person now. `keep` must store new tokens at once: the old ones are no longer valid. */
  identifyAgain(
    subject: string,
    tokens: ProviderTokens,
    keep: (renewed: ProviderTokens) => Promise<void>,
  ): Promise<Identity['claims']>;
  /** Where the browser goes to sign out at the provider as well. Undefined if the provider does not offer it. */
  signOutUrl(return_to: string): Promise<string | undefined>;
  /** Reads the provider's metadata, for `chartwire doctor`. */
  check(): Promise<void>;
  close(): Promise<void>;
};

/** Undefined if single sign-on is not configured. */
export function openIdentityProvider(config: Config): IdentityProvider | undefined {
  const { oidc_issuer: issuer, oidc_client_id: client_id, oidc_client_secret: client_secret } = config;
  if (issuer === undefined) return undefined;
  // The operator chose the issuer's host, so it may be private. Other hosts that its metadata names must be public.
  const outbound = createOutbound({ sandbox: false, allow: [new URL(issuer).host] });
  const metadata = openMetadata(() => discover(issuer, client_id, guardedFetch(outbound)));

  /**
   * A new configuration per sign-in, because it caches the provider's keys: they are few, and a key that the provider
   * has just replaced must neither be missing nor be accepted.
   */
  const configure = async (timeout_ms: number) => {
    const server = await metadata.read();
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication = methods.includes('client_secret_post') ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
    const configuration = new oidc.Configuration(server, client_id, undefined, authentication(client_secret));
    // The outbound guard decides which addresses may be called and whether plain http is allowed.
    oidc.allowInsecureRequests(configuration);
    oidc.enableNonRepudiationChecks(configuration);
    configuration[oidc.customFetch] = guardedFetch(outbound, timeout_ms);
    return configuration;
  };
  /** After a failure the metadata is read again: endpoints and keys may have moved. */
  const attempt = async <T>(
    work: (configuration: oidc.Configuration) => Promise<T>,
    timeout_ms = request_ms,
  ): Promise<T> => {
    try {
      return await work(await configure(timeout_ms));
    } catch (error) {
      metadata.forget();
      throw failureOf(error);
    }
  };

  return {
    authorizationUrl: (redirect_uri, { state, nonce, verifier, again }) =>
      attempt(async (configuration) => {
        const code_challenge = await oidc.calculatePKCECodeChallenge(verifier);
        const challenge = { code_challenge, code_challenge_method: 'S256' };
        // Some providers ignore max_age, and others only ask the person with prompt=login. All of them report auth_time.
        const prompt = again ? { max_age: '0', prompt: 'login' } : {};
        const request = { redirect_uri, scope: config.oidc_scopes, state, nonce, ...challenge, ...prompt };
        return oidc.buildAuthorizationUrl(configuration, request).href;
      }),
    identify: (returned, { state, nonce, verifier }, reader) =>
      attempt(async (configuration) => {
        // The caller checks auth_time, against the time at which this sign-in was started.
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
        const granted = await oidc.authorizationCodeGrant(configuration, returned, checks);
        const claims = granted.claims();
        if (!claims) throw new IdentityFailure('invalid', 'id_token_missing', 'The provider sent no ID token.');
        const { iss: issuer, sub: subject } = claims;
        // Many providers put only the subject into the ID token.
        const complete = reader.isComplete(claims);
        const info = await userInfo(configuration, granted.access_token, subject, {
          required: !complete,
          useful: config.oidc_check_seconds > 0,
        });
        const identity = { issuer, subject, claims: complete ? claims : { ...info, ...claims } };
        const roles = reader.rolesOf(identity.claims);
        const tokens = tokensOf('user_info', granted, null);
        if (config.oidc_check_seconds === 0) return { ...identity, tokens: undefined };
        if (info && reader.rolesOf(info) === roles) return { ...identity, tokens };
        const renewed = await renew(configuration, subject, { ...tokens, by: 'id_token' }).catch(() => undefined);
        const same = renewed?.claims && reader.rolesOf(renewed.claims) === roles;
        return { ...identity, tokens: same ? renewed.tokens : undefined };
      }),
    identifyAgain: (subject, tokens, keep) =>
      attempt((configuration) => claimsAgain(configuration, subject, tokens, keep), check_ms),
    signOutUrl: (return_to) =>
      attempt(async (configuration) => {
        if (!configuration.serverMetadata().end_session_endpoint) return undefined;
        // Without id_token_hint: no token appears in a URL. The provider may ask the person to confirm.
        return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: return_to }).href;
      }),
    check: () => attempt(async () => {}),
    close: outbound.close,
  };
}

const metadata_ms = 600_000;
const request_ms = 10_000;
/** A request of an operator waits for it. */
const check_ms = 3_000;
/** Metadata and key sets of large providers have some 10 KB. */
const response_bytes_max = 1_000_000;

type Metadata = { read(): Promise<oidc.ServerMetadata>; forget(): void };

/** Caches the provider's metadata. Sign-ins that start at the same time share a request. */
function openMetadata(load: () => Promise<oidc.ServerMetadata>): Metadata {
  let cached: { metadata: Promise<oidc.ServerMetadata>; until: number } | undefined;
  return {
    read: () => {
      if (!cached || cached.until <= Date.now()) cached = { metadata: load(), until: Date.now() + metadata_ms };
      return cached.metadata;
    },
    forget: () => {
      cached = undefined;
    },
  };
}

async function discover(issuer: string, client_id: string, fetch: oidc.CustomFetch): Promise<oidc.ServerMetadata> {
  const discovered = await oidc.discovery(new URL(issuer), client_id, undefined, undefined, {
    execute: [oidc.allowInsecureRequests],
    [oidc.customFetch]: fetch,
  });
  const { supportsPKCE: _, ...metadata } = discovered.serverMetadata();
  // The library accepts others for providers with many tenants, whose users we must not mix.
  if (new URL(metadata.issuer).href !== new URL(issuer).href) {
    throw new IdentityFailure('invalid', 'issuer_differs', 'The provider’s metadata names another issuer.');
  }
  return metadata;
}

/** Undefined if the provider has none, or, unless it is required, if it cannot be read. */
async function userInfo(
  configuration: oidc.Configuration,
  access_token: string,
  subject: string,
  { required, useful }: { required: boolean; useful: boolean },
): Promise<Identity['claims'] | undefined> {
  if (!configuration.serverMetadata().userinfo_endpoint || !(required || useful)) return undefined;
  const read = oidc.fetchUserInfo(configuration, access_token, subject);
  return required ? read : read.catch(() => undefined);
}

/** The person's claims now, from where the tokens give them. */
async function claimsAgain(
  configuration: oidc.Configuration,
  subject: string,
  tokens: ProviderTokens,
  keep: (renewed: ProviderTokens) => Promise<void>,
): Promise<Identity['claims']> {
  const renewAndKeep = async () => {
    const renewed = await renew(configuration, subject, tokens);
    await keep(renewed.tokens);
    return renewed;
  };
  if (tokens.by === 'id_token') {
    const { claims } = await renewAndKeep();
    if (!claims) throw new IdentityFailure('unavailable', 'id_token_missing', 'The provider sent no ID token.');
    return claims;
  }
  const expired = tokens.expires_at !== null && tokens.expires_at <= Date.now();
  try {
    const { access_token } = expired ? (await renewAndKeep()).tokens : tokens;
    return await oidc.fetchUserInfo(configuration, access_token, subject);
  } catch (error) {
    if (!(error instanceof oidc.WWWAuthenticateChallengeError)) throw error;
    const revoked = new IdentityFailure(
      'declined',
      `status_${error.status}`,
      'The provider no longer accepts the token.',
    );
    if (expired || tokens.refresh_token === null) throw revoked;
  }
  const { access_token } = (await renewAndKeep()).tokens;
  return oidc.fetchUserInfo(configuration, access_token, subject);
}

/** New tokens, and the claims of the ID token among them. */
async function renew(
  configuration: oidc.Configuration,
  subject: string,
  { by, refresh_token }: ProviderTokens,
): Promise<{ tokens: ProviderTokens; claims: Identity['claims'] | undefined }> {
  if (refresh_token === null) {
    throw new IdentityFailure('unavailable', 'token_expired', 'The access token has expired, and there is no other.');
  }
  const granted = await oidc.refreshTokenGrant(configuration, refresh_token);
  const claims = granted.claims();
  if (claims && claims.sub !== subject) {
    throw new IdentityFailure('declined', 'subject_differs', 'The provider’s tokens are about another person.');
  }
  return { tokens: tokensOf(by, granted, refresh_token), claims };
}

type Granted = Awaited<ReturnType<typeof oidc.refreshTokenGrant>>;

/** Providers that do not replace a refresh token do not repeat it. */
function tokensOf(by: ProviderTokens['by'], granted: Granted, before: string | null): ProviderTokens {
  const seconds = granted.expiresIn();
  return {
    by,
    access_token: granted.access_token,
    expires_at: seconds === undefined ? null : Date.now() + seconds * 1000,
    refresh_token: granted.refresh_token ?? before,
  };
}

function guardedFetch(outbound: Outbound, timeout_ms = request_ms): oidc.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const response = await outbound.fetch(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body === null || body === undefined ? undefined : String(body),
      signal,
      timeout_ms,
      response_bytes_max,
    });
    const bodyless = [204, 205, 304].includes(response.status);
    const { status, headers: received } = response;
    if (status >= 500) throw new IdentityFailure('unavailable', `status_${status}`, 'The provider reported an error.');
    return new Response(bodyless ? null : new Uint8Array(response.body), { status, headers: received });
  };
}

/** OAuth error codes for "not now", and those that concern our client instead of the person. */
const unavailable_codes = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);
const client_codes = new Set(['invalid_client', 'unauthorized_client', 'invalid_scope', 'unsupported_response_type']);

function failureOf(error: unknown): unknown {
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
