import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK as JoseKey, SignJWT } from 'jose';
import Provider, { type JWK } from 'oidc-provider';

/** A person known to the test provider. */
export type Person = {
  sub: string;
  email?: string;
  email_verified?: unknown;
  name?: string;
  roles?: unknown;
  /** How the person signs in: the class and the methods of the authentication. */
  acr?: string;
  amr?: string[];
};

/** A real OpenID Connect provider (oidc-provider) without a sign-in form: it signs in the person set in `current`. */
export type TestProvider = {
  issuer: string;
  client: { client_id: string; client_secret: string };
  /** The person who signs in next; undefined refuses the sign-in. */
  current: Person | undefined;
  /** The time at which the next sign-in says that it took place, in seconds since 1970; undefined: now. */
  signed_in_at: number | undefined;
  /** Whether ID tokens always say when the person signed in, instead of only if it is asked for. Then call restart. */
  reports_auth_time: boolean;
  /** Whether sign-ins come with a refresh token, and how many of them were used. */
  refresh_tokens: boolean;
  refreshed: number;
  /** Whether logouts are sent to the service, and how many it has accepted and refused. Then call restart. */
  back_channel: boolean;
  logouts: { accepted: number; refused: number };
  /** Signs claims with the provider's key, as a faulty or hostile logout token. */
  sign(claims: Record<string, unknown>, typ?: string): Promise<string>;
  /** Whether ID tokens contain all claims. Then call restart. */
  claims_in_id_token: boolean;
  /** Replaces responses, to simulate a faulty provider. Return true if the request was answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>) | undefined;
  /** Allows a service whose address is known only after it has started. */
  allowRedirect(base_url: string): Promise<void>;
  /** Forgets all sessions and tokens, and applies the settings above. The key stays: a new one takes a quarter of a second. */
  restart(): Promise<void>;
  /** Signs with a new key from now on; the old one is no longer published. */
  rotateKeys(): Promise<void>;
  /** Stops listening; `listen` continues on the same port. */
  close(): Promise<void>;
  listen(): Promise<void>;
};

/** The classes of authentication that the provider knows. */
export const acr_values = ['urn:example:password', 'urn:example:mfa'];

/** The settings of a service that uses the provider. `roles`: OIDC_ROLES. */
export function providerSettings({ issuer, client }: TestProvider, roles: string): Record<string, string> {
  return {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: client.client_id,
    OIDC_CLIENT_SECRET: client.client_secret,
    OIDC_ROLES: roles,
  };
}

/** At `localhost`, which for a browser is another site than 127.0.0.1, where the service is. */
export async function startProvider(): Promise<TestProvider> {
  const server = createServer();
  const port = { number: 0 };
  const listen = async () => {
    server.listen(port.number, '127.0.0.1');
    await once(server, 'listening');
    port.number = (server.address() as AddressInfo).port;
  };
  await listen();
  const issuer = `http://localhost:${port.number}`;
  const client = { client_id: 'chartwire', client_secret: 'a client secret for tests: + / =' };
  const redirects: string[] = [];
  const people = new Map<string, Person>();
  /** With the newest claims, also if the browser is still signed in. */
  const findPerson = (sub: string) => (started.current?.sub === sub ? started.current : people.get(sub));
  let key: Promise<JWK> | undefined;
  const createProvider = async () => {
    key ??= createKey();
    const created = new Provider(issuer, {
      clients: [
        {
          ...client,
          redirect_uris: redirects.map((base_url) => `${base_url}/dashboard/sign-in/callback`),
          grant_types: ['authorization_code', 'refresh_token'],
          require_auth_time: started.reports_auth_time,
          ...(started.back_channel && {
            backchannel_logout_uri: `${redirects.at(-1)}/dashboard/sign-in/back-channel-logout`,
            backchannel_logout_session_required: true,
          }),
          post_logout_redirect_uris: redirects.map((base_url) => `${base_url}/dashboard`),
        },
      ],
      jwks: { keys: [await key] },
      cookies: { keys: ['a key for cookies'] },
      acrValues: acr_values,
      // Its own one refuses addresses of this machine, where the service is.
      fetch: (url, init) => globalThis.fetch(url, withoutDispatcher(init)),
      claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'], profile: ['name', 'roles'] },
      findAccount: (_, sub) => ({ accountId: sub, claims: async () => ({ ...findPerson(sub), sub }) }),
      conformIdTokenClaims: !started.claims_in_id_token,
      issueRefreshToken: () => started.refresh_tokens,
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      // Defaults cause a notice on the terminal.
      ttl: {
        AccessToken: 60,
        AuthorizationCode: 60,
        Grant: 600,
        IdToken: 60,
        Interaction: 600,
        RefreshToken: 600,
        Session: 600,
      },
    });
    created.on('grant.success', ({ oidc }) => {
      if (oidc.params?.grant_type === 'refresh_token') started.refreshed += 1;
    });
    created.on('backchannel.success', () => {
      started.logouts.accepted += 1;
    });
    created.on('backchannel.error', () => {
      started.logouts.refused += 1;
    });
    return created;
  };
  let provider: Provider | undefined;
  const started: TestProvider = {
    issuer,
    client,
    current: undefined,
    signed_in_at: undefined,
    reports_auth_time: false,
    refresh_tokens: false,
    refreshed: 0,
    claims_in_id_token: false,
    back_channel: false,
    logouts: { accepted: 0, refused: 0 },
    sign: async (claims, typ) => {
      key ??= createKey();
      const private_key = await key;
      const header = { alg: 'RS256', kid: await calculateJwkThumbprint(private_key as JoseKey), ...(typ && { typ }) };
      return new SignJWT(claims).setProtectedHeader(header).sign(await importJWK(private_key as JoseKey, 'RS256'));
    },
    intercept: undefined,
    allowRedirect: async (base_url) => {
      redirects.push(base_url);
      provider = await createProvider();
    },
    restart: async () => {
      provider = await createProvider();
    },
    rotateKeys: async () => {
      key = undefined;
      provider = await createProvider();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    listen,
  };
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    if (await started.intercept?.(request, response)) return;
    if (!provider) throw new Error('Call allowRedirect before the first request.');
    if (request.url?.startsWith('/interaction/')) await answerInteraction(provider, request, response);
    else provider.callback()(request, response);
  });

  /** Signs the current person in and grants what was requested. */
  async function answerInteraction(of: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { current } = started;
    if (!current) return of.interactionFinished(request, response, { error: 'access_denied' });
    people.set(current.sub, current);
    const { params } = await of.interactionDetails(request, response);
    const grant = new of.Grant({ accountId: current.sub, clientId: String(params.client_id) });
    grant.addOIDCScope(String(params.scope));
    const consent = { grantId: await grant.save() };
    const { signed_in_at: ts } = started;
    const { acr, amr } = current;
    const login = {
      accountId: current.sub,
      ...(ts === undefined ? {} : { ts }),
      ...(acr && { acr }),
      ...(amr && { amr }),
    };
    await of.interactionFinished(request, response, { login, consent });
  }
  return started;
}

async function createKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' } as JWK;
}

function withoutDispatcher(init: object | undefined): RequestInit {
  return Object.fromEntries(Object.entries(init ?? {}).filter(([name]) => name !== 'dispatcher'));
}
