import { METHODS, request } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import type { Endpoint } from '../../../src/http/endpoint.ts';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { dashboardEndpoints } from '../../../src/surfaces/dashboard/endpoints.ts';
import { link_endpoints } from '../../../src/surfaces/linkpage/endpoints.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

const never = (): never => {
  throw new Error('unused');
};
const live = { open: never, close: never };
const all: readonly Endpoint[] = [
  ...endpoints,
  ...link_endpoints,
  ...dashboardEndpoints({ live, findSandboxEmr: () => undefined }),
];
/** Paths that are not declared as endpoints. All but the last two answer HEAD. */
const pages = [
  ...['/healthz', '/readyz', '/metrics', '/openapi.json'],
  ...['/', '/docs', '/docs/', '/docs/search.json', '/docs/style.css', '/llms.txt', '/favicon.ico'],
  ...['/dashboard', '/dashboard/jobs', '/dashboard/files/main.js', '/link', '/link/v1/link.js'],
  `/link/v1/frame/${'0'.repeat(64)}`,
];
const without_head = ['/link/v1/oauth/callback/0', '/dashboard/sign-in/callback'];

let fixture: TestSandbox;
let credentials: Record<string, string>;
beforeAll(async () => {
  fixture = await sharedSandbox();
  const { client_id, client_secret, access_token } = fixture.sandbox;
  credentials = { client_id, client_secret, access_token };
});

type Sent = { status: number; headers: Record<string, string | string[] | undefined>; text: string };

/** `fetch` does not send every method. */
function send(method: string, path: string, headers: Record<string, string | string[]> = {}): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const sent = request(fixture.sandbox.base_url + path, { method, headers, agent: false });
    sent.on('error', reject);
    sent.on('connect', ({ statusCode = 0, headers }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, headers, text: '' });
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString() });
      });
    });
    sent.end();
  });
}

const fillPath = ({ path }: Endpoint) => path.replaceAll(/\{\w+\}/g, '1');
const answersHead = ({ head, stream }: Endpoint) => head !== false && !stream;
const reads = all.filter(({ method }) => method === 'GET');

test(row('VAL-03'), async () => {
  const paths = [...new Set([...pages, ...reads.filter(answersHead).map(fillPath)])];
  for (const path of paths) {
    const [get, head] = [await send('GET', path, credentials), await send('HEAD', path, credentials)];
    expect([head.status, head.headers['content-type'], head.text], path).toStrictEqual([
      get.status,
      get.headers['content-type'],
      '',
    ]);
    expect(get.status, path).not.toBe(405);
  }
  const listed = await send('HEAD', '/v1/locations', credentials);
  expect([listed.status, Number(listed.headers['content-length']) > 100]).toStrictEqual([200, true]);
});

test(row('VAL-04'), async () => {
  const started = reads.filter((each) => !answersHead(each)).map(fillPath);
  expect(started.sort()).toStrictEqual([
    '/dashboard/api/live',
    '/dashboard/api/sign-in',
    '/link/token/exchange',
    '/v1/webhook-events/stream',
  ]);
  for (const path of [...started, ...without_head]) {
    const { status, headers } = await send('HEAD', path, credentials);
    expect([status, headers.allow], path).toStrictEqual([405, 'GET, OPTIONS']);
  }
});

test(row('VAL-05'), async () => {
  const paths = new Map<string, Set<string>>(pages.map((path) => [path, new Set(['GET', 'HEAD'])]));
  for (const path of without_head) paths.set(path, new Set(['GET']));
  for (const endpoint of all) {
    const methods = paths.get(fillPath(endpoint)) ?? new Set();
    methods.add(endpoint.method);
    if (endpoint.method === 'GET' && answersHead(endpoint)) methods.add('HEAD');
    paths.set(fillPath(endpoint), methods);
  }
  // Neither is an ID.
  for (const path of ['/v1/patients/fetch', '/v1/patients/search']) {
    const { status, headers } = await send('GET', path, credentials);
    expect([status, headers.allow], path).toStrictEqual([405, 'POST, OPTIONS']);
  }
  for (const [path, methods] of paths) {
    const put = await send('PUT', path, credentials);
    const allowed = String(put.headers.allow).split(', ');
    expect([put.status, JSON.parse(put.text).code], path).toStrictEqual([405, 'method_not_allowed']);
    expect(allowed, path).toEqual(expect.arrayContaining([...methods, 'OPTIONS']));
    const options = await send('OPTIONS', path, { origin: 'https://elsewhere.example', ...credentials });
    expect([options.status, options.text, options.headers.allow], path).toStrictEqual([204, '', put.headers.allow]);
    expect(Object.keys(options.headers).filter((name) => name.startsWith('access-control'))).toStrictEqual([]);
  }
});

test(row('VAL-06'), async () => {
  for (const path of ['/v1/locations', '/v1/nothing', '/', '/healthz', '/docs/nothing', '/dashboard/x', '/link/v1/x']) {
    for (const method of METHODS) {
      const { status } = await send(method, path, method === 'CONNECT' ? {} : credentials);
      expect([method, path, status >= 200 && status < 500]).toStrictEqual([method, path, true]);
      if (!['GET', 'HEAD', 'OPTIONS'].includes(method)) expect([404, 405], `${method} ${path}`).toContain(status);
    }
  }
});

test(row('VAL-07'), async () => {
  const { client_id = '', client_secret = '', access_token = '' } = credentials;
  const client = { client_id, client_secret };
  const equal = [
    { ...client, access_token: [access_token, access_token] },
    { ...client, access_token, 'access-token': access_token },
    { ...client, 'client-id': client_id, access_token: `${access_token}, ${access_token}` },
  ];
  for (const headers of equal) expect((await send('GET', '/v1/locations', headers)).status).toBe(200);
  const different = [
    ['access_token', { ...client, access_token: [access_token, 'other'] }],
    ['access_token', { ...client, access_token, 'access-token': 'other' }],
    ['client_id', { ...credentials, 'client-id': 'ci_test_other' }],
    ['client_secret', { ...credentials, 'client-secret': 'cs_test_other' }],
  ] satisfies [string, Record<string, string | string[]>][];
  for (const [header, headers] of different) {
    const { status, text } = await send('GET', '/v1/locations', headers);
    const message = `The ${header} header was sent more than once, with different values.`;
    expect([status, JSON.parse(text)]).toMatchObject([400, { code: 'credentials_conflict', message }]);
  }
});

test(row('VAL-08'), async () => {
  const body = { 'content-type': 'application/json' };
  const cases = [
    [{ ...body, 'content-encoding': 'gzip' }, 'body_encoding_unsupported'],
    [{ ...body, 'content-encoding': 'br' }, 'body_encoding_unsupported'],
    [{ 'content-type': 'application/json; charset=latin1' }, 'charset_unsupported'],
    [{ 'content-type': 'application/json;charset="utf-16"' }, 'charset_unsupported'],
  ] as const;
  for (const [headers, code] of cases) {
    const { status, body } = await fixture.api.callIn({}, headers);
    expect([status, body.code]).toStrictEqual([415, code]);
  }
  for (const charset of ['utf-8', 'UTF8', '"utf-8"']) {
    const headers = { 'content-type': `application/json; charset=${charset}`, 'content-encoding': 'identity' };
    expect((await fixture.api.callIn({}, headers)).status).toBe(200);
  }
});
