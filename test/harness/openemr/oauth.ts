import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Practice } from './practice.ts';
import type { Reply } from './restRoutes.ts';

export type RegisteredClient = {
  client_id: string;
  client_secret: string;
  redirect_uris: string[];
  /** Requests for any other scope are refused as a whole. */
  scopes: string[];
  /** New clients must be enabled by an administrator. */
  enabled: boolean;
};

type Bearer = { client_id: string; scope: string; user: string };
type Pending = Bearer & { redirect_uri: string; state: string; challenge: string; nonce: string };

export type OAuth = Awaited<ReturnType<typeof createOAuth>>;

/** OpenEMR's authorization server: a login page of its own, PKCE, and refresh tokens that are replaced when used. */
export async function createOAuth(issuer: string, practice: Practice, clients: Map<string, RegisteredClient>) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'openemr-1', alg: 'ES256', use: 'sig' };
  const pages = new Map<string, Pending>();
  const codes = new Map<string, Pending>();
  const access = new Map<string, Bearer>();
  const refresh = new Map<string, Bearer>();
  const lifetime = { access_s: 3600 };

  const sign = (claims: Record<string, unknown>, user: string, audience: string) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'openemr-1' })
      .setIssuer(issuer)
      .setSubject(user)
      .setAudience(audience)
      .setIssuedAt()
      .setJti(randomUUID())
      .setExpirationTime('1h')
      .sign(privateKey);

  async function issue(bearer: Bearer, nonce?: string): Promise<Record<string, unknown>> {
    const access_token = await sign({ scopes: bearer.scope.split(' ') }, bearer.user, bearer.client_id);
    const refresh_token = randomUUID();
    access.set(access_token, bearer);
    refresh.set(refresh_token, bearer);
    const id_token =
      nonce === undefined
        ? {}
        : { id_token: await sign({ nonce, name: 'Quincy Quill' }, bearer.user, bearer.client_id) };
    return {
      access_token,
      refresh_token,
      token_type: 'Bearer',
      expires_in: lifetime.access_s,
      scope: bearer.scope,
      ...id_token,
    };
  }

  /** Shows the login page, or redirects back with an error. */
  function authorize(query: URLSearchParams): Reply & { location?: string } {
    const client = clients.get(query.get('client_id') ?? '');
    const redirect_uri = query.get('redirect_uri') ?? '';
    if (!client?.enabled || !client.redirect_uris.includes(redirect_uri))
      return page(401, '<p>Client failed security</p>');
    const scope = query.get('scope') ?? '';
    const unknown = scope.split(' ').find((each) => !client.scopes.includes(each));
    const back = { state: query.get('state') ?? '' };
    if (unknown !== undefined)
      return redirect(redirect_uri, { ...back, error: 'invalid_scope', hint: `Check the ${unknown} scope` });
    if (query.get('code_challenge_method') !== 'S256')
      return redirect(redirect_uri, { ...back, error: 'invalid_request' });
    const id = randomUUID();
    const challenge = query.get('code_challenge') ?? '';
    const nonce = query.get('nonce') ?? '';
    pages.set(id, { client_id: client.client_id, scope, user: '', redirect_uri, ...back, challenge, nonce });
    return page(
      200,
      `<form method="post" action="${issuer}/login"><input type="hidden" name="page" value="${id}"><input name="username"><input name="password" type="password"><button>Login</button></form>`,
    );
  }

  function login(form: URLSearchParams): Reply & { location?: string } {
    const pending = pages.get(form.get('page') ?? '');
    if (!pending) return page(400, '<p>Expired</p>');
    const user = practice.users.find(({ username }) => username !== null && username === form.get('username'));
    if (!user || form.get('password') !== `pass-${user.username}`)
      return page(401, '<p>Invalid username or password</p>');
    pages.delete(form.get('page') ?? '');
    const code = randomUUID();
    codes.set(code, { ...pending, user: String(user.uuid) });
    return redirect(pending.redirect_uri, { state: pending.state, code });
  }

  async function token(form: URLSearchParams, authorization: string | undefined): Promise<Reply> {
    const [, basic = ''] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
    const [basic_id = '', basic_secret = ''] = Buffer.from(basic, 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    const client_id = basic_id || (form.get('client_id') ?? '');
    const client = clients.get(client_id);
    if (!client || client.client_secret !== (basic_secret || form.get('client_secret')))
      return error(401, 'invalid_client');
    if (form.get('grant_type') === 'refresh_token') {
      const bearer = refresh.get(form.get('refresh_token') ?? '');
      refresh.delete(form.get('refresh_token') ?? '');
      return bearer?.client_id === client_id ? json(200, await issue(bearer)) : error(401, 'invalid_request');
    }
    if (form.get('grant_type') !== 'authorization_code') return error(400, 'unsupported_grant_type');
    const pending = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (
      pending?.client_id !== client_id ||
      pending.challenge !== proof ||
      pending.redirect_uri !== form.get('redirect_uri')
    ) {
      return error(400, 'invalid_grant');
    }
    const { scope, user, nonce } = pending;
    return json(200, await issue({ client_id, scope, user }, nonce));
  }

  return {
    lifetime,
    configuration: () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwk`,
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      scopes_supported: [...new Set([...clients.values()].flatMap(({ scopes }) => scopes))],
      capabilities: ['launch-standalone', 'permission-user', 'permission-offline'],
      code_challenge_methods_supported: ['S256'],
    }),
    bearer: (access_token: string): Bearer | undefined => access.get(access_token),
    expire: (which: 'access' | 'all') => {
      access.clear();
      if (which === 'all') refresh.clear();
    },
    handle: async (
      method: string,
      path: string,
      request: { query: URLSearchParams; body: string; authorization: string | undefined },
    ): Promise<Reply & { location?: string }> => {
      if (method === 'GET' && path === 'authorize') return authorize(request.query);
      if (method === 'POST' && path === 'login') return login(new URLSearchParams(request.body));
      if (method === 'POST' && path === 'token') return token(new URLSearchParams(request.body), request.authorization);
      if (method === 'GET' && path === 'jwk') return json(200, { keys: [jwk] });
      return { status: 404, type: 'text/html', body: '' };
    },
  };
}

function redirect(to: string, params: Record<string, string>): Reply & { location: string } {
  const url = new URL(to);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return { status: 302, type: 'text/html', body: '', location: url.href };
}

function page(status: number, body: string): Reply {
  return { status, type: 'text/html', body: `<!doctype html><title>OpenEMR</title>${body}` };
}

function error(status: number, name: string): Reply {
  return json(status, { error: name });
}

function json(status: number, body: unknown): Reply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}
