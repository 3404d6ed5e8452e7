import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { ResourceType } from '@medplum/fhirtypes';
import type * as fhir from 'fhir/r4.js';
import { createAuthorize, type Person, type RegisteredClient } from './authorize.ts';
import { type AuthServer, createAuthServer } from './authRoutes.ts';
import { type BulkServer, createBulkServer } from './bulkExports.ts';
import { capabilityStatement } from './capabilityStatement.ts';
import {
  default_behavior,
  type FaultSwitches,
  fault_responses,
  type HttpResponse,
  type Incident,
  nextIncident,
} from './faults.ts';
import { exceedsBudget, handleFhirRequest, json, outcome, type Store } from './fhirRoutes.ts';
import { loadDefinitions } from './loadDefinitions.ts';
import { createTurns } from './offers.ts';
import { seedPractice } from './practice/practice.ts';
import type { PracticeSize } from './practice/sizes.ts';
import { CheckedRepository } from './repository.ts';
import { createSearches } from './searches.ts';
import { createTokens } from './tokens.ts';

export type { FaultSwitches, Incident } from './faults.ts';

/** One entry of the ledger. `performed`: a write that changed a record, whatever happened to its response. */
export type Entry = {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string | undefined>;
  body: string;
  status: number;
  performed: boolean;
};

/** An entry whose request was handled, with its result and the person whose access token it was sent with. */
export type HandledEntry = Entry & { user: string | undefined };

export type FhirServer = {
  /** The FHIR base: `http://127.0.0.1:21200/fhir/R4`. */
  url: string;
  issuer: string;
  /** Set at run time. `reset` restores the defaults and drops pending incidents. */
  faults: FaultSwitches;
  fail(incident: Incident): void;
  reset(): void;
  /** Every request since the start, oldest first. */
  ledger: Entry[];
  /** Writes in progress, and the most that there were since the test set it. */
  writing: { now: number; most: number };
  /** The writes among them, to detect lost or duplicate writes. */
  writes(type?: string): Entry[];
  resources<T extends fhir.FhirResource>(type: T['resourceType']): Promise<T[]>;
  bulk: Pick<BulkServer, 'exports' | 'running_most' | 'forget'>;
  /** Stores a resource without any checks. */
  storeUnchecked(resource: fhir.FhirResource): Promise<void>;
  remove(type: string, id: string): Promise<void>;
  clients: { confidential: { client_id: string; client_secret: string }; public: { client_id: string } };
  people: readonly Person[];
  /** Overrides of the published metadata, by which a hostile server names the endpoints of another one. */
  published: Record<string, unknown>;
  /** The issuer that the sign-in page returns (RFC 9207). */
  page: { iss?: string };
  /** Every token and code that was issued. */
  issued: string[];
  register(client: RegisteredClient): void;
  /** A token issued by hand. */
  bearerToken(): string;
  /** The tokens of a person who signed in on the EMR's page, issued by hand to the public client. */
  personTokens(): { access_token: string; refresh_token: string };
  /** How often each refresh token was sent, those that were refused included. */
  redemptions: ReadonlyMap<string, number>;
  /** The user name of the person that a token was issued to. */
  findUser(token: string): string | undefined;
  /** Ends everything that a person's sign-ins were issued, as an administrator of the EMR does. */
  endSignIns(username: string): void;
  /** Ends all access tokens. `all`: refresh tokens too, so that a person is needed. */
  expireTokens(which: 'access' | 'all'): void;
  close(): Promise<void>;
};

export type FhirServerOptions = {
  port?: number;
  /** The host name that the server uses for itself, for tests with several hosts. Default: its IP address. */
  name?: string;
  /** Defaults to `none`. */
  data?: PracticeSize;
  /** The redirect URIs of the public client. */
  redirect_uris?: readonly string[];
  /** Called for each request after it was performed, in the order in which that happened, before the response is sent. */
  onHandled?: (entry: HandledEntry) => void;
};

const mount = '/fhir/R4';

/** An independent FHIR R4 server: Medplum's router, search and validation behind the HTTP code of this folder. */
export async function startFhirServer(options: FhirServerOptions = {}): Promise<FhirServer> {
  await loadDefinitions();
  const server = createServer((request, response) => void handle(request, response));
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://${options.name ?? '127.0.0.1'}:${(server.address() as AddressInfo).port}`;
  const base = origin + mount;
  const issuer = `${origin}/auth`;
  const faults: FaultSwitches = structuredClone(default_behavior);
  const incidents: Incident[] = [];
  const ledger: Entry[] = [];
  const repo = new CheckedRepository(faults);
  await seedPractice(repo, options.data ?? 'none');
  const [published, page, issued]: [Record<string, unknown>, { iss?: string }, string[]] = [{}, {}, []];
  const tokens = createTokens(faults, issued);
  const clients = registerClients(options.redirect_uris ?? []);
  const authorize = createAuthorize({ clients, people, base, faults, page, issued });
  const auth = await createAuthServer({ faults, issuer, clients, tokens, authorize, published });
  const writing = { now: 0, most: 0 };
  const minute = { starts_ms: 0, requests: 0 };
  const searches = createSearches(repo, base, faults);
  const list = (type: string) => repo.searchResources({ resourceType: type as ResourceType });
  const bulk = createBulkServer(faults, base, async (type) => (faults.hidden.includes(type) ? [] : list(type)));
  const store: Store = { repo, searches, faults, base, creating: 0, writing, minute, offers: createTurns() };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const url = new URL(request.url ?? '/', origin);
    const entry = toEntry(request, url, body);
    ledger.push(entry);
    const incident = nextIncident(incidents, entry.method, entry.path);
    if (faults.latency_ms > 0) await wait(faults.latency_ms);
    const result = incident && !incident.performed ? undefined : await respondTo(entry, url, body);
    entry.performed = result !== undefined && isStored(entry, result);
    options.onHandled?.({ ...entry, status: result?.status ?? 0, user: tokens.findUser(readBearer(entry)) });
    send(response, entry, result, incident);
  }

  async function respondTo({ method, headers }: Entry, url: URL, body: Buffer): Promise<HttpResponse> {
    if (exceedsBudget(store)) return fault_responses.too_many;
    const below = url.pathname.slice(mount.length + 1);
    if (!url.pathname.startsWith(mount)) {
      return (await auth.handle({ method, url, headers, body: body.toString() })) ?? outcome(404, 'not-found');
    }
    if (method === 'GET' && (below === 'metadata' || below === '.well-known/smart-configuration')) {
      return below === 'metadata' ? json(200, capabilityStatement(faults, readOauth(auth))) : configuration(auth);
    }
    const authorized = tokens.accepts(readBearer({ headers }));
    const exported = await bulk.handle({ method, url, headers }, authorized);
    if (exported) return exported;
    if (!authorized) return fault_responses.unauthorized;
    if (faults.forbidden.some((type) => below.split('/')[0] === type)) return outcome(403, 'forbidden');
    return handleFhirRequest(store, { method, path: below + url.search, headers, body });
  }

  return {
    url: base,
    issuer,
    faults,
    fail: (incident) => void incidents.push({ ...incident }),
    reset: () => {
      incidents.length = 0;
      minute.requests = 0;
      Object.assign(faults, structuredClone(default_behavior));
      delete faults.bulk;
      for (const name of Object.keys(published)) delete published[name];
      delete page.iss;
    },
    ledger,
    writing,
    writes: (type) => ledger.filter(({ performed, path }) => performed && path.startsWith(`${mount}/${type ?? ''}`)),
    // The type was requested by the caller.
    bulk,
    resources: async <T extends fhir.FhirResource>(type: T['resourceType']) => (await list(type)) as unknown as T[],
    storeUnchecked: async (resource) => void (await repo.storeUnchecked(resource)),
    remove: async (type, id) => {
      await repo.deleteResource(type, id);
      bulk.noteDeleted(type, id);
    },
    clients: { confidential, public: { client_id: public_client_id } },
    people,
    published,
    page,
    issued,
    register: (client) => void clients.set(client.client_id, client),
    bearerToken: () =>
      tokens.issue({ client_id: 'by-hand', scope: 'user/*.*', user: undefined }, { refresh: false }).access_token,
    personTokens: () => {
      const bearer = { client_id: public_client_id, scope: 'user/*.* offline_access', user: people[0]?.username };
      const { access_token, refresh_token = '' } = tokens.issue(bearer, { refresh: true });
      return { access_token, refresh_token };
    },
    redemptions: tokens.redemptions,
    findUser: tokens.findUser,
    endSignIns: tokens.endSignIns,
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
  { username: 'robin.hale', password: 'meadow-Alder-5582', name: 'Robin Hale', fhir_user: 'Practitioner/prac-2' },
];
const confidential = { client_id: 'chartwire-confidential', client_secret: 'synthetic-secret-9f2c71' };
const public_client_id = 'chartwire-public';

function registerClients(redirect_uris: readonly string[]): Map<string, RegisteredClient> {
  const list: RegisteredClient[] = [confidential, { client_id: public_client_id, redirect_uris }];
  return new Map(list.map((client) => [client.client_id, client]));
}

function toEntry(request: IncomingMessage, url: URL, body: Buffer): Entry {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
  const path = url.pathname + url.search;
  return { method: request.method ?? '', path, headers, body: body.toString(), status: 0, performed: false };
}

/** A create that found a record by its condition (200) stored nothing. */
function isStored({ method, path }: Entry, { status, body }: HttpResponse): boolean {
  if (method === 'PUT' || method === 'PATCH') return status < 300;
  if (path.endsWith('/$book')) return status === 200 && body.includes('"status":"booked"');
  return method === 'POST' && !path.endsWith('/_search') && status === 201;
}

function readBearer({ headers }: Pick<Entry, 'headers'>): string {
  return /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
}

function readOauth(auth: AuthServer): { authorize: string; token: string } {
  const { authorization_endpoint, token_endpoint } = auth.discovery();
  return { authorize: String(authorization_endpoint), token: String(token_endpoint) };
}

function configuration({ discovery }: AuthServer): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(discovery()) };
}

/** Sends the response, or what the incident makes of it. */
function send(
  response: ServerResponse,
  entry: Entry,
  result: HttpResponse | undefined,
  incident: Incident | undefined,
): void {
  const kind = incident?.kind;
  if (kind === 'hang') return;
  if (kind === 'reset') return void response.destroy();
  const sent = kind && kind !== 'truncated' ? fault_responses[kind] : result;
  const { status, headers, body } = sent ?? outcome(500, 'exception');
  entry.status = status;
  if (kind !== 'truncated') return void response.writeHead(status, headers).end(body);
  response.writeHead(status, { ...headers, 'content-length': String(body.length + 100) });
  response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy());
}
