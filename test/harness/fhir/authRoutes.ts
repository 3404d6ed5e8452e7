import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Authorize, Person, RegisteredClient } from './authorize.ts';
import { type FaultSwitches, type HttpResponse, refusesScope } from './faults.ts';
import type { Tokens } from './tokens.ts';

export type AuthServer = {
  /** Returns undefined for a path that does not belong to the authorization server. */
  handle(request: {
    method: string;
    url: URL;
    headers: Record<string, string | undefined>;
    body: string;
  }): Promise<HttpResponse | undefined>;
  discovery: () => Record<string, unknown>;
};

type Parts = {
  faults: FaultSwitches;
  issuer: string;
  clients: Map<string, RegisteredClient>;
  tokens: Tokens;
  authorize: Authorize;
  published: Record<string, unknown>;
};

/** The EMR's authorization server: discovery, the authorize page, and tokens by secret, signed assertion and code. */
export async function createAuthServer(parts: Parts): Promise<AuthServer> {
  const { faults, issuer, clients, tokens, authorize, published } = parts;
  const key = await generateKeyPair('ES384');
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'emr-1', alg: 'ES384', use: 'sig' };
  const spent = new Set<string>();
  const discovery = () => ({ ...composeDiscovery(issuer, faults), ...published });

  /** The authenticated client of a token request, or what is wrong with it. */
  async function authenticateClient(
    form: URLSearchParams,
    authorization: string | undefined,
  ): Promise<RegisteredClient | Refusal> {
    const assertion = form.get('client_assertion');
    if (assertion !== null) return byAssertion(assertion);
    const basic =
      faults.basic_credentials === 'refused' ? undefined : readBasic(authorization, faults.basic_credentials);
    const [id, secret] = basic ?? [form.get('client_id') ?? '', form.get('client_secret')];
    const client = clients.get(id);
    if (!client) return 'Invalid client';
    if (client.jwks || client.jwks_url) return 'Invalid client';
    return client.client_secret === (secret ?? undefined) ? client : 'Invalid secret';
  }

  async function byAssertion(assertion: string): Promise<RegisteredClient | Refusal> {
    try {
      const client = clients.get(decodeJwt(assertion).iss ?? '');
      if (!client) return 'Invalid client';
      const keys = client.jwks_url
        ? createRemoteJWKSet(new URL(client.jwks_url))
        : // Registered by a test with public keys made by jose.
          createLocalJWKSet((client.jwks ?? { keys: [] }) as JSONWebKeySet);
      const { payload } = await jwtVerify(assertion, keys, {
        algorithms: ['RS384', 'ES384'],
        issuer: client.client_id,
        subject: client.client_id,
        audience: `${issuer}/token`,
        maxTokenAge: '5m',
        requiredClaims: ['exp', 'jti'],
        ...(faults.assertions_need_type && { typ: 'JWT' }),
      });
      if (spent.has(payload.jti ?? '')) return 'Invalid assertion';
      spent.add(payload.jti ?? '');
      return client;
    } catch {
      return 'Invalid assertion';
    }
  }

  function clientError(refusal: Refusal): HttpResponse {
    if (faults.client_errors === 'plain') return plain(401, { error: 'invalid_client' });
    return invalidRequest(refusal);
  }

  function invalidRequest(reason: string): HttpResponse {
    if (faults.client_errors !== 'hinted') return plain(400, { error: 'invalid_request', error_description: reason });
    return plain(400, { error: 'invalid_request', error_description: standard_phrase, hint: reason });
  }

  async function token(form: URLSearchParams, authorization: string | undefined): Promise<HttpResponse> {
    const client = await authenticateClient(form, authorization);
    if (typeof client === 'string') return clientError(client);
    const { client_id } = client;
    const scope = form.get('scope') ?? '';
    switch (form.get('grant_type')) {
      case 'client_credentials': {
        const by_key = form.get('client_assertion') !== null;
        if ((!client.client_secret && !by_key) || (faults.services_need_key && !by_key))
          return faults.client_errors === 'hinted'
            ? invalidRequest('assertion type is not supported')
            : plain(400, { error: 'unauthorized_client' });
        if (refusesScope(faults, scope)) return plain(400, { error: 'invalid_scope' });
        const issued = tokens.issue({ client_id, scope, user: undefined }, { refresh: false });
        // A token of the server itself, in an algorithm that discovery does not list.
        return granted(faults.unasked_id_token ? { ...issued, id_token: unasked_id_token } : issued, scope);
      }
      case 'authorization_code': {
        const redeemed = authorize.redeem(
          form.get('code') ?? '',
          client_id,
          form.get('redirect_uri') ?? '',
          form.get('code_verifier') ?? '',
        );
        if (!redeemed) return plain(400, { error: 'invalid_grant' });
        const bearer = { client_id, scope: redeemed.scope, user: redeemed.person.username };
        const issued = tokens.issue(bearer, { refresh: redeemed.scope.includes('offline_access') });
        const id_token =
          redeemed.scope.includes('openid') && !faults.no_id_token
            ? await idToken(redeemed.person, client_id, redeemed.nonce)
            : undefined;
        return granted({ ...issued, ...(id_token && { id_token }) }, redeemed.scope);
      }
      case 'refresh_token': {
        const redeemed = tokens.redeem(form.get('refresh_token') ?? '', client_id);
        if (!redeemed) return plain(400, { error: 'invalid_grant' });
        return granted(redeemed, redeemed.scope);
      }
      default:
        return plain(400, { error: 'unsupported_grant_type' });
    }
  }

  async function revoke(form: URLSearchParams, authorization: string | undefined): Promise<HttpResponse> {
    const client = await authenticateClient(form, authorization);
    if (typeof client === 'string') return clientError(client);
    tokens.revoke(form.get('token') ?? '', client.client_id);
    return plain(200, {});
  }

  function idToken(person: Person, client_id: string, sent: string): Promise<string> {
    const nonce = { sent, always: sent || 'made-up', never: '' }[faults.nonce];
    return new SignJWT({ name: person.name, fhirUser: person.fhir_user, ...(nonce && { nonce }) })
      .setProtectedHeader({ alg: 'ES384', kid: 'emr-1' })
      .setIssuer(issuer)
      .setAudience(client_id)
      .setSubject(person.username)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(key.privateKey);
  }

  const { pathname } = new URL(issuer);
  return {
    discovery,
    handle: async ({ method, url, headers, body }) => {
      const request = `${method} ${url.pathname.replace(pathname, '')}`;
      if (!url.pathname.startsWith(`${pathname}/`)) return undefined;
      if (request === 'GET /.well-known/openid-configuration') return plain(200, discovery());
      if (request === 'GET /jwks') return plain(200, { keys: [jwk] });
      if (request === 'POST /revoke') return revoke(new URLSearchParams(body), headers.authorization);
      if (request === 'POST /token') return token(new URLSearchParams(body), headers.authorization);
      if (url.pathname.endsWith('/authorize'))
        return authorize.handle(method, url.searchParams, new URLSearchParams(body));
      return undefined;
    },
  };
}

const standard_phrase =
  'The request is missing a required parameter, includes an invalid parameter value, or is otherwise malformed.';

type Refusal = 'Invalid client' | 'Invalid secret' | 'Invalid assertion';

const unasked_id_token = [{ alg: 'HS256' }, { iss: 'https://elsewhere.example', sub: 'service', nonce: 'made-up' }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('c2lnbmF0dXJl')
  .join('.');

function composeDiscovery(issuer: string, faults: FaultSwitches): Record<string, unknown> {
  const document = plainDiscovery(issuer, faults);
  const { discovery, scopes, auth_methods } = faults;
  if (discovery === 'nested')
    return { ...document, scopes_supported: [scopes], token_endpoint_auth_methods_supported: [auth_methods] };
  if (discovery === 'mistyped')
    return { ...document, scopes_supported: [7, ...scopes], revocation_endpoint: null, grant_types_supported: 'any' };
  return document;
}

function plainDiscovery(issuer: string, { scopes, auth_methods }: FaultSwitches): Record<string, unknown> {
  return {
    issuer,
    jwks_uri: `${issuer}/jwks`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    revocation_endpoint: `${issuer}/revoke`,
    grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES384'],
    token_endpoint_auth_methods_supported: auth_methods,
    token_endpoint_auth_signing_alg_values_supported: ['RS384', 'ES384'],
    scopes_supported: scopes,
    code_challenge_methods_supported: ['S256'],
    capabilities: [
      'launch-standalone',
      'client-public',
      ...(auth_methods.some((method) => method.startsWith('client_secret')) ? ['client-confidential-symmetric'] : []),
      ...(auth_methods.includes('private_key_jwt') ? ['client-confidential-asymmetric'] : []),
      'sso-openid-connect',
      'permission-offline',
      'permission-user',
    ],
  };
}

function readBasic(authorization: string | undefined, reading: 'decoded' | 'verbatim'): [string, string] | undefined {
  const [scheme, value = ''] = authorization?.split(' ') ?? [];
  if (scheme?.toLowerCase() !== 'basic') return undefined;
  const [id = '', secret = ''] = Buffer.from(value, 'base64').toString().split(':');
  if (reading === 'verbatim') return [id, secret];
  // Both are form-encoded (RFC 6749, 2.3.1), so a space is sent as a plus sign.
  const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
  return [decode(id), decode(secret)];
}

function granted(issued: object, scope: string): HttpResponse {
  return plain(200, { token_type: 'Bearer', scope, ...issued });
}

function plain(status: number, body: object): HttpResponse {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status, headers, body: JSON.stringify(body) };
}
