import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newClient } from '../api/support.ts';
import { redirectUri } from '../harness/fhir/registrations.ts';
import type { FhirServer } from '../harness/fhir/startFhirServer.ts';
import {
  allowOn,
  foreignBytes,
  type SeveralHosts,
  startSeveralHosts,
  type TestClient,
} from '../linking/severalHosts.ts';

let hosts: SeveralHosts;
let clients: TestClient[];
beforeAll(async () => {
  // The syncs of the linked accounts must send nothing to another server either; what they read does not matter.
  hosts = await startSeveralHosts({ data: 'none', sync_after_link: true });
  const mine = { client_id: hosts.fixture.sandbox.client_id, api: hosts.fixture.api };
  clients = [mine, await newClient(hosts.fixture)];
});
afterEach(async () => {
  for (const server of [hosts.meadow, hosts.larch, hosts.hostile]) server.reset();
  await hosts.removeApps();
});
afterAll(() => hosts.close());

/** Every way to sign in, with an EMR app and with what a person enters. */
const ways = [
  { way: 'backend_services', app: true },
  { way: 'client_secret', app: true },
  { way: 'client_secret', app: false },
  { way: 'authorization_code', app: true },
  { way: 'authorization_code', app: false },
  { way: 'bearer_token', app: false },
] as const;
type Way = (typeof ways)[number];

/** What the hostile server publishes about itself: endpoints of an honest one. */
const disguises: Record<string, (honest: FhirServer) => Record<string, unknown>> = {
  'its token endpoint': ({ issuer }) => ({ token_endpoint: `${issuer}/token` }),
  'its sign-in page': ({ issuer }) => ({ authorization_endpoint: `${issuer}/authorize`, issuer: undefined }),
  'all of its endpoints': ({ issuer }) => ({
    ...{ issuer, token_endpoint: `${issuer}/token`, authorization_endpoint: `${issuer}/authorize` },
    ...{ revocation_endpoint: `${issuer}/revoke` },
  }),
};

/** Registers a client of its own at a server, so that each secret and client ID is known to belong there. */
async function register({ way, app }: Way, client: TestClient, server: FhirServer): Promise<Record<string, string>> {
  const client_id = `${way}-${app ? 'app' : 'typed'}-${client.client_id}-${new URL(server.url).port}`;
  const client_secret = `secret-of-${client_id}`;
  const { base_url } = hosts.fixture.sandbox;
  const credentials: Record<string, Record<string, string>> = {
    backend_services: { way, client_id },
    client_secret: { way, client_id, client_secret },
    authorization_code: { way, client_id, app_secret: client_secret },
    bearer_token: { way, bearer_token: way === 'bearer_token' ? server.bearerToken() : '' },
  };
  const chosen = credentials[way] ?? {};
  const id = app ? await hosts.addApp(client, server, chosen) : undefined;
  const callback =
    id === undefined
      ? await redirectUri(hosts.fixture, server.url, client.client_id)
      : `${base_url}/link/v1/oauth/callback/${id}`;
  server.register({
    client_id,
    ...(way === 'backend_services' && { jwks_url: `${base_url}/.well-known/jwks/${client.client_id}/${id}.json` }),
    ...(way !== 'backend_services' && { client_secret, redirect_uris: [callback] }),
  });
  return app ? {} : chosen;
}

/** Signs in as Link does, by whatever page the person is sent to. Returns the status. */
async function attempt(way: Way, client: TestClient, server: FhirServer, entered: Record<string, string>) {
  const link_token = await hosts.linkToken(client, server, {
    user_id: client.client_id,
    org_id: `${way.way}-${Math.random()}`,
  });
  if (way.way !== 'authorization_code') return hosts.signIn(link_token, entered);
  const started = await hosts.startPage(link_token, entered);
  if (started.status !== 200) return started;
  const { url, window } = started.body;
  const page_server = [hosts.meadow, hosts.larch, hosts.hostile].find((each) => url.startsWith(each.issuer));
  const returned = page_server && (await allowOn(page_server, url));
  if (!returned) throw new Error('The page did not return.');
  const finished = await hosts.finishPage(returned, window);
  return finished.status === 200 ? hosts.signIn(link_token, { way: way.way }) : finished;
}

/** Requests to the authorization server, and what it issued. Syncs of linked accounts go on meanwhile. */
const countContacts = ({ ledger, issued }: FhirServer) => ({
  requests: ledger.filter(({ path }) => path.startsWith('/auth/')).length,
  issued: issued.length,
});

const secretsAt = (servers: readonly FhirServer[]) =>
  servers.flatMap(({ url }) =>
    clients.flatMap(({ client_id }) =>
      ways.map(({ way, app }) => `secret-of-${way}-${app ? 'app' : 'typed'}-${client_id}-${new URL(url).port}`),
    ),
  );

test.each(ways)(
  'promise 45: $way (EMR app: $app) gives no server anything of another',
  {
    timeout: 600_000,
  },
  async (way) => {
    const { meadow, larch, hostile } = hosts;
    const servers = [meadow, larch, hostile];
    for (const client of clients) {
      const entered = new Map<FhirServer, Record<string, string>>();
      for (const server of servers) entered.set(server, await register(way, client, server));
      for (const honest of [meadow, larch]) {
        const linked = await attempt(way, client, honest, entered.get(honest) ?? {});
        expect([linked.status, linked.body.code], JSON.stringify(linked.body)).toEqual([200, undefined]);
        for (const [name, disguise] of Object.entries(disguises)) {
          Object.assign(hostile.published, disguise(honest));
          const before = countContacts(honest);
          const result = await attempt(way, client, hostile, entered.get(hostile) ?? {});
          // A token that a person enters needs no endpoint. A page is not used by the others.
          const harmless =
            way.way === 'bearer_token' || (name === 'its sign-in page' && way.way !== 'authorization_code');
          expect(result.status, `${name}: ${JSON.stringify(result.body)}`).toBe(harmless ? 200 : 400);
          // The honest server is not even asked, so that nothing of the hostile one reaches it either.
          expect(countContacts(honest), name).toEqual(before);
          hostile.reset();
        }
      }
      await hosts.removeApps();
    }
    for (const server of servers) {
      const others = servers.filter((each) => each !== server);
      expect(foreignBytes(server, others, secretsAt(others)), new URL(server.url).hostname).toEqual([]);
    }
    // The check would notice: what a server issued does reach that server.
    expect(foreignBytes(meadow, [meadow], secretsAt([meadow])).length).toBeGreaterThan(0);
  },
);
