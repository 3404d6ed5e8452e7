import { randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { createConnection } from 'node:net';
import { Compile } from 'typebox/compile';
import { expect } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { type Service, startService } from '../../src/main.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { createClient } from '../../src/product/clients/clients.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { type Api, type ApiResponse, createApi } from '../harness/api.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { newFolder, type TestSandbox } from '../harness/sandbox.ts';

type Fixture = Pick<TestSandbox, 'env' | 'sandbox'>;
export type OtherClient = { id: string; client_id: string; client_secret: string; api: Api };

/** Opens the database of a running product for the duration of `work`. */
export async function withDatabase<T>(
  fixture: Pick<TestSandbox, 'env'>,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const db = openDatabase(roleAddresses(parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? '')), 2);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** A second client of the same installation; `api` calls as it, without an access token. */
export async function newClient(fixture: Fixture, options: { callback_urls?: string[] } = {}): Promise<OtherClient> {
  const created = await withDatabase(fixture, (db) => createClient(db, { name: 'Other', mode: 'test', ...options }));
  return { ...created, api: apiAs(fixture, created) };
}

/** The API as another client calls it, or as this one does with another access token. */
export function apiAs(
  fixture: Fixture,
  who: { client_id?: string; client_secret?: string; access_token?: string },
): Api {
  return createApi({ ...fixture.sandbox, access_token: '', ...who });
}

/** Checks status, message and field of an error response, and that it has no other fields. */
export function expectApiError(response: ApiResponse, status: number, message: string | RegExp, field?: string): void {
  expect(response.body, `status ${response.status}`).toStrictEqual({
    success: false,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    code: expect.stringMatching(/^[a-z_]+$/),
    request_id: response.headers.get('x-request-id'),
    ...(field === undefined ? ('field' in Object(response.body) ? { field: expect.any(String) } : {}) : { field }),
    ...('errors' in Object(response.body) && { errors: expect.any(Array) }),
    ...expectAdvice(response.body),
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

/** What every error says beside its message. */
export function expectAdvice({ code }: { code: string }) {
  return {
    remedy: expect.stringMatching(/^[A-Z].*\.$/),
    doc_url: expect.stringMatching(new RegExp(`^https?://.+/docs/reference/errors#${code}$`)),
  };
}

/** Checks a response against its schema: the service sends the text that PostgreSQL assembled without checking it. */
export function expectSchema(id: string, response: ApiResponse): void {
  const endpoint = endpoints.find((candidate) => candidate.id === id);
  if (!endpoint) throw new Error(`There is no endpoint ${id}.`);
  const problems = Compile(endpoint.response).Errors(response.body);
  expect(problems, JSON.stringify(problems[0])).toStrictEqual([]);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
}

export type RawResponse = { status: number; headers: IncomingHttpHeaders; text: string };

/** Sends an HTTP request without the headers that fetch adds and the checks that it makes. */
export function raw(
  base_url: string,
  options: { method: string; path: string; headers?: Record<string, string>; body?: string | Buffer | Buffer[] },
): Promise<RawResponse> {
  const { hostname, port } = new URL(base_url);
  return new Promise((resolve, reject) => {
    const { method, path, headers = {}, body } = options;
    let responded = false;
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      responded = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    // The response may arrive before a large body is sent completely; the connection then closes.
    sent.on('error', (error) => {
      if (!responded) reject(error);
    });
    if (Array.isArray(body)) for (const chunk of body) sent.write(chunk);
    sent.end(Array.isArray(body) ? undefined : body);
  });
}

/** Sends bytes that need not be HTTP, and returns everything that is received until the connection closes. */
export function sendBytes(base_url: string, bytes: string): Promise<string> {
  const { port, hostname } = new URL(base_url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = createConnection(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

/** Starts the service in production mode, with its own master key and one client. */
export async function startProduction(
  env: Record<string, string> = {},
  print: (text: string) => void = () => {},
): Promise<{ service: Service; api: Api; client: { id: string }; close(): Promise<void> }> {
  const database = await freshDatabase('production');
  const config = loadConfig({
    SANDBOX: 'off',
    MASTER_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: database.url,
    DATA_DIR: await newFolder(),
    DATABASE_POOL: '4',
    LOG_LEVEL: 'silent',
    PORT: '0',
    OPERATOR_SECOND_FACTOR: 'optional',
    ...env,
  });
  const service = await startService(config, { role: 'all', print });
  const client = await createClient(service.ctx.db, { name: 'Live', mode: 'live' });
  const { client_id, client_secret } = client;
  // Callers only read the URL and the credentials; a production service has no example records.
  const access = { base_url: service.base_url, client_id, client_secret, access_token: '' } as Fixture['sandbox'];
  return {
    service,
    client,
    api: createApi(access),
    close: async () => {
      await service.close();
      await database.drop();
    },
  };
}
