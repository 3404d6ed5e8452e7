import type { Answer } from './api.ts';
import type { TestSandbox } from './sandbox.ts';

type Headers = Record<string, string | null>;

/** An operator at the dashboard, signed in over HTTP as a browser is: cookie, CSRF token, Origin. */
export type TestOperator = {
  cookie: string;
  csrf_token: string;
  /**
   * `path` is what follows `/dashboard/api/`, or begins with a slash; `{client}` in it is the sandbox's client.
   * `headers` are sent instead of the operator's own; null leaves one out.
   */
  get(path: string, headers?: Headers): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  delete(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
};

type World = Pick<TestSandbox, 'sandbox'>;

/** Signs in; without credentials as the sandbox's owner. */
export async function openOperator(
  world: World,
  credentials: { email: string; password: string } = world.sandbox.dashboard,
): Promise<TestOperator> {
  const { status, body, headers } = await signIn(world, credentials);
  if (status !== 200) throw new Error(`Nobody was signed in: ${JSON.stringify(body)}`);
  const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const csrf_token: string = body.session.csrf_token;
  const own = { cookie, 'x-csrf-token': csrf_token };
  const asking =
    (method: string) =>
    (path: string, body: unknown = {}, headers: Headers = {}) =>
      send(world, method, path, { ...own, ...headers }, body);
  return {
    cookie,
    csrf_token,
    get: (path, headers = {}) => send(world, 'GET', path, { cookie, origin: null, ...headers }),
    post: asking('POST'),
    patch: asking('PATCH'),
    delete: asking('DELETE'),
  };
}

/** One try to sign in, whatever becomes of it. */
export function signIn(
  world: World,
  { email, password, code }: { email: string; password: string; code?: string },
  headers: Headers = {},
) {
  return send(world, 'POST', 'session', headers, { email, password, ...(code === undefined ? {} : { code }) });
}

async function send(world: World, method: string, path: string, headers: Headers, body?: unknown): Promise<Answer> {
  const { base_url, client_id } = world.sandbox;
  const address = (path.startsWith('/') ? path : `/dashboard/api/${path}`).replace('{client}', client_id);
  const own: Headers = { origin: base_url, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const sent = Object.entries({ ...own, ...headers }).filter((pair): pair is [string, string] => pair[1] !== null);
  const answer = await fetch(base_url + address, {
    method,
    headers: Object.fromEntries(sent),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = answer.headers.get('content-type')?.includes('json') && text !== '';
  return { status: answer.status, headers: answer.headers, body: json ? JSON.parse(text) : text };
}
