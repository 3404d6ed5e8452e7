import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findProblems } from '../../src/alerts/conditions.ts';
import { readQueueDepth } from '../../src/jobs/queueDepth.ts';
import { apiOf, newClient, type OtherClient } from '../api/support.ts';
import { appFor, sandboxKeySet } from '../harness/fhir/registrations.ts';
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
  return { ...apiOf(hosts.fixture, { access_token }), access_token };
}

describe('a signing key', () => {
  test('of one client does not sign for the client ID that another client has registered', async () => {
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

  test('of an account that was linked without an EMR app is not used anymore, until it is linked with one', async () => {
    const { meadow, steps, fixture } = hosts;
    const credentials = { way: 'backend_services', client_id: 'linked-before' };
    meadow.register({ client_id: 'linked-before', jwks_url: sandboxKeySet(fixture) });
    const who = { user_id: 'linked-before', org_id: 'linked-before' };
    const first = await steps.signIn(await hosts.linkToken(mine, meadow, who), 0, { credentials });
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const access_token = (await steps.exchange(first.body.public_token)).body.token;
    const api = apiOf(fixture, { access_token });
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
  const callbackOf = (url: string) => new URL(new URL(url).searchParams.get('redirect_uri') ?? '');

  async function started(server: FhirServer) {
    const link_token = await hosts.linkToken(mine, server);
    const response = await hosts.startPage(link_token, typed);
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const { url, window } = response.body as { url: string; window: string };
    server.register({ client_id: 'by-page', redirect_uris: [callbackOf(url).href] });
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

  test('that another server took the place of does not get the code or the verifier to the first one', async () => {
    const { meadow, hostile } = hosts;
    hostile.published.issuer = undefined;
    meadow.page.iss = meadow.issuer;
    const { url, window } = await started(hostile);
    // The hostile page sends the person on to the honest one, with the state of this sign-in.
    const honest = new URL(`${meadow.issuer}/authorize?${new URL(url).searchParams}`);
    honest.searchParams.set('aud', meadow.url);
    meadow.register({ client_id: 'by-page', redirect_uris: [callbackOf(url).href] });
    const returned = await allowOn(meadow, honest);
    expect(returned?.searchParams.get('code')).toBeTruthy();
    if (!returned) throw new Error('not returned');
    const refused = await hosts.finishPage(returned, window);
    expect([refused.status, refused.body.code]).toEqual([400, 'emr_sign_in_refused']);
    expect(refused.body.message).toContain('another server than the sign-in page');
    expect(foreignBytes(hostile, [meadow], [])).toEqual([]);
    expect(tokenRequests(hostile)).toBe(0);
  });

  test('of one EMR cannot answer at the redirect URI of another', async () => {
    const { meadow, hostile } = hosts;
    const [at_meadow, at_hostile] = [await started(meadow), await started(hostile)];
    const [one, other] = [callbackOf(at_meadow.url), callbackOf(at_hostile.url)];
    expect(one.pathname).not.toBe(other.pathname);
    expect(callbackOf((await started(meadow)).url).pathname).toBe(one.pathname);
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
