import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../cluster/programs.ts';
import { type Call, exchangePublicToken } from '../../linkAccount.ts';
import { root } from '../../serviceProcess.ts';

/** What a FHIR server is told: its registered redirect URIs, or a fault. */
export type FhirEmrMessage =
  | { redirect_uris: string[] }
  | { fail: FhirFault }
  | { end_sign_ins_of: string }
  | { end_access_tokens: true };

/** A fault of the next requests; `performed`: the request is performed, and only its response is affected. */
export type FhirFault = {
  kind: 'reset' | 'hang' | 'truncated' | 'html_500' | 'error_503' | 'too_many' | 'unauthorized';
  method: 'POST' | 'PUT';
  path: string;
  /** Whether the path must be exactly this one. */
  exact: boolean;
  times: number;
  performed: boolean;
};

/** A FHIR server with refresh tokens, in a process of its own. */
export type FhirEmr = {
  url: string;
  /** The OAuth client with which people sign in on its page. */
  client_id: string;
  people: readonly FhirPerson[];
  /** Where it notes the writes it performed, and the tokens it was sent. */
  ledger_file: string;
  token_file: string;
  /** Registers a redirect URI with it. That of a client is always the same. */
  register(redirect_uri: string): void;
  send(message: FhirEmrMessage): void;
  stop(): void;
};

export type FhirPerson = { username: string; password: string };

export async function startFhirEmr(folder: string, n: number): Promise<FhirEmr> {
  const files = {
    ledger_file: join(folder, `fhir-${n}-ledger.ndjson`),
    token_file: join(folder, `fhir-${n}-tokens.ndjson`),
  };
  for (const file of Object.values(files)) writeFileSync(file, '');
  const program = join(root, 'dist/scripts/soak/mixed/fhirEmr.js');
  const child: ChildProcess = fork(program, Object.values(files));
  const [ready] = (await once(child, 'message')) as [Pick<FhirEmr, 'url' | 'client_id' | 'people'>];
  const send = (message: FhirEmrMessage) => void child.send(message);
  const redirect_uris = new Set<string>();
  return {
    ...ready,
    ...files,
    register: (redirect_uri) => send({ redirect_uris: [...redirect_uris.add(redirect_uri)] }),
    send,
    stop: () => void child.kill(),
  };
}

export type PageLink = {
  base_url: string;
  /** By the client. */
  call: Call;
  user_id: string;
  org_id: string;
  emr: FhirEmr;
  person: FhirPerson;
  /** Links this account again instead of a new one. */
  access_token?: string;
};

/** Links an account through the page of its EMR, like a person in Link, and returns its access token. */
export async function linkOnPage({ base_url, call, emr, person, ...link }: PageLink): Promise<string> {
  const { user_id, org_id, access_token } = link;
  const user = { user_id, org_id, emr_name: 'fhir', emr_instance_domain: emr.url };
  const { token } = await call('POST', '/link/token/create', { ...user, ...(access_token && { access_token }) });
  const asLink = createLinkCall(base_url, token);
  const { consent } = await asLink('GET', 'session');
  await asLink('POST', 'consent', { terms_id: consent?.terms_id ?? '', language: 'en', text: 'What the page shows.' });
  const credentials = { way: 'authorization_code', client_id: emr.client_id };
  const { url, window } = await asLink('POST', 'oauth/start', { credentials });
  emr.register(new URL(url).searchParams.get('redirect_uri') ?? '');
  // The server may not have heard of the redirect URI yet.
  const returned = await until('the page of the EMR accepts the sign-in', () => signInOnPage(url, person), 5_000);
  const callback_id = returned.pathname.split('/').at(-1);
  await asLink('POST', 'oauth/finish', { query: returned.search, window, callback_id });
  const { public_token } = await asLink('POST', 'sign-in', { credentials: { way: 'authorization_code' } });
  return exchangePublicToken(call, public_token);
}

async function signInOnPage(url: string, { username, password }: FhirPerson): Promise<URL> {
  const form = new URLSearchParams({ username, password, decision: 'allow' });
  const page = await fetch(url, { method: 'POST', body: form, redirect: 'manual' });
  const location = page.headers.get('location');
  if (location === null) throw new Error(`The sign-in page returned ${page.status}.`);
  return new URL(location);
}

function createLinkCall(base_url: string, link_token: string): Call {
  return async (method, path, body) => {
    const response = await fetch(`${base_url}/link/v1/${path}`, {
      method,
      headers: { 'link-token': link_token, ...(body && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
    return response.json();
  };
}
