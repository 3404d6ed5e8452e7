import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { capabilityStatement, handleFhir } from './fhirRoutes.ts';
import { createOAuth, type RegisteredClient } from './oauth.ts';
import { createPractice, type Practice } from './practice.ts';
import { handleRest, neededScope, type Reply } from './restRoutes.ts';

/** One request that was handled. `performed`: a write that OpenEMR stored, whatever happened to its response. */
export type Entry = {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  status: number;
  performed: boolean;
};

/**
 * What happens to the next request that matches. `lost`: it is performed, and the connection breaks. `hang`: there is no
 * response, before or after it is performed.
 */
export type Incident = { method: string; path: RegExp; kind: 'lost' | 'broken' | 'error' | 'hang' | 'hang_after' };

export type OpenEmrServer = {
  /** What a person enters: `http://127.0.0.1:21300`, with `/apis/<site id>` for another site. */
  url: string;
  practice: Practice;
  ledger: Entry[];
  /** Writes in progress, and the most that there were. */
  writing: { now: number; most: number };
  fail(incident: Incident): void;
  /** Before each write is performed. */
  holdWrites(hold: ((entry: Entry) => Promise<void>) | undefined): void;
  client: RegisteredClient;
  /** From now on, requests that need this scope are refused. */
  revokeScope(scope: string): void;
  /** From now on, the API does not have these paths. */
  withoutRoute(path: RegExp): void;
  /** Signs in on the page like a person, and returns the redirect back. Undefined if the page shows an error. */
  signInOnPage(url: string, person?: { username: string; password: string }): Promise<URL | undefined>;
  expireTokens(which: 'access' | 'all'): void;
  close(): Promise<void>;
};

export const redirect_uri = 'http://127.0.0.1:9/link/return';

/** OpenEMR 7.0.2 as it was seen to behave: its own API, its FHIR half, and its login page. */
export async function startOpenEmr({
  site = 'default',
  path = '',
  redirect_uris = [redirect_uri],
}: {
  site?: string;
  path?: string;
  redirect_uris?: readonly string[];
} = {}): Promise<OpenEmrServer> {
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const installation = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const apis = `${path}/apis/${site}`;
  const issuer = `${installation}/oauth2/${site}`;
  const practice = createPractice();
  const client: RegisteredClient = {
    client_id: 'chartwire-clinic',
    client_secret: 'synthetic-secret-51c0ffee',
    redirect_uris: [...redirect_uris],
    scopes: [...default_scopes],
    enabled: true,
  };
  const oauth = await createOAuth(issuer, practice, new Map([[client.client_id, client]]));
  const ledger: Entry[] = [];
  const incidents: Incident[] = [];
  const writing = { now: 0, most: 0 };
  const revoked = new Set<string>();
  const missing_routes: RegExp[] = [];
  let hold: ((entry: Entry) => Promise<void>) | undefined;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const url = new URL(request.url ?? '/', installation);
    const { method = '', headers } = request;
    const entry: Entry = { method, path: url.pathname + url.search, headers, status: 0, performed: false };
    ledger.push(entry);
    const at = incidents.findIndex((each) => each.method === entry.method && each.path.test(entry.path));
    const [incident] = at < 0 ? [] : incidents.splice(at, 1);
    if (incident?.kind === 'broken') return void response.destroy();
    if (incident?.kind === 'hang') return;
    if (incident?.kind === 'error')
      return send(response, entry, { status: 500, type: 'text/html', body: '<b>Fatal error</b>' });
    const reply = await respond(request, url, body, entry);
    entry.performed = entry.method !== 'GET' && reply.status < 300;
    entry.status = reply.status;
    if (incident?.kind === 'lost') return void response.destroy();
    if (incident?.kind === 'hang_after') return;
    send(response, entry, reply);
  }

  async function respond(
    { method = '', headers }: IncomingMessage,
    url: URL,
    body: Buffer,
    entry: Entry,
  ): Promise<Reply & { location?: string }> {
    const { pathname, searchParams: query } = url;
    if (pathname.startsWith(`${path}/oauth2/${site}/`)) {
      const route = pathname.slice(`${path}/oauth2/${site}/`.length);
      return oauth.handle(method, route, { query, body: body.toString(), authorization: headers.authorization });
    }
    const configuration = oauth.configuration();
    if (pathname === `${apis}/fhir/metadata`) {
      const { authorization_endpoint: authorize, token_endpoint: token } = configuration;
      return json(200, capabilityStatement({ authorize, token }));
    }
    if (pathname === `${apis}/fhir/.well-known/smart-configuration`) return json(200, configuration);
    const half = /^\/(fhir|api)\/(.+)$/.exec(pathname.startsWith(apis) ? pathname.slice(apis.length) : '');
    if (!half) return { status: 404, type: 'text/html', body: '' };
    const bearer = oauth.bearer(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '');
    if (!bearer) return json(401, { error: 'access_denied', hint: 'Missing or invalid token' });
    const segments = (half[2] ?? '').split('/').map(decodeURIComponent);
    const granted = bearer.scope.split(' ').filter((scope) => !revoked.has(scope));
    if (half[1] === 'fhir') {
      // A missing scope has no body.
      if (!granted.includes(`user/${segments[0]}.read`)) return { status: 401, type: 'text/html', body: '' };
      return handleFhir(practice, segments, query);
    }
    if (!granted.includes(neededScope({ method, path: segments }))) return { status: 401, type: 'text/html', body: '' };
    if (missing_routes.some((route) => route.test(pathname))) return { status: 404, type: 'text/html', body: '' };
    const rest = { method, path: segments, query, body, type: headers['content-type'] ?? '' };
    if (method === 'GET') return handleRest(practice, rest);
    writing.now++;
    writing.most = Math.max(writing.most, writing.now);
    try {
      await hold?.(entry);
      return await handleRest(practice, rest);
    } finally {
      writing.now--;
    }
  }

  return {
    url: `${installation}${site === 'default' ? '' : `/apis/${site}`}`,
    practice,
    ledger,
    writing,
    fail: (incident) => void incidents.push(incident),
    holdWrites: (next) => {
      hold = next;
    },
    client,
    revokeScope: (scope) => void revoked.add(scope),
    withoutRoute: (route) => void missing_routes.push(route),
    signInOnPage: async (url, person = { username: 'quill', password: 'pass-quill' }) => {
      const shown = await fetch(url, { redirect: 'manual' });
      const refused = shown.headers.get('location');
      if (refused !== null) return new URL(refused);
      const html = await shown.text();
      const [, action = ''] = /action="([^"]+)"/.exec(html) ?? [];
      const [, page = ''] = /name="page" value="([^"]+)"/.exec(html) ?? [];
      if (action === '') return undefined;
      const form = new URLSearchParams({ page, ...person });
      const signed_in = await fetch(action, { method: 'POST', body: form, redirect: 'manual' });
      const back = signed_in.headers.get('location');
      return back === null ? undefined : new URL(back);
    },
    expireTokens: oauth.expire,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

/** What the guide says to register. */
const default_scopes = [
  'openid',
  'fhirUser',
  'offline_access',
  'api:oemr',
  'api:fhir',
  'user/Patient.read',
  'user/Practitioner.read',
  'user/Encounter.read',
  'user/DocumentReference.read',
  'user/MedicationRequest.read',
  'user/Medication.read',
  'user/Organization.read',
  'user/patient.read',
  'user/patient.write',
  'user/appointment.read',
  'user/appointment.write',
  'user/encounter.read',
  'user/encounter.write',
  'user/soap_note.read',
  'user/soap_note.write',
  'user/document.read',
  'user/document.write',
  'user/message.write',
  'user/facility.read',
  'user/practitioner.read',
  'user/user.read',
  'user/list.read',
];

function send(
  response: ServerResponse,
  entry: Entry,
  { status, type, body, location }: Reply & { location?: string },
): void {
  entry.status = status;
  response.writeHead(status, { 'content-type': type, ...(location && { location }) }).end(body);
}

function json(status: number, body: unknown): Reply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}
