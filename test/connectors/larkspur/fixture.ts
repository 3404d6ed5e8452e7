import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { inspect } from 'node:util';
import { Secret, TOTP } from 'otpauth';
import { expect } from 'vitest';
import { type Larkspur, startLarkspur } from '../../../larkspur/start.ts';
import type { Access, Credentials, EmrEndpoint, Grant } from '../../../src/emr/connector.ts';
import { EmrFailure, type EmrFailureKind } from '../../../src/emr/emrFailure.ts';
import { larkspur } from '../../../src/emr/larkspur/larkspur.ts';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import { createOutbound, type Outbound } from '../../../src/platform/security/outbound.ts';
import { seededLarkspur } from '../../harness/larkspur.ts';

export type LarkspurFixture = {
  emr: Larkspur;
  credentials: { username: string; password: string };
  /** The current code of the person's authenticator. */
  code: () => string;
  /** Another staff member. */
  person: (index: number) => Pick<LarkspurFixture, 'credentials' | 'code'>;
  /** Larkspur's test control endpoints. */
  control: (method: string, path: string, body?: object) => Promise<unknown>;
  fault: (operation: string, kind: string, details?: object) => Promise<void>;
  close: () => Promise<void>;
};

/** `small`: few claims and appointments, for tests that read all of them often. */
export async function openFixture(options: { small?: boolean } = {}): Promise<LarkspurFixture> {
  const database = await seededLarkspur(options);
  const emr = await startLarkspur({ database: database.address, host: '127.0.0.1', port: 0 });
  const person: LarkspurFixture['person'] = (index) => {
    const { username, password, totp_secret } = required(emr.staff[index % emr.staff.length]);
    const totp = new TOTP({ secret: Secret.fromBase32(totp_secret) });
    return { credentials: { username, password }, code: () => totp.generate() };
  };
  const control: LarkspurFixture['control'] = async (method, path, body) => {
    const headers = { 'control-token': emr.control_token, ...(body && { 'content-type': 'application/json' }) };
    const response = await fetch(`${emr.url}/control${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    emr,
    ...person(0),
    person,
    control,
    fault: async (operation, kind, details) => {
      await control('POST', '/faults', { operation, kind, times: 1, ...details });
    },
    close: async () => {
      await emr.close();
      await database.drop();
    },
  };
}

/** An endpoint that records the called paths. */
export function createEndpoint(
  address: string,
  signal = new AbortController().signal,
): EmrEndpoint & { calls: string[] } {
  const outbound: Outbound = createOutbound({ sandbox: true, allow: [] });
  const calls: string[] = [];
  const fetch: Outbound['fetch'] = (url, request) => {
    calls.push(`${request.method} ${new URL(url).pathname}`);
    return outbound.fetch(url, request);
  };
  return { address, signal, calls, outbound: { ...outbound, fetch } };
}

export async function signedInGrant(fixture: LarkspurFixture): Promise<Grant> {
  const response = await larkspur.signIn(createEndpoint(fixture.emr.url), fixture.credentials, fixture.code());
  if (response.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(response)}`);
  return response.grant;
}

/** All operations of Larkspur. `saved` are the saved grants. */
export function createOperations(endpoint: EmrEndpoint, credentials: Access['credentials'], grant: Grant) {
  const saved: Grant[] = [];
  const saveGrant = async (renewed: Grant) => void saved.push(renewed);
  // Larkspur implements every operation.
  const emr = larkspur.open(endpoint, { credentials, grant, saveGrant }) as Operations;
  return { emr, saved };
}

export { collect } from '../../../src/emr/operations/operation.ts';

/** The failure of a call. Throws if the call succeeds. */
export async function awaitFailure(work: Promise<unknown>): Promise<EmrFailure> {
  const outcome = await work.then(
    (value) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof EmrFailure) return outcome;
  throw outcome;
}

export type Expected = { kind: EmrFailureKind; message: string; retry_after_ms?: number };

/** What a read reports for each fault of Larkspur. */
export const read_failures = {
  error_500: { kind: 'unavailable', message: 'Larkspur responded with an error (500).' },
  error_429: { kind: 'unavailable', message: 'Larkspur is receiving too many requests.', retry_after_ms: 1000 },
  broke_off: { kind: 'unavailable', message: 'The connection to Larkspur was lost.' },
  unreadable: { kind: 'unavailable', message: 'Larkspur sent an unreadable response.' },
} satisfies Record<string, Expected>;

export function expectNoSecret(error: unknown, { password = '' }: Credentials, grant: Grant = {}): void {
  for (const secret of [password, ...Object.values(grant)]) expect(collectTexts(error)).not.toContain(secret);
}

/** Everything that could be logged of an error: its fields, its stack, and those of its causes. */
function collectTexts(error: unknown): string {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && chain.length < 20; at = at instanceof Error ? at.cause : undefined) {
    chain.push(at);
  }
  return chain.map((one) => JSON.stringify(one) + inspect(one, { depth: 10, showHidden: true })).join('\n');
}

export type FakeResponse = {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  raw?: string | Buffer;
};

/** A server with arbitrary responses, which Larkspur itself never sends. */
export async function startFakeServer(respond: (request: IncomingMessage & { body: string }) => FakeResponse) {
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { status = 200, headers = {}, json, raw } = respond(Object.assign(request, { body }));
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(raw ?? JSON.stringify(json));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
}

export function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}
