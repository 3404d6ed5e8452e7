import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findProblems } from '../../src/product/alerts/conditions.ts';
import { readQueueDepth } from '../../src/product/jobs/queueDepth.ts';
import { apiAs, newClient, type OtherClient } from '../api/support.ts';
import { appFor, redirectUri, sandboxKeySet } from '../harness/fhir/registrations.ts';
import type { FhirServer } from '../harness/fhir/startFhirServer.ts';
import { until } from '../journeys/support.ts';
import { allowOn, foreignBytes, type SeveralHosts, startSeveralHosts, type TestClient } from './severalHosts.ts';

let hosts: SeveralHosts;
let mine: TestClient;
let theirs: OtherClient;
beforeAll(async () => {
  hosts = await startSeveralHosts();
  mine = { client_id: hosts.fixture.sandbox.client_id, api: hosts.fixture.api };
  theirs = await newClient(hosts.fixture);
});
afterEach(async () => {
  for (const server of [hosts.meadow, hosts.larch, hosts.hostile]) server.reset();
  await hosts.removeApps();
});
afterAll(() => hosts.close());

const tokenRequests = (server: FhirServer) => server.ledger.filter(({ path }) => path === '/auth/token').length;
const keySet = (client: TestClient, app_id: string) =>
  `${hosts.fixture.sandbox.base_url}/.well-known/jwks/${client.client_id}/${app_id}.json`;
const bySecret = (client_id: string, client_secret = 'synthetic-secret') => ({
  way: 'client_secret',
  client_id,
  client_secret,
});

/** Links by a configured app and returns the API of the account. */
async function linkByApp(server: FhirServer, who: { user_id: string; org_id: string }) {
  const linked = await hosts.signIn(await hosts.linkToken(mine, server, who));
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  const access_token: string = (await hosts.steps.exchange(linked.body.public_token)).body.token;
  return { ...apiAs(hosts.fixture, { access_token }), access_token };
}

describe('a signing key', () => {
  test('the signing key of one client does not sign for the client ID that another client has registered', async () => {
    const { meadow, fixture, steps, owner } = hosts;
    const credentials = { way: 'backend_services', client_id: 'registered-by-me' };
    const id = await hosts.addApp(mine, meadow, credentials);
    meadow.register({ client_id: 'registered-by-me', jwks_url: keySet(mine, id) });
    await linkByApp(meadow, { user_id: 'by-key', org_id: 'by-key' });

    const before = tokenRequests(meadow);
    const typed = await hosts.signIn(await hosts.linkToken(theirs, meadow), credentials);
    expect([typed.status, typed.body.code]).toEqual([409, 'emr_app_required']);
    expect(typed.body.message).toContain('An owner must add one for meadow.vendor.example');
    expect(tokenRequests(meadow)).toBe(before);
    const app = await owner.post(`clients/${theirs.client_id}/emr-apps`, appFor(meadow.url, credentials));
    expect([app.status, app.body.code]).toEqual([409, 'emr_app_pair_taken']);
    // The sandbox lets tests sign in without an app, with the client's own keys.
    const link_token = await hosts.linkToken(theirs, meadow);
    const body = { credentials, one_time_code: undefined };
    const tried = await steps.signIn(link_token, 0, body, theirs.api);
    expect([tried.status, tried.body.code]).toEqual([400, 'emr_key_refused']);
    expect(tried.body.message).toContain(sandboxKeySet(fixture, theirs.client_id));
    const session = await theirs.api.call('GET', '/link/v1/session', {
      headers: { access_token: null, 'link-token': await hosts.linkToken(theirs, meadow) },
    });
    expect(session.body.ways.map(({ name }: { name: string }) => name)).not.toContain('backend_services');
  });

  test('signs nothing for the token endpoint of another EMR that a server names', async () => {
    const { meadow, hostile } = hosts;
    for (const [server, client_id] of [
      [meadow, 'key-at-meadow'],
      [hostile, 'key-at-hostile'],
    ] as const) {
      const id = await hosts.addApp(mine, server, { way: 'backend_services', client_id });
      for (const each of [meadow, hostile]) each.register({ client_id, jwks_url: keySet(mine, id) });
    }
    hostile.published.token_endpoint = `${meadow.issuer}/token`;
    const before = tokenRequests(meadow);
    const refused = await hosts.signIn(await hosts.linkToken(mine, hostile));
    expect([refused.status, refused.body.code]).toEqual([400, 'emr_sign_in_refused']);
    expect(refused.body.message).toContain(`The server names the token endpoint ${meadow.issuer}/token`);
    expect(refused.body.message).toContain('Nothing was sent.');
    expect(tokenRequests(meadow)).toBe(before);
    expect(foreignBytes(hostile, [meadow], [])).toEqual([]);
  });

  test('is published per client and EMR app, and nowhere else', async () => {
    const { fixture, meadow } = hosts;
    const id = await hosts.addApp(mine, meadow, { way: 'backend_services' });
    const get = (path: string) => fixture.api.call('GET', path, { headers: { access_token: null } });
    const published = await get(`/.well-known/jwks/${mine.client_id}/${id}.json`);
    expect(published.body).toEqual((await get(`/.well-known/jwks/${mine.client_id}/sandbox.json`)).body);
    expect(published.body.keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(['ES384', 'RS384']);
    for (const path of [
      '/.well-known/jwks.json',
      `/.well-known/jwks/${mine.client_id}/${'0'.repeat(32)}.json`,
      `/.well-known/jwks/${mine.client_id}/other.json`,
      `/.well-known/jwks/${theirs.client_id}/${id}.json`,
      `/.well-known/jwks/ci_test_nobody/${id}.json`,
    ]) {
      expect((await get(path)).status, path).toBe(404);
    }
  });

  test('the signing key of an account that was linked without an EMR app is not used anymore, until it is linked with one', async () => {
    const { meadow, steps, fixture } = hosts;
    const credentials = { way: 'backend_services', client_id: 'linked-before' };
    meadow.register({ client_id: 'linked-before', jwks_url: sandboxKeySet(fixture) });
    const who = { user_id: 'linked-before', org_id: 'linked-before' };
    const first = await steps.signIn(await hosts.linkToken(mine, meadow, who), 0, { credentials });
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const access_token = (await steps.exchange(first.body.public_token)).body.token;
    const api = apiAs(fixture, { access_token });
    await api.sync();
    // As in production: only there such accounts stem from earlier versions.
    const { config } = fixture.ctx;
    fixture.ctx.config = { ...config, sandbox: false };
    onTestFinished(() => {
      fixture.ctx.config = config;
    });
    const before = meadow.ledger.length;
    await api.call('POST', '/v1/sync', { body: {} });
    await until('the account to expire', async () => (await api.call('GET', '/v1/patients')).status === 403);
    expect(meadow.ledger.length).toBe(before);
    const headers = { access_token: null };
    const relink = () => fixture.api.call('POST', '/link/token/create', { body: { ...who, access_token }, headers });
    const refused = await relink();
    expect([refused.status, refused.body.code]).toEqual([409, 'emr_app_required']);
    const other = await hosts.addApp(mine, meadow, { ...credentials, client_id: 'another' });
    expect((await relink()).status).toBe(409);
    await fixture.owner`DELETE FROM emr_apps WHERE id = ${other}`;
    const id = await hosts.addApp(mine, meadow, credentials);
    meadow.register({ client_id: 'linked-before', jwks_url: keySet(mine, id) });
    const relinked = await hosts.signIn((await relink()).body.token);
    expect(relinked.status, JSON.stringify(relinked.body)).toBe(200);
    expect((await api.call('GET', '/v1/patients')).status).toBe(200);
  });
});

describe('a sign-in page', () => {
  const typed = { way: 'authorization_code', client_id: 'by-page' };
  const readCallback = (url: string) => new URL(new URL(url).searchParams.get('redirect_uri') ?? '');

  async function started(server: FhirServer) {
    const link_token = await hosts.linkToken(mine, server);
    const response = await hosts.startPage(link_token, typed);
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const { url, window } = response.body as { url: string; window: string };
    server.register({ client_id: 'by-page', redirect_uris: [readCallback(url).href] });
    return { link_token, url, window };
  }

  test.each(['token_endpoint', 'authorization_endpoint'] as const)(
    'is not opened if the server names the %s of another EMR',
    async (name) => {
      const { meadow, hostile } = hosts;
      hostile.published[name] = `${meadow.issuer}/${name === 'token_endpoint' ? 'token' : 'authorize'}`;
      const refused = await hosts.startPage(await hosts.linkToken(mine, hostile), typed);
      expect([refused.status, refused.body.code]).toEqual([400, 'emr_sign_in_refused']);
      expect(refused.body.message).toContain('which is not on its own host');
    },
  );

  test('a hostile sign-in page that sends the person on to an honest one gets neither the code nor the verifier', async () => {
    const { meadow, hostile } = hosts;
    hostile.published.issuer = undefined;
    meadow.page.iss = meadow.issuer;
    const { url, window } = await started(hostile);
    // The hostile page sends the person on to the honest one, with the state of this sign-in.
    const honest = new URL(`${meadow.issuer}/authorize?${new URL(url).searchParams}`);
    honest.searchParams.set('aud', meadow.url);
    meadow.register({ client_id: 'by-page', redirect_uris: [readCallback(url).href] });
    const returned = await allowOn(meadow, honest);
    expect(returned?.searchParams.get('code')).toBeTruthy();
    if (!returned) throw new Error('not returned');
    const refused = await hosts.finishPage(returned, window);
    expect([refused.status, refused.body.code]).toEqual([400, 'emr_sign_in_refused']);
    expect(refused.body.message).toContain('another server than the sign-in page');
    expect(foreignBytes(hostile, [meadow], [])).toEqual([]);
    expect(tokenRequests(hostile)).toBe(0);
  });

  test('the sign-in page of one EMR cannot answer at the redirect URI of another', async () => {
    const { meadow, hostile } = hosts;
    const [at_meadow, at_hostile] = [await started(meadow), await started(hostile)];
    const [one, other] = [readCallback(at_meadow.url), readCallback(at_hostile.url)];
    expect(one.pathname).not.toBe(other.pathname);
    expect(readCallback((await started(meadow)).url).pathname).toBe(one.pathname);
    const honest = new URL(`${meadow.issuer}/authorize?${new URL(at_hostile.url).searchParams}`);
    honest.searchParams.set('aud', meadow.url);
    honest.searchParams.set('redirect_uri', one.href);
    const returned = await allowOn(meadow, honest);
    if (!returned) throw new Error('not returned');
    const refused = await hosts.finishPage(returned, at_hostile.window);
    expect([refused.status, refused.body.code]).toEqual([400, 'page_sign_in_mixed_up']);
    expect(tokenRequests(hostile)).toBe(0);
    // It cannot be repeated at the right one either.
    const again = await hosts.finishPage(returned, at_hostile.window, other.pathname.split('/').at(-1));
    expect(again.body.code).toBe('page_sign_in_unknown');
  });

  test('may name its issuer, on its own origin if the server publishes none', async () => {
    const { meadow } = hosts;
    for (const [issuer, iss, status] of [
      [meadow.issuer, meadow.issuer, 200],
      [meadow.issuer, `${meadow.issuer}/`, 400],
      [undefined, meadow.issuer, 200],
      [undefined, 'https://elsewhere.example', 400],
      ['https://elsewhere.example', 'https://elsewhere.example', 400],
    ] as const) {
      Object.assign(meadow.published, { issuer });
      meadow.page.iss = iss;
      const { url, window } = await started(meadow);
      const returned = await allowOn(meadow, url);
      if (!returned) throw new Error('not returned');
      expect((await hosts.finishPage(returned, window)).status, `${issuer} ${iss}`).toBe(status);
    }
    meadow.reset();
    meadow.published.authorization_response_iss_parameter_supported = true;
    const { url, window } = await started(meadow);
    const returned = await allowOn(meadow, url);
    if (!returned) throw new Error('not returned');
    expect((await hosts.finishPage(returned, window)).status).toBe(400);
  });
});

/** Signs in on the page of the server that is asked. Returns the response of Link after the page, or of its start. */
async function signInOnPage(link_token: string, entered: Record<string, string> = {}) {
  const started = await hosts.startPage(link_token, entered);
  if (started.status !== 200) return started;
  const { url, window } = started.body;
  const server = [hosts.meadow, hosts.larch, hosts.hostile].find((each) => url.startsWith(each.issuer));
  const at = new URL(url);
  // An authorization server for several FHIR servers: the one of the tests checks that the token is for its own.
  at.searchParams.set('aud', server?.url ?? '');
  const returned = server && (await allowOn(server, at));
  if (!returned) throw new Error('The page did not return.');
  const finished = await hosts.finishPage(returned, window);
  return finished.status === 200 ? hosts.signIn(link_token, { way: 'authorization_code' }) : finished;
}

/** Registers a client of a sign-in page, at the redirect URI of an app or of a link without one. */
async function registerPage(
  server: FhirServer,
  client: { client_id: string; client_secret?: string },
  app_id?: string,
) {
  const { fixture } = hosts;
  const callback =
    app_id === undefined
      ? await redirectUri(fixture, hosts.meadow.url, mine.client_id)
      : `${fixture.sandbox.base_url}/link/v1/oauth/callback/${app_id}`;
  server.register({ ...client, redirect_uris: [callback] });
}

/** Signs in on the page and returns the access token of the account. */
async function linkOnPage(server: FhirServer, body: object, entered: Record<string, string> = {}): Promise<string> {
  const linked = await signInOnPage(await hosts.linkToken(mine, server, body), entered);
  expect(linked.status, JSON.stringify(linked.body)).toBe(200);
  return (await hosts.steps.exchange(linked.body.public_token)).body.token;
}

/** What a server names after it has moved to the authorization server of another one. */
function publishEndpoints(server: FhirServer, { issuer }: FhirServer) {
  const endpoints = { token_endpoint: `${issuer}/token`, authorization_endpoint: `${issuer}/authorize` };
  Object.assign(server.published, { ...endpoints, issuer: undefined });
  return endpoints;
}

describe('a stored secret', () => {
  const way = 'authorization_code';

  test('a stored secret that a person entered is not sent to the token endpoint of an EMR app', async () => {
    const { meadow, larch } = hosts;
    const who = { user_id: 'entered-before', org_id: 'entered-before' };
    await registerPage(meadow, { client_id: 'entered', client_secret: 'secret-that-a-person-entered' });
    const entered = { way, client_id: 'entered', app_secret: 'secret-that-a-person-entered' };
    const access_token = await linkOnPage(meadow, who, entered);
    const endpoints = publishEndpoints(meadow, larch);
    const emr_app_id = await hosts.addApp(mine, meadow, { way, client_id: 'public-app' }, endpoints);
    await registerPage(larch, { client_id: 'public-app' }, emr_app_id);
    const before = tokenRequests(larch);
    await signInOnPage(await hosts.linkToken(mine, meadow, { ...who, access_token, emr_app_id }));
    expect(tokenRequests(larch)).toBe(before + 1);
    expect(foreignBytes(larch, [], ['secret-that-a-person-entered'])).toEqual([]);
  });

  test('a stored secret of an EMR app is not sent anywhere after its owner has removed it', async () => {
    const { meadow, larch, owner } = hosts;
    const who = { user_id: 'removed-secret', org_id: 'removed-secret' };
    const client_id = 'removed-secret';
    const credentials = { way, client_id, app_secret: 'secret-that-was-removed' };
    const id = await hosts.addApp(mine, meadow, credentials);
    await registerPage(meadow, { client_id, client_secret: 'secret-that-was-removed' }, id);
    const access_token = await linkOnPage(meadow, who);
    const change = async (body: object) => {
      const changed = await owner.patch(`clients/${mine.client_id}/emr-apps/${id}`, body);
      expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    };
    await change({ credentials: { way: 'client_secret', client_id, client_secret: 'another' } });
    await change({ credentials: { way, client_id } });
    const sent_before = foreignBytes(meadow, [], ['secret-that-was-removed']).length;
    await registerPage(meadow, { client_id }, id);
    meadow.expireTokens('access');
    await apiAs(hosts.fixture, { access_token }).sync();
    await linkOnPage(meadow, { ...who, access_token });
    expect(foreignBytes(meadow, [], ['secret-that-was-removed'])).toHaveLength(sent_before);
    await registerPage(larch, { client_id }, id);
    await change(publishEndpoints(meadow, larch));
    const before = tokenRequests(larch);
    await signInOnPage(await hosts.linkToken(mine, meadow, { ...who, access_token }));
    expect(tokenRequests(larch)).toBe(before + 1);
    expect(foreignBytes(larch, [], ['secret-that-was-removed'])).toEqual([]);
  });

  test('is not sent with another client ID', async () => {
    const { meadow, steps, owner } = hosts;
    const who = { user_id: 'other-id', org_id: 'other-id' };
    meadow.register({ client_id: 'first-id', client_secret: 'secret-of-the-first-id' });
    const credentials = bySecret('first-id', 'secret-of-the-first-id');
    const linked = await hosts.signIn(await hosts.linkToken(mine, meadow, who), credentials);
    expect(linked.status, JSON.stringify(linked.body)).toBe(200);
    const { token: access_token } = (await steps.exchange(linked.body.public_token)).body;
    const before = tokenRequests(meadow);
    const again = await hosts.linkToken(mine, meadow, { ...who, access_token });
    const refused = await hosts.signIn(again, { client_id: 'second-id' });
    expect([refused.status, refused.body.field]).toEqual([400, 'credentials.client_secret']);
    expect(tokenRequests(meadow)).toBe(before);
    expect((await hosts.signIn(again, { client_id: 'first-id' })).status).toBe(200);
    const id = await hosts.addApp(mine, meadow, credentials);
    const changed = { credentials: { client_id: 'second-id' } };
    const renamed = await owner.patch(`clients/${mine.client_id}/emr-apps/${id}`, changed);
    expect([renamed.status, renamed.body.field]).toEqual([400, 'credentials.client_secret']);
  });

  test('a stored secret of an EMR app is not used by a link that was created without the app', async () => {
    const { meadow, steps } = hosts;
    const who = { user_id: 'app-meanwhile', org_id: 'app-meanwhile' };
    for (const client_id of ['entered-id', 'app-id']) meadow.register({ client_id, client_secret: `of-${client_id}` });
    const entered = bySecret('app-id', 'of-app-id');
    const linked = await hosts.signIn(await hosts.linkToken(mine, meadow, who), entered);
    const { token: access_token } = (await steps.exchange(linked.body.public_token)).body;
    const without_app = await hosts.linkToken(mine, meadow, { ...who, access_token });
    const emr_app_id = await hosts.addApp(mine, meadow, bySecret('app-id', 'of-app-id'));
    const with_app = await hosts.signIn(await hosts.linkToken(mine, meadow, { ...who, access_token, emr_app_id }));
    expect(with_app.status, JSON.stringify(with_app.body)).toBe(200);
    const before = tokenRequests(meadow);
    const refused = await hosts.signIn(without_app);
    expect([refused.status, refused.body.field]).toEqual([400, 'credentials.way']);
    expect(tokenRequests(meadow)).toBe(before);
  });

  test('a stored secret of an EMR app is not sent if the app is deleted while a person is on the page', async () => {
    const { meadow, owner } = hosts;
    const credentials = { way, client_id: 'deleted', app_secret: 'secret-of-a-deleted-app' };
    const id = await hosts.addApp(mine, meadow, credentials);
    await registerPage(meadow, { client_id: 'deleted', client_secret: 'secret-of-a-deleted-app' }, id);
    const started = await hosts.startPage(await hosts.linkToken(mine, meadow));
    const returned = await allowOn(meadow, started.body.url);
    if (!returned) throw new Error('not returned');
    expect((await owner.delete(`clients/${mine.client_id}/emr-apps/${id}`)).status).toBe(200);
    const refused = await hosts.finishPage(returned, started.body.window);
    expect([refused.status, refused.body.code]).toEqual([400, 'page_sign_in_unknown']);
    expect(foreignBytes(meadow, [], ['secret-of-a-deleted-app'])).toEqual([]);
  });
});

describe('the credentials of an EMR app', () => {
  test('are sent to the hosts that its owner listed, and to no other server that is linked', async () => {
    const { meadow, hostile, owner } = hosts;
    meadow.register({ client_id: 'secret-app', client_secret: 'synthetic-secret-app' });
    const credentials = bySecret('secret-app', 'synthetic-secret-app');
    const unlisted = await owner.post(
      `clients/${mine.client_id}/emr-apps`,
      appFor(meadow.url, credentials, { hosts: [] }),
    );
    expect([unlisted.status, unlisted.body.field]).toEqual([400, 'hosts']);
    const id = await hosts.addApp(mine, meadow, credentials);
    const elsewhere = await hosts.signIn(await hosts.linkToken(mine, hostile));
    expect([elsewhere.status, elsewhere.body.message]).toEqual([400, 'Missing required field: credentials.way']);
    // A link that was created before the owner removed the host.
    const link_token = await hosts.linkToken(mine, meadow);
    const moved = { hosts: ['elsewhere.example'] };
    expect((await owner.patch(`clients/${mine.client_id}/emr-apps/${id}`, moved)).status).toBe(200);
    const before = tokenRequests(meadow);
    const refused = await hosts.signIn(link_token);
    expect(refused.body.message).toContain('not configured for the host meadow.vendor.example');
    expect(foreignBytes(hostile, [meadow], ['synthetic-secret-app'])).toEqual([]);
    expect(tokenRequests(meadow)).toBe(before);
  });

  test('stay here when a renewal would go to an endpoint that the owner no longer allows', async () => {
    const { meadow, owner, fixture } = hosts;
    meadow.register({ client_id: 'renewed', client_secret: 'synthetic-renewal' });
    const id = await hosts.addApp(mine, meadow, bySecret('renewed', 'synthetic-renewal'));
    const api = await linkByApp(meadow, { user_id: 'renewed', org_id: 'renewed' });
    await api.sync();
    const pinned = { token_endpoint: 'https://auth.vendor.example/token' };
    expect((await owner.patch(`clients/${mine.client_id}/emr-apps/${id}`, pinned)).status).toBe(200);
    meadow.expireTokens('all');
    const before = tokenRequests(meadow);
    await api.call('POST', '/v1/sync', { body: {} });
    await until('the account to expire', async () => (await api.call('GET', '/v1/patients')).status === 403);
    expect(tokenRequests(meadow)).toBe(before);
    const [account] = await fixture.owner`SELECT status_reason FROM accounts WHERE user_id = 'renewed'`;
    expect(account?.status_reason).toContain('the EMR app allows https://auth.vendor.example/token');
  });

  test('are not sent to a revocation endpoint that is not next to the pinned token endpoint', async () => {
    const { meadow, fixture } = hosts;
    meadow.register({ client_id: 'revoking', client_secret: 'synthetic-revocation' });
    const pinned = { token_endpoint: `${meadow.issuer}/token` };
    await hosts.addApp(mine, meadow, bySecret('revoking', 'synthetic-revocation'), pinned);
    const unlinked = async (user_id: string, revocation_endpoint: string) => {
      meadow.published.revocation_endpoint = revocation_endpoint;
      const { call } = await linkByApp(meadow, { user_id, org_id: user_id });
      expect((await call('DELETE', '/v1/account')).status).toBe(200);
      let outcome: string | undefined;
      await until('the account to be signed out', async () => {
        const [record] = await fixture.owner<{ outcome: string }[]>`
          SELECT outcome FROM audit_records JOIN accounts ON accounts.id = account_id
           WHERE action = 'account.sign_out' AND user_id = ${user_id}`;
        outcome = record?.outcome;
        return outcome !== undefined;
      });
      const path = new URL(revocation_endpoint).pathname;
      return [outcome, meadow.ledger.filter((entry) => entry.method === 'POST' && entry.path === path).length];
    };
    expect(await unlinked('revoked-elsewhere', `${meadow.issuer}/evil/revoke`)).toEqual(['given_up', 0]);
    expect(await unlinked('revoked-beside', `${meadow.issuer}/revoke`)).toEqual(['signed_out', 1]);
  });

  test('are reported when the EMR names another endpoint than the one that the owner allows', async () => {
    const { meadow, hostile, fixture } = hosts;
    meadow.register({ client_id: 'alerted', client_secret: 'synthetic-alert' });
    await hosts.addApp(mine, meadow, bySecret('alerted', 'synthetic-alert'));
    const api = await linkByApp(meadow, { user_id: 'alerted', org_id: 'alerted' });
    const problems = async () =>
      (await findProblems(fixture.ctx.db.system.pooled, await readQueueDepth(fixture.ctx.db), fixture.ctx))
        .filter(({ code, summary }) => code === 'emr_endpoint_changed' && summary.includes('alerted'))
        .map(({ summary }) => summary);
    await api.sync();
    expect(await problems()).toEqual([]);
    meadow.published.token_endpoint = `${hostile.issuer}/token`;
    await api.sync();
    expect(await problems()).toEqual([
      expect.stringContaining(`account alerted of practice alerted now names ${hostile.issuer}/token.`),
    ]);
    // It goes on at the endpoint that it was linked with.
    expect(tokenRequests(hostile)).toBe(0);
    meadow.reset();
    await api.sync();
    expect(await problems()).toEqual([]);
  });
});
