import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { ResourceType } from '@medplum/fhirtypes';
import type * as fhir from 'fhir/r4.js';
import { openAuthorize, type Person, type RegisteredClient } from './authorize.ts';
import { type AuthServer, openAuthServer } from './authRoutes.ts';
import { capabilityStatement } from './capabilityStatement.ts';
import { type Answer, type FaultSwitches, honest, type Incident, spoilt, takeIncident } from './faults.ts';
import { answerFhir, json, outcome, type Store } from './fhirRoutes.ts';
import { loadDefinitions } from './loadDefinitions.ts';
import { layPractice } from './practice/practice.ts';
import type { PracticeSize } from './practice/sizes.ts';
import { CheckedRepository } from './repository.ts';
import { openSearches } from './searches.ts';
import { openTokens } from './tokens.ts';

export type { FaultSwitches, Incident } from './faults.ts';

/** One line of the ledger. `performed`: a write that changed what the server holds, whatever its answer became. */
export type Entry = {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string | undefined>;
  body: string;
  status: number;
  performed: boolean;
};

export type FhirServer = {
  /** The FHIR base: `http://127.0.0.1:21200/fhir/R4`. */
  url: string;
  issuer: string;
  /** Set at run time; `calm` sets all of them back and forgets incidents that have not happened. */
  faults: FaultSwitches;
  fail(incident: Incident): void;
  calm(): void;
  /** Every request since the start, oldest first. */
  ledger: Entry[];
  /** Those that wrote: what a lost or doubled write shows in. */
  writes(type?: string): Entry[];
  resources<T extends fhir.FhirResource>(type: T['resourceType']): Promise<T[]>;
  /** Puts a resource there as it is, past every check. */
  lay(resource: fhir.FhirResource): Promise<void>;
  remove(type: string, id: string): Promise<void>;
  clients: { confidential: { client_id: string; client_secret: string }; public: { client_id: string } };
  people: readonly Person[];
  register(client: RegisteredClient): void;
  /** A token that was given out by hand, as some servers do. */
  bearerToken(): string;
  /** Ends all access tokens; `all`: refresh tokens too, so that a person is needed. */
  expireTokens(which: 'access' | 'all'): void;
  close(): Promise<void>;
};

export type FhirServerOptions = {
  port?: number;
  /** `none` unless told. */
  data?: PracticeSize;
  /** Where the public client may send a person back to. */
  redirect_uris?: readonly string[];
};

const mount = '/fhir/R4';

/** A FHIR R4 server nobody here wrote: Medplum's router, search and validation, behind the HTTP of this folder. */
export async function startFhirServer(options: FhirServerOptions = {}): Promise<FhirServer> {
  loadDefinitions();
  const server = createServer((request, response) => void handle(request, response));
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const base = origin + mount;
  const issuer = `${origin}/auth`;
  const faults: FaultSwitches = structuredClone(honest);
  const incidents: Incident[] = [];
  const ledger: Entry[] = [];
  const repo = new CheckedRepository();
  await layPractice(repo, options.data ?? 'none');
  const tokens = openTokens(faults);
  const clients = clientsOf(options.redirect_uris ?? []);
  const authorize = openAuthorize(clients, people, base);
  const auth = await openAuthServer({ issuer, clients, tokens, authorize });
  const store: Store = { repo, searches: openSearches(repo, base, faults), faults, base, creating: 0 };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const url = new URL(request.url ?? '/', origin);
    const entry = entryOf(request, url, body);
    ledger.push(entry);
    const incident = takeIncident(incidents, entry.method, entry.path);
    if (faults.latency_ms > 0) await wait(faults.latency_ms);
    const answer = incident && !incident.performed ? undefined : await answerOf(entry, url, body);
    const writes = ['POST', 'PUT'].includes(entry.method) && !entry.path.endsWith('/_search');
    entry.performed = answer !== undefined && writes && answer.status < 300;
    send(response, entry, answer, incident);
  }

  async function answerOf({ method, headers }: Entry, url: URL, body: Buffer): Promise<Answer> {
    const below = url.pathname.slice(mount.length + 1);
    if (!url.pathname.startsWith(mount)) {
      return (await auth.answer({ method, url, headers, body: body.toString() })) ?? outcome(404, 'not-found');
    }
    if (method === 'GET' && (below === 'metadata' || below === '.well-known/smart-configuration')) {
      return below === 'metadata' ? json(200, capabilityStatement(faults, oauthOf(auth))) : configuration(auth);
    }
    const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
    if (!token || !tokens.accepts(token)) return spoilt.unauthorized;
    if (faults.forbidden.some((type) => below.split('/')[0] === type)) return outcome(403, 'forbidden');
    return answerFhir(store, { method, path: below + url.search, headers, body });
  }

  return {
    url: base,
    issuer,
    faults,
    fail: (incident) => void incidents.push({ ...incident }),
    calm: () => {
      incidents.length = 0;
      Object.assign(faults, structuredClone(honest));
    },
    ledger,
    writes: (type) => ledger.filter(({ performed, path }) => performed && path.startsWith(`${mount}/${type ?? ''}`)),
    // The type is the one that was asked for.
    resources: async <T extends fhir.FhirResource>(type: T['resourceType']) =>
      (await repo.searchResources({ resourceType: type as ResourceType })) as unknown as T[],
    lay: async (resource) => void (await repo.lay(resource)),
    remove: (type, id) => repo.deleteResource(type, id),
    clients: { confidential, public: { client_id: public_client_id } },
    people,
    register: (client) => void clients.set(client.client_id, client),
    bearerToken: () =>
      tokens.issue({ client_id: 'by-hand', scope: 'user/*.*', user: undefined }, { refresh: false }).access_token,
    expireTokens: tokens.expire,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

const people: readonly Person[] = [
  {
    username: 'avery.fielding',
    password: 'meadow-Larch-4471',
    name: 'Avery Fielding',
    fhir_user: 'Practitioner/prac-1',
  },
];
const confidential = { client_id: 'chartwire-confidential', client_secret: 'synthetic-secret-9f2c71' };
const public_client_id = 'chartwire-public';

function clientsOf(redirect_uris: readonly string[]): Map<string, RegisteredClient> {
  const list: RegisteredClient[] = [confidential, { client_id: public_client_id, redirect_uris }];
  return new Map(list.map((client) => [client.client_id, client]));
}

function entryOf(request: IncomingMessage, url: URL, body: Buffer): Entry {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
  const path = url.pathname + url.search;
  return { method: request.method ?? '', path, headers, body: body.toString(), status: 0, performed: false };
}

function oauthOf({ discovery }: AuthServer): { authorize: string; token: string } {
  return { authorize: String(discovery.authorization_endpoint), token: String(discovery.token_endpoint) };
}

function configuration({ discovery }: AuthServer): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(discovery) };
}

/** Sends the answer, or what the incident makes of it. */
function send(
  response: ServerResponse,
  entry: Entry,
  answer: Answer | undefined,
  incident: Incident | undefined,
): void {
  const kind = incident?.kind;
  if (kind === 'hang') return;
  if (kind === 'reset') return void response.destroy();
  const sent = kind && kind !== 'truncated' ? spoilt[kind] : answer;
  const { status, headers, body } = sent ?? outcome(500, 'exception');
  entry.status = status;
  if (kind !== 'truncated') return void response.writeHead(status, headers).end(body);
  response.writeHead(status, { ...headers, 'content-length': String(body.length + 100) });
  response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy());
}
