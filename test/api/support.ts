import { randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { Compile } from 'typebox/compile';
import { expect } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { createClient } from '../../src/clients/clients.ts';
import { loadConfig } from '../../src/config.ts';
import { parseDatabaseUrl } from '../../src/db/address.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { roleAddresses } from '../../src/db/roles.ts';
import { type Service, startService } from '../../src/main.ts';
import { type Answer, type Api, type ApiResponse, openApi } from '../harness/api.ts';
import { freshDatabase } from '../harness/postgres.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

type World = Pick<TestSandbox, 'env' | 'sandbox'>;
export type OtherClient = { id: string; client_id: string; client_secret: string; api: Api };

/** The doors of a running product's database, for one piece of work. */
export async function withDatabase<T>(world: Pick<TestSandbox, 'env'>, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(roleAddresses(parseDatabaseUrl('DATABASE_URL', world.env.DATABASE_URL ?? '')), 2);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** A second client of the same installation; `api` calls as it, without an access token. */
export async function newClient(world: World, options: { callback_urls?: string[] } = {}): Promise<OtherClient> {
  const made = await withDatabase(world, (db) => createClient(db, { name: 'Other', mode: 'test', ...options }));
  return { ...made, api: apiOf(world, made) };
}

/** The API as another client calls it, or as this one does with another access token. */
export function apiOf(world: World, who: { client_id?: string; client_secret?: string; access_token?: string }): Api {
  return openApi({ ...world.sandbox, access_token: '', ...who });
}

/** Checks status, message and field of an error response, and that it has no other fields. */
export function expectApiError(response: ApiResponse, status: number, message: string | RegExp, field?: string): void {
  expect(response.body, `status ${response.status}`).toStrictEqual({
    success: false,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    code: expect.stringMatching(/^[a-z_]+$/),
    request_id: response.headers.get('x-request-id'),
    ...(field === undefined ? ('field' in Object(response.body) ? { field: expect.any(String) } : {}) : { field }),
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

/** The former name, for test folders that are not renamed yet. */
export const expectRefusal = expectApiError;

/** Answers that PostgreSQL words are sent as they are: here they are held to what the reference promises. */
export function expectSchema(id: string, answer: Answer): void {
  const endpoint = endpoints.find((candidate) => candidate.id === id);
  if (!endpoint) throw new Error(`There is no endpoint ${id}.`);
  const problems = Compile(endpoint.response).Errors(answer.body);
  expect(problems, JSON.stringify(problems[0])).toStrictEqual([]);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
}

export type RawAnswer = { status: number; headers: IncomingHttpHeaders; text: string };

/** An HTTP request as it is written, with nothing added that fetch would add or refuse. */
export function raw(
  base_url: string,
  options: { method: string; path: string; headers?: Record<string, string>; body?: string | Buffer | Buffer[] },
): Promise<RawAnswer> {
  const { hostname, port } = new URL(base_url);
  return new Promise((resolve, reject) => {
    const { method, path, headers = {}, body } = options;
    let answered = false;
    const sent = request({ hostname, port, method, path, headers, agent: false }, (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    // An answer may come before a large body is sent to its end, and the connection then closes under it.
    sent.on('error', (error) => {
      if (!answered) reject(error);
    });
    if (Array.isArray(body)) for (const chunk of body) sent.write(chunk);
    sent.end(Array.isArray(body) ? undefined : body);
  });
}

/** The service as it runs with real patients: no sandbox, a master key of its own, nothing seeded but one client. */
export async function startProduction(
  env: Record<string, string> = {},
): Promise<{ service: Service; api: Api; client: { id: string }; close(): Promise<void> }> {
  const database = await freshDatabase('production');
  const config = loadConfig({
    SANDBOX: 'off',
    MASTER_KEY: randomBytes(32).toString('hex'),
    DATABASE_URL: database.url,
    DATABASE_POOL: '4',
    LOG_LEVEL: 'silent',
    PORT: '0',
    ...env,
  });
  const service = await startService(config, { role: 'all', print: () => {} });
  const client = await createClient(service.ctx.db, { name: 'Live', mode: 'live' });
  const { client_id, client_secret } = client;
  // Only who calls and where is read of it: a production service has no practice to speak of.
  const access = { base_url: service.base_url, client_id, client_secret, access_token: '' } as World['sandbox'];
  return {
    service,
    client,
    api: openApi(access),
    close: async () => {
      await service.close();
      await database.drop();
    },
  };
}
