import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../src/platform/telemetry/log.ts';
import { newOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import {
  type Person,
  providerSettings,
  startProvider,
  type TestProvider,
} from '../../harness/servers/identityProvider.ts';
import { type Browser, callback, createBrowser, followProvider, signInAs, visitProvider } from './browsers.ts';

let provider: TestProvider;
let fixture: TestSandbox;
let log = '';
beforeAll(async () => {
  provider = await startProvider();
  const env = { ...providerSettings(provider, 'owners=owner,staff=operator'), ADDRESS_RATE_BURST: '100000' };
  fixture = await startSandbox({ small: true, env });
  provider.back_channel = true;
  await provider.allowRedirect(fixture.sandbox.base_url);
  const write = (line: string) => {
    log += line;
  };
  fixture.ctx.log = createLog('info', { write });
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});
beforeEach(() => {
  provider.intercept = undefined;
  log = '';
});

const newBrowser = () => createBrowser(fixture.sandbox.base_url);
let people = 0;
function newPerson(): Person {
  const sub = `subject-${++people}`;
  return { sub, email: `${sub}@example.test`, name: `Synthetic ${sub}`, roles: ['staff'] };
}

async function signedIn(person: Person): Promise<Browser> {
  const browser = newBrowser();
  await signInAs(provider, browser, person);
  expect(await browser.session()).not.toBeNull();
  return browser;
}

/** Signs out on the provider's own page, in another tab. */
async function signOutAtProvider(browser: Browser): Promise<void> {
  const page = await (await browser.open(`${provider.issuer}/session/end`)).text();
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
  const body = new URLSearchParams({ xsrf, logout: 'yes' });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status } = await browser.open(`${provider.issuer}/session/end/confirm`, { method: 'POST', body, headers });
  expect(status).toBe(303);
}

const event = { 'http://schemas.openid.net/event/backchannel-logout': {} };
let tokens = 0;
/** The claims of a logout token that is valid. */
function logoutClaims(more: Record<string, unknown> = {}): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  const { issuer: iss, client } = provider;
  return { iss, aud: client.client_id, iat: now, exp: now + 120, jti: `token-${++tokens}`, events: event, ...more };
}

async function send(logout_token: string, more: Record<string, string> = {}) {
  const response = await fetch(`${fixture.sandbox.base_url}/dashboard/sign-in/back-channel-logout`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token, ...more }),
  });
  const body = (await response.json()) as { success: boolean; code?: string };
  return { status: response.status, headers: response.headers, body };
}

// First: later on, the service knows the provider's keys.
test('a logout token is refused while the provider’s keys cannot be read, and accepted afterwards', async () => {
  const person = newPerson();
  const browser = await signedIn(person);
  const token = await provider.sign(logoutClaims({ sub: person.sub }));
  provider.intercept = async ({ url = '' }, response) => {
    if (!url.startsWith('/jwks')) return false;
    response.writeHead(503).end();
    return true;
  };
  const { status, body } = await send(token);
  expect([status, body.code]).toStrictEqual([400, 'logout_token_unchecked']);
  expect(await browser.session()).not.toBeNull();
  provider.intercept = undefined;
  expect((await send(token)).status).toBe(200);
  expect(await browser.session()).toBeNull();
});

describe('a sign-out at the provider', () => {
  test('ends the session here, and no other of the same person', async () => {
    const person = newPerson();
    const [first, second] = [await signedIn(person), await signedIn(person)];
    const before = { ...provider.logouts };
    await signOutAtProvider(first);
    await expect.poll(() => provider.logouts.accepted).toBe(before.accepted + 1);
    expect(provider.logouts.refused).toBe(before.refused);
    expect(await first.session()).toBeNull();
    expect(await second.session()).not.toBeNull();
    const [record] = await fixture.owner`SELECT actor, outcome, detail FROM audit_records
      WHERE action = 'operator.provider_logout' AND actor = ${person.email ?? ''}`;
    expect(record).toStrictEqual({ actor: person.email, outcome: 'ended', detail: { sessions: 1 } });
  });

  test('ends the live updates of an open page', async () => {
    const browser = await signedIn(newPerson());
    const stream = await browser.open(`${fixture.sandbox.base_url}/dashboard/api/live`);
    const text = stream.text();
    await signOutAtProvider(browser);
    expect(await text).toContain('event: over');
  });

  test('keeps a sign-in that is in progress from starting a session', async () => {
    const person = newPerson();
    const browser = newBrowser();
    provider.current = person;
    const returned = await visitProvider(browser);
    // The code was issued; the logout arrives before the browser does.
    expect(
      (await send(await provider.sign(logoutClaims({ sub: person.sub, iat: Math.floor(Date.now() / 1000) + 5 }))))
        .status,
    ).toBe(200);
    await callback(browser, returned);
    expect(await browser.session()).toBeNull();
    expect(await browser.errorShown()).toBe('This sign-in has expired, or it was already used. Sign in again.');
  });
});

describe('a logout token', () => {
  test('ends all sessions of single sign-on of a person if it has only the subject', async () => {
    const person = newPerson();
    const browsers = [await signedIn(person), await signedIn(person)];
    const other = await signedIn(newPerson());
    const local = await newOperator(fixture, 'operator');
    const response = await send(await provider.sign(logoutClaims({ sub: person.sub }), 'logout+jwt'), { unknown: '1' });
    expect(response).toMatchObject({ status: 200, body: { success: true } });
    expect(response.headers.get('cache-control')).toBe('no-store');
    for (const browser of browsers) expect(await browser.session()).toBeNull();
    expect(await other.session()).not.toBeNull();
    expect((await local.get('clients')).status).toBe(200);
  });

  test('is accepted for a person without sessions', async () => {
    expect((await send(await provider.sign(logoutClaims({ sub: 'nobody', sid: 'none' })))).status).toBe(200);
  });

  test('ends a session that was started before ID tokens had a session ID', async () => {
    const person = newPerson();
    const browser = await signedIn(person);
    await fixture.owner`UPDATE operator_sessions SET sso_sid_hash = NULL`;
    await send(await provider.sign(logoutClaims({ sub: person.sub, sid: 'another' })));
    expect(await browser.session()).toBeNull();
  });

  test('is accepted once, also if it arrives twice at the same moment', async () => {
    const person = newPerson();
    const token = await provider.sign(logoutClaims({ sub: person.sub }));
    const both = await Promise.all([send(token), send(token)]);
    expect(both.map(({ status }) => status).sort()).toStrictEqual([200, 400]);
    await fixture.owner`UPDATE sso_logouts SET issued_at = issued_at - interval '1 minute'`;
    const browser = await signedIn(person);
    expect((await send(token)).body.code).toBe('logout_token_refused');
    expect(await browser.session()).not.toBeNull();
    expect(log).toContain('jti_repeated');
  });

  const now = () => Math.floor(Date.now() / 1000);
  test.each<[string, () => Record<string, unknown>, string]>([
    ['with a nonce', () => ({ nonce: 'n' }), 'nonce'],
    ['without events', () => ({ events: undefined }), 'events'],
    ['with another event', () => ({ events: { 'http://schemas.openid.net/event/other': {} } }), 'events'],
    ['with an event that is not an object', () => ({ events: { [Object.keys(event)[0] ?? '']: true } }), 'events'],
    ['without jti', () => ({ jti: undefined }), 'jti'],
    ['with an endless jti', () => ({ jti: 'x'.repeat(256) }), 'jti'],
    ['without sub and sid', () => ({ sub: undefined }), 'sid_and_sub_missing'],
    ['with a sid that is not a text', () => ({ sid: 7 }), 'sid'],
    ['of another issuer', () => ({ iss: 'https://elsewhere.example.org' }), 'iss'],
    ['for another client', () => ({ aud: 'another' }), 'aud'],
    ['for several clients', () => ({ aud: ['chartwire', 'another'] }), 'aud'],
    ['that has expired', () => ({ exp: now() - 60, iat: now() - 120 }), 'exp'],
    ['without an expiry', () => ({ exp: undefined }), 'exp'],
    ['issued long ago', () => ({ iat: now() - 3_600, exp: now() + 3_600 }), 'iat'],
    ['issued in the future', () => ({ iat: now() + 3_600, exp: now() + 7_200 }), 'iat'],
  ])('is refused and ends nothing: one %s', async (_name, change, code) => {
    const person = newPerson();
    const browser = await signedIn(person);
    const { status, body } = await send(await provider.sign(logoutClaims({ sub: person.sub, ...change() })));
    expect([status, body.code]).toStrictEqual([400, 'logout_token_refused']);
    expect(await browser.session()).not.toBeNull();
    expect(log).toContain(`"code":"${code}"`);
  });

  test('is refused if it has another type', async () => {
    const token = await provider.sign(logoutClaims({ sub: 'subject-1' }), 'at+jwt');
    expect((await send(token)).body.code).toBe('logout_token_refused');
  });

  test('is refused without a valid signature', async () => {
    const person = newPerson();
    const browser = await signedIn(person);
    const [header, , signature] = (await provider.sign(logoutClaims())).split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = encode(logoutClaims({ sub: person.sub }));
    for (const token of [`${header}.${forged}.${signature}`, `${encode({ alg: 'none' })}.${forged}.`, 'no token']) {
      expect((await send(token)).body.code).toBe('logout_token_refused');
    }
    expect(await browser.session()).not.toBeNull();
  });

  test('is not written to the log', async () => {
    const token = await provider.sign(logoutClaims({ nonce: 'n' }));
    await send(token);
    expect(log).not.toContain(token.split('.')[1]);
  });

  test('must be sent, and only once, in a form', async () => {
    const url = `${fixture.sandbox.base_url}/dashboard/sign-in/back-channel-logout`;
    const missing = await fetch(url, { method: 'POST', body: new URLSearchParams({ other: '1' }) });
    expect([missing.status, ((await missing.json()) as { code: string }).code]).toStrictEqual([400, 'missing_field']);
    const body = new URLSearchParams([
      ['logout_token', 'a'],
      ['logout_token', 'b'],
    ]);
    expect((await fetch(url, { method: 'POST', body })).status).toBe(400);
    const json = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    expect(json.status).toBe(415);
  });
});

test('a confirmed identity moves the session to the provider’s new session', async () => {
  const person = newPerson();
  const browser = await signedIn(person);
  const { csrf_token } = await browser.session();
  const { body } = await browser.api('POST', 'single-sign-on/renew', {}, { 'x-csrf-token': csrf_token });
  await callback(browser, await followProvider(browser, body.url));
  await signOutAtProvider(browser);
  expect(await browser.session()).toBeNull();
});
