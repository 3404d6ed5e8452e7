import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { inspect } from 'node:util';
import { Secret, TOTP } from 'otpauth';
import { expect } from 'vitest';
import { type Larkspur, startLarkspur } from '../../larkspur/start.ts';
import type { DatabaseAddress } from '../../sql/address.ts';
import {
  type Access,
  type Credentials,
  type Door,
  EmrFailure,
  type EmrFailureKind,
  type Grant,
  type Operations,
} from '../../src/connectors/connector.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { createOutbound, type Outbound } from '../../src/security/outbound.ts';
import { freshDatabase, onDatabase } from '../harness/postgres.ts';

export type Place = {
  emr: Larkspur;
  credentials: { username: string; password: string };
  /** The code that the person's authenticator shows now. */
  code: () => string;
  /** Another one of the staff. */
  person: (index: number) => Pick<Place, 'credentials' | 'code'>;
  /** The tester's side door of Larkspur. */
  control: (method: string, path: string, body?: object) => Promise<unknown>;
  fault: (operation: string, kind: string, details?: object) => Promise<void>;
  close: () => Promise<void>;
};

/** `small`: with few claims and appointments, for tests that read all of them often. */
export async function openPlace(options: { small?: boolean } = {}): Promise<Place> {
  const database = await freshDatabase('larkspur');
  const emr = await startLarkspur({ database: database.address, host: '127.0.0.1', port: 0 });
  if (options.small) await thinOut(database.address);
  const person: Place['person'] = (index) => {
    const { username, password, totp_secret } = required(emr.staff[index % emr.staff.length]);
    const totp = new TOTP({ secret: Secret.fromBase32(totp_secret) });
    return { credentials: { username, password }, code: () => totp.generate() };
  };
  const control: Place['control'] = async (method, path, body) => {
    const headers = { 'control-token': emr.control_token, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${emr.url}/control${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
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

async function thinOut(address: DatabaseAddress): Promise<void> {
  await onDatabase(address, async (sql) => {
    await sql`DELETE FROM claims WHERE claim_id NOT IN (SELECT claim_id FROM claims ORDER BY claim_id LIMIT 60)`;
    await sql`DELETE FROM appointments
      WHERE appointment_id NOT IN (SELECT appointment_id FROM appointments ORDER BY appointment_id LIMIT 60)`;
  });
}

/** A door that writes down the paths it was used for. */
export function openDoor(address: string, signal = new AbortController().signal): Door & { calls: string[] } {
  const outbound: Outbound = createOutbound({ sandbox: true, allow: [] });
  const calls: string[] = [];
  const fetch: Outbound['fetch'] = (url, request) => {
    calls.push(`${request.method} ${new URL(url).pathname}`);
    return outbound.fetch(url, request);
  };
  return { address, signal, calls, outbound: { ...outbound, fetch } };
}

export async function signedInGrant(place: Place): Promise<Grant> {
  const answer = await larkspur.signIn(openDoor(place.emr.url), place.credentials, place.code());
  if (answer.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(answer)}`);
  return answer.grant;
}

/** Everything Larkspur offers, open; `kept` are the grants that were handed back. */
export function openOperations(door: Door, credentials: Access['credentials'], grant: Grant) {
  const kept: Grant[] = [];
  const keepGrant = async (renewed: Grant) => void kept.push(renewed);
  // The connector offers every operation there is; a test in larkspur.test.ts holds it to that.
  const emr = larkspur.open(door, { credentials, grant, keepGrant }) as Operations;
  return { emr, kept };
}

export async function gather<T>(list: AsyncIterable<T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of list) all.push(...page);
  return all;
}

/** The failure a call ends with. That it ended well is a failure of the test. */
export async function failureOf(work: Promise<unknown>): Promise<EmrFailure> {
  const outcome = await work.then(
    (value) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof EmrFailure) return outcome;
  throw outcome;
}

export type Expected = { kind: EmrFailureKind; message: string; retry_after_ms?: number };

/** What the faults of Larkspur are to a read. */
export const met = {
  error_500: { kind: 'unavailable', message: 'Larkspur answered with an error (500).' },
  error_429: { kind: 'unavailable', message: 'Larkspur asks for fewer requests.', retry_after_ms: 1000 },
  broke_off: { kind: 'unavailable', message: 'The connection to Larkspur broke off.' },
  unreadable: { kind: 'unavailable', message: 'Larkspur gave an answer that could not be read.' },
} satisfies Record<string, Expected>;

export function expectNoSecret(error: unknown, { password = '' }: Credentials, grant: Grant = {}): void {
  for (const secret of [password, ...Object.values(grant)]) expect(everythingOf(error)).not.toContain(secret);
}

/** All that could ever be written of an error: its fields, its stack, and those of its causes. */
function everythingOf(error: unknown): string {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && chain.length < 20; at = at instanceof Error ? at.cause : undefined) {
    chain.push(at);
  }
  return chain.map((one) => JSON.stringify(one) + inspect(one, { depth: 10, showHidden: true })).join('\n');
}

export type LyingAnswer = {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  raw?: string | Buffer;
};

/** A server that says whatever a test wants: Larkspur itself is honest. */
export async function lie(answer: (request: IncomingMessage & { body: string }) => LyingAnswer) {
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { status = 200, headers = {}, json, raw } = answer(Object.assign(request, { body }));
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
