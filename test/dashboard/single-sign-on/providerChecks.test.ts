import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sealTokens, unsealTokens } from '../../../src/product/operators/ssoSignIns.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import {
  type Person,
  providerSettings,
  startProvider,
  type TestProvider,
} from '../../harness/servers/identityProvider.ts';
import { type Browser, callback, createBrowser, followProvider, signInAs } from './browsers.ts';

let provider: TestProvider;
let fixture: TestSandbox;
let owner: TestOperator;
/** The requests that the provider got, by path. */
let requests: string[] = [];
beforeAll(async () => {
  provider = await startProvider();
  const env = { ...providerSettings(provider, 'owners=owner,staff=operator,viewers=read_only') };
  fixture = await startSandbox({ small: true, env: { ...env, ADDRESS_RATE_BURST: '100000' } });
  await provider.allowRedirect(fixture.sandbox.base_url);
  owner = await signInOperator(fixture);
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});
beforeEach(async () => {
  provider.refresh_tokens = false;
  provider.claims_in_id_token = false;
  await provider.restart();
  respondWith(() => false);
});

type End = (status: number, body?: object) => true;

/** Replaces responses of the provider. Return true if the request was answered. */
function respondWith(respond: (path: string, end: End) => boolean): void {
  requests = [];
  provider.intercept = async ({ url = '' }, response) => {
    const [path = ''] = url.split('?');
    requests.push(path);
    return respond(path, (status, body = {}) => {
      const challenge = status === 401 ? { 'www-authenticate': 'Bearer error="invalid_token"' } : {};
      response.writeHead(status, { 'content-type': 'application/json', ...challenge }).end(JSON.stringify(body));
      return true;
    });
  };
}

/** As from a provider that exchanges codes, but can neither say who someone is nor refresh tokens. */
function failAfterCodes(status = 503): void {
  let codes = 0;
  respondWith((path, end) => (path === '/me' || (path === '/token' && ++codes > 1)) && end(status));
}

/** Signs in again in a session that exists. */
async function confirmIdentity(browser: Browser): Promise<void> {
  const { csrf_token } = await browser.session();
  const { body } = await browser.api('POST', 'single-sign-on/renew', {}, { 'x-csrf-token': csrf_token });
  await callback(browser, await followProvider(browser, body.url));
  expect((await browser.api('GET', 'sign-in')).body.error).toBeNull();
}

async function putClaimsIntoIdTokens(): Promise<void> {
  provider.claims_in_id_token = true;
  await provider.restart();
}

let people = 0;
async function signedIn(roles: unknown = ['staff']): Promise<{ person: Person; browser: Browser }> {
  const sub = `checked-${++people}`;
  const person = { sub, email: `${sub}@example.test`, name: `Synthetic ${sub}`, roles };
  const browser = createBrowser(fixture.sandbox.base_url);
  await signInAs(provider, browser, person);
  expect(await browser.session(), 'the sign-in').not.toBeNull();
  requests = [];
  return { person, browser };
}

/** As if the last answer of the provider were older. */
const age = (interval: string) => fixture.owner`
  UPDATE operator_sessions SET checked_at = checked_at - ${interval}::text::interval, check_started_at = NULL`;
/** As if the provider had said that the access tokens end now. */
const expireAccessTokens = async () => {
  const { ctx, owner } = fixture;
  const rows = await owner<{ token_hash: Buffer; provider_sealed: Buffer }[]>`
    SELECT token_hash, provider_sealed FROM operator_sessions WHERE provider_sealed IS NOT NULL`;
  for (const { token_hash, provider_sealed } of rows) {
    const tokens = { ...unsealTokens(ctx, token_hash, provider_sealed), expires_at: 0 };
    await owner`UPDATE operator_sessions SET provider_sealed = ${sealTokens(ctx, token_hash, tokens)}
      WHERE token_hash = ${token_hash}`;
  }
};
const readRole = async (browser: Browser) => (await browser.session())?.operator.role ?? null;
const readChecks = async ({ email = '' }: Person) => {
  const rows = await fixture.owner<{ outcome: string }[]>`
    SELECT outcome FROM audit_records WHERE action = 'operator.provider_check' AND actor = ${email} ORDER BY id`;
  return rows.map(({ outcome }) => outcome);
};

test('a role that was lowered at the provider applies to the next request after a minute', async () => {
  const { person, browser } = await signedIn(['owners']);
  provider.current = { ...person, roles: ['viewers'] };
  expect(await readRole(browser), 'asked less than a minute ago').toBe('owner');
  expect(requests).toStrictEqual([]);
  await age('61 seconds');
  const { status, body } = await browser.api('GET', 'operators');
  expect([status, body.code]).toStrictEqual([403, 'operator_role_lacking']);
  expect(await readRole(browser)).toBe('read_only');
  expect(await readChecks(person)).toStrictEqual(['access changed']);
});

test('a person without a role is signed out everywhere', async () => {
  const { person, browser } = await signedIn();
  const other = createBrowser(fixture.sandbox.base_url);
  await signInAs(provider, other, person);
  provider.current = { ...person, roles: [] };
  await age('61 seconds');
  expect((await browser.api('GET', 'me/sessions')).body.code).toBe('operator_session_over');
  expect([await readRole(browser), await readRole(other)]).toStrictEqual([null, null]);
  expect(await readChecks(person)).toStrictEqual(['sso_role_missing']);
});

test('the provider is asked once a minute, however many requests arrive', async () => {
  const { browser } = await signedIn();
  await age('61 seconds');
  const responses = await Promise.all(Array.from({ length: 10 }, () => browser.api('GET', 'session')));
  expect(responses.map(({ body }) => body.session?.operator.role)).toStrictEqual(Array(10).fill('operator'));
  expect(requests.filter((path) => path === '/me')).toHaveLength(1);
  await browser.session();
  expect(requests.filter((path) => path === '/me')).toHaveLength(1);
});

test('an open page is checked too: its stream of changes ends', async () => {
  const { person, browser } = await signedIn();
  provider.current = { ...person, roles: [] };
  await age('61 seconds');
  const { status } = await browser.open(`${fixture.sandbox.base_url}/dashboard/api/live`);
  expect(status).toBe(401);
});

test('a token that the provider revokes ends the session', async () => {
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(401));
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_declined']);
});

test('a provider that does not answer keeps the role for 15 minutes, then a sign-in is required', async () => {
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(503));
  await age('61 seconds');
  expect(await readRole(browser)).toBe('operator');
  const first = requests.length;
  expect(first).toBeGreaterThan(0);
  expect(await readRole(browser), 'not asked again at once').toBe('operator');
  expect(requests.length).toBe(first);
  await age('14 minutes');
  expect(await readRole(browser)).toBe('operator');
  await age('1 minute');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_unavailable']);
});

test('a provider that answers again within 15 minutes has its word', async () => {
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(503));
  await age('10 minutes');
  expect(await readRole(browser)).toBe('operator');
  respondWith(() => false);
  provider.current = { ...person, roles: ['viewers'] };
  await age('0 seconds');
  expect(await readRole(browser)).toBe('read_only');
});

test('a refresh token replaces an access token that has expired, again and again', async () => {
  provider.refresh_tokens = true;
  const { person, browser } = await signedIn();
  const before = provider.refreshed;
  for (const times of [1, 2]) {
    await expireAccessTokens();
    await age('61 seconds');
    expect(await readRole(browser)).toBe('operator');
    expect(provider.refreshed).toBe(before + times);
  }
  provider.current = { ...person, roles: ['viewers'] };
  await age('61 seconds');
  expect(await readRole(browser)).toBe('read_only');
});

test('an access token that has expired without a refresh token counts as no answer', async () => {
  const { person, browser } = await signedIn();
  await expireAccessTokens();
  await age('61 seconds');
  expect(await readRole(browser)).toBe('operator');
  await age('15 minutes');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_unavailable']);
});

test('roles that only ID tokens contain are read from refreshed ones', async () => {
  provider.refresh_tokens = true;
  await putClaimsIntoIdTokens();
  const withoutRoles = (path: string, end: End) => path === '/me' && end(200, { sub: `checked-${people}` });
  respondWith(withoutRoles);
  const { person, browser } = await signedIn();
  await age('61 seconds');
  expect(await readRole(browser), 'missing in the user info').toBe('operator');
  provider.current = { ...person, roles: ['viewers'] };
  await age('61 seconds');
  expect(await readRole(browser)).toBe('read_only');
  provider.current = { ...person, roles: [] };
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
});

test('a refused refresh token ends the session', async () => {
  provider.refresh_tokens = true;
  const { person, browser } = await signedIn();
  respondWith(
    (path, end) => (path === '/token' || path === '/me') && end(path === '/me' ? 401 : 400, { error: 'invalid_grant' }),
  );
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_declined']);
});

test('a provider that cannot be asked leaves the session as it was', async () => {
  await putClaimsIntoIdTokens();
  respondWith((path, end) => path === '/me' && end(404));
  const { person, browser } = await signedIn();
  provider.current = { ...person, roles: [] };
  await age('2 hours');
  expect(await readRole(browser)).toBe('operator');
});

describe.each([
  ['without a refresh token', false],
  ['with a refresh token', true],
])('after an outage at a sign-in %s', (_, refresh_tokens) => {
  beforeEach(async () => {
    provider.refresh_tokens = refresh_tokens;
    await putClaimsIntoIdTokens();
    failAfterCodes();
  });

  test('a role that is lowered later applies', async () => {
    const { person, browser } = await signedIn(['owners']);
    respondWith(() => false);
    await age('61 seconds');
    expect(await readRole(browser)).toBe('owner');
    provider.current = { ...person, roles: ['viewers'] };
    await age('61 seconds');
    expect(await readRole(browser)).toBe('read_only');
    expect(await readChecks(person)).toStrictEqual(['access changed']);
  });

  test('a role that was lowered during the outage requires a sign-in', async () => {
    const { person, browser } = await signedIn(['owners']);
    respondWith(() => false);
    provider.current = { ...person, roles: ['viewers'] };
    await age('61 seconds');
    expect(await readRole(browser)).toBeNull();
    expect(await readChecks(person)).toStrictEqual(['sso_declined']);
  });

  test('a provider that stays down ends the session after 15 minutes', async () => {
    const { person, browser } = await signedIn();
    await age('61 seconds');
    expect(await readRole(browser)).toBe('operator');
    await age('15 minutes');
    expect(await readRole(browser)).toBeNull();
    expect(await readChecks(person)).toStrictEqual(['sso_unavailable']);
  });
});

test.each([503, 429, 302])('a user info that responds with %i at the sign-in is asked again', async (status) => {
  await putClaimsIntoIdTokens();
  failAfterCodes(status);
  const { person, browser } = await signedIn();
  respondWith(() => false);
  await age('61 seconds');
  expect(await readRole(browser)).toBe('operator');
  provider.current = { ...person, roles: [] };
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
});

test('roles that only ID tokens contain are not missed in the user info after an outage at the sign-in', async () => {
  provider.refresh_tokens = true;
  await putClaimsIntoIdTokens();
  failAfterCodes();
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(200, { sub: person.sub }));
  for (const _ of [1, 2]) {
    await age('61 seconds');
    expect(await readRole(browser)).toBe('operator');
  }
  provider.current = { ...person, roles: ['viewers'] };
  await age('61 seconds');
  expect(await readRole(browser)).toBe('read_only');
});

test.each([503, 404])(
  'a session that is renewed while the user info responds with %i stays checked',
  async (status) => {
    provider.refresh_tokens = true;
    await putClaimsIntoIdTokens();
    const { person, browser } = await signedIn(['owners']);
    failAfterCodes(status);
    await age('15 minutes');
    await confirmIdentity(browser);
    await age('10 minutes');
    expect(await readRole(browser), 'the provider named the role at the renewal').toBe('owner');
    respondWith(() => false);
    await age('61 seconds');
    expect(await readRole(browser)).toBe('owner');
    provider.current = { ...person, roles: [] };
    await age('61 seconds');
    expect(await readRole(browser)).toBeNull();
    expect(await readChecks(person)).toStrictEqual(['sso_role_missing']);
  },
);

test('a user info about another person ends the session', async () => {
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(200, { ...person, sub: 'someone-else' }));
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_declined']);
});

test.each([
  ['is about another person', 200],
  ['refuses the new token', 401],
])('a sign-in whose user info %s is refused', async (_, status) => {
  await putClaimsIntoIdTokens();
  respondWith((path, end) => path === '/me' && end(status, { sub: 'someone-else' }));
  const sub = `checked-${++people}`;
  const browser = createBrowser(fixture.sandbox.base_url);
  await signInAs(provider, browser, { sub, email: `${sub}@example.test`, roles: ['staff'] });
  expect(await browser.errorShown()).toMatch(/^The identity provider did not sign you in/);
  expect(await browser.session()).toBeNull();
});

test('a user info that refuses even a refreshed token ends the session', async () => {
  provider.refresh_tokens = true;
  const { person, browser } = await signedIn();
  respondWith((path, end) => path === '/me' && end(401));
  await age('61 seconds');
  expect(await readRole(browser)).toBeNull();
  expect(await readChecks(person)).toStrictEqual(['sso_declined']);
});

test('a local operator is not checked', async () => {
  requests = [];
  await age('61 seconds');
  expect((await owner.get('session')).body.session).not.toBeNull();
  expect(requests).toStrictEqual([]);
});

test('tokens are stored sealed, for their session alone', async () => {
  provider.refresh_tokens = true;
  await signedIn();
  const rows = await fixture.owner<{ provider_sealed: Buffer | null }[]>`
    SELECT provider_sealed FROM operator_sessions WHERE provider_sealed IS NOT NULL`;
  expect(rows.length).toBeGreaterThan(0);
  for (const { provider_sealed } of rows) {
    const text = provider_sealed?.toString('latin1') ?? '';
    for (const word of ['access_token', 'refresh_token']) expect(text).not.toContain(word);
  }
  const { browser } = await signedIn();
  const [newest] = await fixture.owner<
    { token_hash: Buffer }[]
  >`SELECT token_hash FROM operator_sessions ORDER BY created_at DESC LIMIT 1`;
  await fixture.owner`UPDATE operator_sessions SET provider_sealed = (SELECT provider_sealed FROM operator_sessions
      WHERE token_hash <> ${newest?.token_hash ?? null} AND provider_sealed IS NOT NULL LIMIT 1)
    WHERE token_hash = ${newest?.token_hash ?? null}`;
  await age('61 seconds');
  expect((await browser.api('GET', 'me/sessions')).status).toBe(500);
});
