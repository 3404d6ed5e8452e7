import { Compile, type Validator } from 'typebox/compile';
import type { OperatorRole } from '../../src/catalog/roles.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import type { Tx } from '../../src/platform/db/database.ts';
import { addInvitation } from '../../src/product/operators/operatorInvitations.ts';
import { findOperator } from '../../src/product/operators/operators.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import { resolveClients } from '../../src/surfaces/dashboard/operators/queries.ts';
import type { ApiResponse } from './api.ts';
import type { TestSandbox } from './sandbox.ts';

type Headers = Record<string, string | null>;

/** A signed-in dashboard operator who sends what a browser sends: cookie, CSRF token, Origin. */
export type TestOperator = {
  cookie: string;
  /** Shows that the operator has signed in with this browser before. Not sent by default. */
  device_cookie: string;
  csrf_token: string;
  /**
   * `path` is relative to `/dashboard/api/` unless it starts with a slash; `{client}` is replaced by the sandbox's
   * client. `headers` override the operator's own; null omits one.
   */
  get(path: string, headers?: Headers): Promise<ApiResponse>;
  post(path: string, body?: unknown, headers?: Headers): Promise<ApiResponse>;
  patch(path: string, body?: unknown, headers?: Headers): Promise<ApiResponse>;
  delete(path: string, body?: unknown, headers?: Headers): Promise<ApiResponse>;
};

type Fixture = Pick<TestSandbox, 'sandbox'>;

/** Signs in, by default as the sandbox's owner. */
export async function signInOperator(
  fixture: Fixture,
  credentials: { email: string; password: string; code?: string } = fixture.sandbox.dashboard,
): Promise<TestOperator> {
  return toOperator(fixture, await signIn(fixture, credentials));
}

/** The operator of a successful sign-in. */
export function toOperator(fixture: Fixture, { status, body, headers }: ApiResponse): TestOperator {
  if (status !== 200) throw new Error(`The sign-in failed: ${JSON.stringify(body)}`);
  const [cookie = '', device_cookie = ''] = headers.getSetCookie().map((each) => each.split(';')[0] ?? '');
  const csrf_token: string = body.session.csrf_token;
  const own = { cookie, 'x-csrf-token': csrf_token };
  const sender =
    (method: string) =>
    (path: string, body: unknown = {}, headers: Headers = {}) =>
      send(fixture, method, path, { headers: { ...own, ...headers }, body });
  return {
    cookie,
    device_cookie,
    csrf_token,
    get: (path, headers = {}) => send(fixture, 'GET', path, { headers: { cookie, origin: null, ...headers } }),
    post: sender('POST'),
    patch: sender('PATCH'),
    delete: sender('DELETE'),
  };
}

let created = 0;

/** Where an invited operator has access, in place of all clients, and whether hidden details can be revealed. */
type Access = {
  clients?: Parameters<typeof resolveClients>[1];
  may_reveal?: boolean;
  may_see_disclosures?: boolean;
  may_hold?: boolean;
};

/**
 * Creates an operator by an invitation and signs in. The invitation is stored without a request, so that it does not
 * depend on what the sandbox's owner may do in a test; it is accepted as the page does.
 */
export async function newOperator(
  fixture: Pick<TestSandbox, 'sandbox' | 'ctx'>,
  role: OperatorRole,
  { clients = null, may_reveal = false, may_see_disclosures = false, may_hold = false }: Access = {},
): Promise<TestOperator & { id: string; email: string; password: string }> {
  const email = `${role}-${++created}@example.test`;
  const password = `the password of ${email}`;
  const { token } = await fixture.ctx.db.system.begin(async (tx) =>
    addInvitation(
      tx,
      { email, role, clients: await resolveClients(tx, clients), may_reveal, may_see_disclosures, may_hold },
      await sandboxOwner(fixture, tx),
    ),
  );
  const accepted = await sendAnonymously(fixture, 'invitations/accept', { token, name: email, password });
  return { ...toOperator(fixture, accepted), id: accepted.body.session.operator.id, email, password };
}

async function sandboxOwner({ sandbox }: Fixture, tx: Tx): Promise<{ id: string; email: string }> {
  const { email } = sandbox.dashboard;
  const owner = await findOperator(tx, email);
  if (!owner) throw new Error('The sandbox has no owner.');
  return { id: owner.id, email };
}

/** Makes an operator's sessions too old for what needs a fresh sign-in. */
export async function outdateSignIns({ owner }: Pick<TestSandbox, 'owner'>, email: string): Promise<void> {
  await owner`UPDATE operator_sessions SET authenticated_at = now() - interval '10 minutes 1 second'
    WHERE operator_id = (SELECT id FROM operators WHERE email = ${email})`;
}

/** Attempts to sign in and returns the response. */
export function signIn(
  fixture: Fixture,
  { email, password, code }: { email: string; password: string; code?: string },
  headers: Headers = {},
) {
  const body = { email, password, ...(code === undefined ? {} : { code }) };
  return send(fixture, 'POST', 'session', { headers, body });
}

/** A POST of the dashboard's page without a session. */
export function sendAnonymously(fixture: Fixture, path: string, body: unknown, headers: Headers = {}) {
  return send(fixture, 'POST', path, { headers, body });
}

async function send(
  fixture: Fixture,
  method: string,
  path: string,
  { headers, body }: { headers: Headers; body?: unknown },
): Promise<ApiResponse> {
  const { base_url, client_id } = fixture.sandbox;
  const url = (path.startsWith('/') ? path : `/dashboard/api/${path}`).replace('{client}', client_id);
  const own: Headers = { origin: base_url, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const sent = Object.entries({ ...own, ...headers }).filter((pair): pair is [string, string] => pair[1] !== null);
  const response = await fetch(base_url + url, {
    method,
    headers: Object.fromEntries(sent),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // Not application/x-ndjson, which is one object per line.
  const json = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  const received = { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  if (json && response.ok) expectDeclared(method, url, received.body);
  return received;
}

/** Every response that a test receives must match the declaration from which the pages have their types. */
function expectDeclared(method: string, url: string, body: unknown): void {
  const path = url.replace(/\?.*/, '');
  const declared = responses.find((each) => each.method === method && each.path.test(path));
  // A role that hides the details of patients gets less than declared.
  if (!declared || Object(body).details_hidden) return;
  declared.schema ??= Compile(declared.endpoint.response);
  const [problem] = declared.schema.Errors(body);
  if (!problem) return;
  throw new Error(`${declared.endpoint.id} returned another shape than it declares: ${JSON.stringify(problem)}`);
}

type Declared = { method: string; path: RegExp; endpoint: Endpoint; schema?: Validator };

const responses: Declared[] = dashboardEndpoints({ live: { open: unused }, findSandboxEmr: unused }).map(
  (endpoint) => ({
    method: endpoint.method,
    path: new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    endpoint,
  }),
);

function unused(): never {
  throw new Error('Only the declarations are read.');
}
