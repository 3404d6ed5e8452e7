import * as oidc from 'openid-client';
import type { Config } from '../../catalog/settings/config.ts';
import { type LogoutToken, logoutTokenReader } from './logoutTokens.ts';
import { createOutbound, type Outbound } from './outbound.ts';
import {
  type ClaimReader,
  type Claims,
  claimsAgain,
  findRoles,
  IdentityFailure,
  type ProviderTokens,
  readUserInfo,
  toIdentityFailure,
} from './providerClaims.ts';

/** What the provider says about a person who has signed in. `id_token`: only it is about this very sign-in. */
export type Identity = { issuer: string; subject: string; claims: Claims; id_token: Claims };

/**
 * What ties the browser's return to the sign-in that it left for. `again`: the provider must ask the person to sign in,
 * even if it knows the browser, and must say when they did.
 */
export type SignInChecks = { state: string; nonce: string; verifier: string; again: boolean };

/** The OpenID Connect provider of the settings. */
export type IdentityProvider = {
  /** Where the browser goes to sign in. */
  authorizationUrl(redirect_uri: string, checks: SignInChecks): Promise<string>;
  /**
   * Who has signed in, from the URL to which the browser returned. Without `tokens`, the provider offers no way to find out
   * the roles again: neither its user info nor refreshed tokens give those of the sign-in. A provider that does not answer
   * may offer one.
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
    reader: ClaimReader,
    keep: (renewed: ProviderTokens) => Promise<void>,
  ): Promise<Claims>;
  /** Where the browser goes to sign out at the provider as well. Undefined if the provider does not offer it. */
  signOutUrl(return_to: string): Promise<string | undefined>;
  /** Which sessions a logout token of the provider ends. The caller checks that it was not used before. */
  readLogoutToken(token: string): Promise<LogoutToken>;
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
  const metadata = cacheMetadata(() => discover(issuer, client_id, guardedFetch(outbound)));

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
      throw toIdentityFailure(error);
    }
  };

  const readLogoutToken = logoutTokenReader(client_id, (url, { method, headers, signal }) =>
    guardedFetch(outbound)(url, {
      method,
      headers: Object.fromEntries(headers),
      body: undefined,
      signal,
      redirect: 'manual',
    }),
  );

  return {
    authorizationUrl: (redirect_uri, { state, nonce, verifier, again }) =>
      attempt(async (configuration) => {
        const code_challenge = await oidc.calculatePKCECodeChallenge(verifier);
        const challenge = { code_challenge, code_challenge_method: 'S256' };
        // Some providers ignore max_age, and others only ask the person with prompt=login. All of them report auth_time.
        const prompt = again ? { max_age: '0', prompt: 'login' } : {};
        const acr = config.oidc_acr_values.length > 0 ? { acr_values: config.oidc_acr_values.join(' ') } : {};
        const request = { redirect_uri, scope: config.oidc_scopes, state, nonce, ...challenge, ...prompt, ...acr };
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
        const checked = config.oidc_check_seconds > 0;
        const info =
          complete && !checked ? undefined : await readUserInfo(configuration, granted.access_token, subject);
        if (!complete && info?.failure) throw info.failure;
        const identity = {
          issuer,
          subject,
          claims: complete ? claims : { ...info?.claims, ...claims },
          id_token: claims,
        };
        if (!info || !checked) return { ...identity, tokens: undefined };
        const roles = reader.readRoles(identity.claims);
        return { ...identity, tokens: await findRoles(configuration, granted, { subject, roles, info, reader }) };
      }),
    identifyAgain: (subject, tokens, reader, keep) =>
      attempt((configuration) => claimsAgain({ configuration, subject, reader, keep }, tokens), check_ms),
    signOutUrl: (return_to) =>
      attempt(async (configuration) => {
        if (!configuration.serverMetadata().end_session_endpoint) return undefined;
        // Without id_token_hint: no token appears in a URL. The provider may ask the person to confirm.
        return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: return_to }).href;
      }),
    readLogoutToken: (token) => attempt((configuration) => readLogoutToken(token, configuration.serverMetadata())),
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
function cacheMetadata(load: () => Promise<oidc.ServerMetadata>): Metadata {
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
