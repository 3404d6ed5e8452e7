import { createHash, randomBytes } from 'node:crypto';
import { type FaultSwitches, type HttpResponse, refusesScope } from './faults.ts';

export type Person = { username: string; password: string; name: string; fhir_user: string };

/** An application registered with the EMR. */
export type RegisteredClient = {
  client_id: string;
  client_secret?: string;
  /** Its public keys, or their URL. */
  jwks?: { keys: object[] };
  jwks_url?: string;
  redirect_uris?: readonly string[];
};

type Code = {
  client_id: string;
  redirect_uri: string;
  challenge: string;
  scope: string;
  person: Person;
  nonce: string;
};

export type Authorize = {
  /** Serves the page and handles its form. */
  handle(method: string, query: URLSearchParams, form: URLSearchParams): HttpResponse;
  /** A code is valid once, for the client that requested it. */
  redeem(code: string, client_id: string, redirect_uri: string, verifier: string): Code | undefined;
};

/** Authorization code with PKCE: the page on which a person authorizes an application. */
export function createAuthorize({
  clients,
  people,
  base,
  faults,
  page: signInPage,
  issued,
}: {
  clients: Map<string, RegisteredClient>;
  people: readonly Person[];
  base: string;
  faults: FaultSwitches;
  page: { iss?: string };
  issued: string[];
}): Authorize {
  const codes = new Map<string, Code>();

  function grant(query: URLSearchParams, form: URLSearchParams): HttpResponse {
    const redirect_uri = query.get('redirect_uri') ?? '';
    const back = new URL(redirect_uri);
    back.searchParams.set('state', query.get('state') ?? '');
    if (signInPage.iss !== undefined) back.searchParams.set('iss', signInPage.iss);
    if (form.get('decision') === 'deny') {
      back.searchParams.set('error', 'access_denied');
      return redirect(back);
    }
    if (refusesScope(faults, query.get('scope') ?? '')) {
      back.searchParams.set('error', 'invalid_scope');
      return redirect(back);
    }
    const typed = [form.get('username'), form.get('password')];
    const person = people.find((one) => one.username === typed[0] && one.password === typed[1]);
    if (!person) return page(query, 'The user name or password is wrong.');
    const code = randomBytes(16).toString('base64url');
    issued.push(code);
    codes.set(code, {
      client_id: query.get('client_id') ?? '',
      redirect_uri,
      challenge: query.get('code_challenge') ?? '',
      scope: query.get('scope') ?? '',
      nonce: query.get('nonce') ?? '',
      person,
    });
    back.searchParams.set('code', code);
    return redirect(back);
  }

  return {
    handle: (method, query, form) => {
      const fault = findFault(query);
      if (fault !== undefined) return { status: 400, headers: pageHeaders, body: `<!doctype html><p>${fault}</p>` };
      return method === 'POST' ? grant(query, form) : page(query, undefined);
    },
    redeem: (code, client_id, redirect_uri, verifier) => {
      const issued = codes.get(code);
      codes.delete(code);
      if (issued?.client_id !== client_id || issued.redirect_uri !== redirect_uri) return undefined;
      return createHash('sha256').update(verifier).digest('base64url') === issued.challenge ? issued : undefined;
    },
  };

  /** Errors that must not redirect, because the redirect URI is not registered. */
  function findFault(query: URLSearchParams): string | undefined {
    const client = clients.get(query.get('client_id') ?? '');
    if (!client?.redirect_uris?.includes(query.get('redirect_uri') ?? '')) return 'Unknown application or address.';
    if (query.get('response_type') !== 'code') return 'Only response_type=code is supported.';
    if (query.get('code_challenge_method') !== 'S256' || !query.get('code_challenge')) return 'PKCE is required.';
    if (query.get('aud') !== base) return 'The audience (aud) must be this FHIR server.';
    return query.get('state') ? undefined : 'The state is required.';
  }
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

function page(query: URLSearchParams, alert: string | undefined): HttpResponse {
  const action = `?${query}`.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const body = `<!doctype html><html lang="en"><title>Sign in to Meadowbrook EMR</title><h1>Meadowbrook EMR</h1>
${alert === undefined ? '' : `<p role="alert">${alert}</p>`}
<form method="post" action="${action}">
<p><label>User name <input name="username" autocomplete="username"></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<p><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form></html>`;
  return { status: alert === undefined ? 200 : 401, headers: pageHeaders, body };
}

function redirect(to: URL): HttpResponse {
  return { status: 302, headers: { location: to.href }, body: '' };
}
