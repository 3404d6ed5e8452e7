import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../../src/platform/telemetry/log.ts';
import { resetOperator } from '../../../src/product/operators/localAccounts.ts';
import { newClient } from '../../api/support.ts';
import { newOperator, signIn as signInLocally, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import {
  type Person,
  providerSettings,
  startProvider,
  type TestProvider,
} from '../../harness/servers/identityProvider.ts';
import {
  type Browser,
  callback,
  createBrowser,
  followProvider,
  forgetProvider,
  signInAs,
  visitProvider,
} from '../single-sign-on/browsers.ts';

let provider: TestProvider;
let fixture: TestSandbox;
let owner: TestOperator;
let log = '';
beforeAll(async () => {
  provider = await startProvider();
  const roles = 'owners=owner,staff=operator,viewers=read_only';
  const env = { ...providerSettings(provider, roles), ADDRESS_RATE_BURST: '100000' };
  fixture = await startSandbox({ small: true, env });
  await provider.allowRedirect(fixture.sandbox.base_url);
  const write = (line: string) => {
    log += line;
  };
  fixture.ctx.log = createLog('info', { write });
  owner = await signInOperator(fixture);
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});
beforeEach(() => {
  provider.intercept = undefined;
  log = '';
});

const newBrowser = (jar?: Map<string, string>) => createBrowser(fixture.sandbox.base_url, jar);
const signIn = (browser: Browser, person: Person | undefined) => signInAs(provider, browser, person);

let people = 0;
function newPerson(claims: Partial<Person> = {}): Person {
  const sub = `subject-${++people}`;
  return { sub, email: `${sub}@example.test`, name: `Synthetic ${sub}`, roles: ['staff'], ...claims };
}

describe('a sign-in', () => {
  test('creates an operator with the highest role of the claim and returns to the page', async () => {
    const person = newPerson({ email: 'Ada.Example@example.test', roles: ['viewers', 'other', 'staff'] });
    const browser = newBrowser();
    expect(await signIn(browser, person)).toStrictEqual({ status: 302, location: '/dashboard/settings' });
    expect((await browser.session()).operator).toMatchObject({
      email: 'ada.example@example.test',
      name: person.name,
      role: 'operator',
      single_sign_on: true,
    });
    const [record] = await fixture.owner`SELECT outcome, detail FROM audit_records
      WHERE action = 'operator.sign_in' AND actor = 'ada.example@example.test'`;
    expect(record).toStrictEqual({ outcome: 'created', detail: { method: 'single_sign_on', role: 'operator' } });
  });

  test('uses PKCE, state and nonce, and a Lax cookie that ends after ten minutes', async () => {
    const browser = newBrowser();
    const { body, headers } = await browser.api('POST', 'single-sign-on', { path: '/dashboard' });
    const query = Object.fromEntries(new URL(body.url).searchParams);
    expect(query).toMatchObject({ response_type: 'code', code_challenge_method: 'S256' });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(query[name], name).toMatch(/^[\w-]{43}$/);
    const attributes = 'Path=/dashboard; HttpOnly; SameSite=Lax; Max-Age=600';
    expect(headers.get('set-cookie')).toMatch(new RegExp(`^chartwire_sso=[\\w-]{43}; ${attributes}$`));
  });

  test('accepts only pages of the dashboard to return to', async () => {
    for (const path of ['https://elsewhere.test/dashboard', '//elsewhere.test', '/dashboard/../x', '/dashboard//x']) {
      const { status } = await newBrowser().api('POST', 'single-sign-on', { path });
      expect(status, path).toBe(400);
    }
  });

  test('twice at the same moment creates one operator', async () => {
    const person = newPerson();
    provider.current = person;
    const browsers = [newBrowser(), newBrowser(), newBrowser()];
    const urls = await Promise.all(browsers.map((browser) => visitProvider(browser)));
    await Promise.all(browsers.map((browser, index) => callback(browser, urls[index] ?? '')));
    const sessions = await Promise.all(browsers.map((browser) => browser.session()));
    expect(new Set(sessions.map((session) => session?.operator.email))).toStrictEqual(new Set([person.email]));
  });

  test('continues after the provider has replaced its keys', async () => {
    await provider.rotateKeys();
    const browser = newBrowser();
    await signIn(browser, newPerson());
    expect(await browser.session()).not.toBeNull();
  });

  test('ends at the provider too', async () => {
    const browser = newBrowser();
    await signIn(browser, newPerson());
    const { csrf_token } = await browser.session();
    const { body } = await browser.api('DELETE', 'session', {}, { 'x-csrf-token': csrf_token });
    const url = new URL(body.sign_out_url);
    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toStrictEqual({
      client_id: provider.client.client_id,
      post_logout_redirect_uri: `${fixture.sandbox.base_url}/dashboard`,
    });
    expect(await browser.session()).toBeNull();
    expect((await browser.open(url.href)).status).toBe(200);
  });

  test('does not let the operator add a password or passkey, as a way around the provider', async () => {
    const browser = newBrowser();
    await signIn(browser, newPerson());
    const { csrf_token, method } = await browser.session();
    expect(method).toBe('single_sign_on');
    for (const [path, body] of [
      ['me/password', { new_password: 'synthetic words 2031' }],
      ['me/passkeys/options', {}],
      ['me/totp/offer', {}],
    ] as const) {
      const { status, body: response } = await browser.api('POST', path, body, { 'x-csrf-token': csrf_token });
      expect([path, status, response.code]).toStrictEqual([path, 409, 'operator_single_sign_on']);
    }
  });

  test('leaves a local operator’s sign-out as it is', async () => {
    const local = await newOperator(fixture, 'read_only');
    expect((await local.delete('session')).body).toStrictEqual({ success: true, sign_out_url: null });
  });
});

describe('the role', () => {
  test('follows the claim at every sign-in, and a change ends other sessions', async () => {
    const person = newPerson({ roles: 'owners' });
    const [first, second, third] = [newBrowser(), newBrowser(), newBrowser()];
    await signIn(first, person);
    expect((await first.session()).operator.role).toBe('owner');
    await signIn(second, person);
    expect(await first.session()).not.toBeNull();
    await signIn(third, { ...person, roles: ['viewers'] });
    expect((await third.session()).operator.role).toBe('read_only');
    expect([await first.session(), await second.session()]).toStrictEqual([null, null]);
  });

  test('is the lower of the claim and what an owner assigns, and no password can be set', async () => {
    const person = newPerson();
    await signIn(newBrowser(), person);
    const id = await operatorId(person);
    const roleAfter = async (role: string) => {
      expect((await owner.patch(`operators/${id}`, { role })).status).toBe(200);
      const { operators } = (await owner.get('operators')).body;
      return operators.find((each: { id: string }) => each.id === id).role;
    };
    expect(await roleAfter('owner')).toBe('operator');
    expect(await roleAfter('support')).toBe('support');
    const browser = newBrowser();
    await signIn(browser, { ...person, roles: ['owners'] });
    expect((await browser.session()).operator.role).toBe('support');
    const refused = { status: 409, body: { code: 'operator_single_sign_on' } };
    expect(await owner.post(`operators/${id}/reset`)).toMatchObject(refused);
  });

  test('in a client is the lower of the claim and the assignment, from the next request on', async () => {
    const person = newPerson();
    const [first, second] = [newBrowser(), newBrowser()];
    await signIn(first, person);
    // A new operator has no clients, although the role is not limited to any.
    expect((await first.session()).operator).toMatchObject({ role: 'operator', all_clients: false, clients: [] });
    const { client_id } = fixture.sandbox;
    const id = await operatorId(person);
    expect((await owner.patch(`operators/${id}`, { clients: [{ client_id, role: 'operator' }] })).status).toBe(200);
    expect(await first.session(), 'changed access ends sessions').toBeNull();
    await signIn(first, person);
    expect((await first.session()).operator.clients).toMatchObject([{ client_id, role: 'operator' }]);
    await signIn(second, { ...person, roles: ['viewers'] });
    expect(await first.session()).toBeNull();
    expect((await second.session()).operator.clients).toMatchObject([{ client_id, role: 'read_only' }]);
    const webhook = { webhook_url: 'https://example.test/hook' };
    const { csrf_token } = await second.session();
    const sent = await second.api('POST', `clients/${client_id}/webhooks`, webhook, { 'x-csrf-token': csrf_token });
    expect(sent.body.code).toBe('operator_role_lacking');
  });

  test('can be claimed for single clients, which replaces the clients of an earlier claim', async () => {
    const { client_id } = fixture.sandbox;
    const other = await newClient(fixture);
    const before = fixture.ctx.config;
    const oidc_roles = new Map([
      ...before.oidc_roles,
      ['here', [{ role: 'operator', client_id }]],
      ['there', [{ role: 'read_only', client_id: other.client_id }]],
      ['nowhere', [{ role: 'operator', client_id: 'ci_test_unknown' }]],
    ] as const);
    fixture.ctx.config = { ...before, oidc_roles };
    try {
      const person = newPerson({ roles: ['here', 'there'] });
      const browser = newBrowser();
      const readClients = async (roles: string[]) => {
        await signIn(browser, { ...person, roles });
        const { all_clients, clients } = (await browser.session()).operator;
        expect(all_clients).toBe(false);
        return Object.fromEntries(
          clients.map((each: { client_id: string; role: string }) => [each.client_id, each.role]),
        );
      };
      expect(await readClients(['here', 'there'])).toStrictEqual({
        [client_id]: 'operator',
        [other.client_id]: 'read_only',
      });
      // An owner can lower a claimed role, not raise it.
      const id = await operatorId(person);
      const assigned = [
        { client_id, role: 'support' },
        { client_id: other.client_id, role: 'operator' },
      ];
      expect((await owner.patch(`operators/${id}`, { clients: assigned })).status).toBe(200);
      expect(await readClients(['here', 'there'])).toStrictEqual({
        [client_id]: 'support',
        [other.client_id]: 'read_only',
      });
      expect(await readClients(['there', 'nowhere'])).toStrictEqual({ [other.client_id]: 'read_only' });
      expect(log).toContain('ci_test_unknown');
    } finally {
      fixture.ctx.config = before;
    }
  });

  test('a role that was lowered ends what the operator has prepared', async () => {
    const person = newPerson({ roles: 'owners' });
    const browser = newBrowser();
    await signIn(browser, person);
    await freshen(person);
    const { csrf_token } = await browser.session();
    const own = { 'x-csrf-token': csrf_token };
    const invited = { email: 'by-sso@example.test', role: 'operator' };
    const { body } = await browser.api('POST', 'invitations', invited, own);
    const token = new URL(body.invitation.link).hash.slice(1);
    expect((await newBrowser().api('POST', 'invitations/find', { token })).status).toBe(200);
    await signIn(newBrowser(), { ...person, roles: ['staff'] });
    const accepted = { token, name: 'Invited', password: 'a password of their own' };
    expect((await newBrowser().api('POST', 'invitations/accept', accepted)).body.code).toBe('invitation_invalid');
  });

  test('the role of owner cannot be given outside of the provider from a session of single sign-on', async () => {
    const browser = newBrowser();
    const person = newPerson({ roles: 'owners' });
    await signIn(browser, person);
    await freshen(person);
    const own = { 'x-csrf-token': (await browser.session()).csrf_token };
    const refused = { status: 409, body: { code: 'owner_from_provider' } };
    const invited = { email: 'local-owner@example.test', role: 'owner' };
    expect(await browser.api('POST', 'invitations', invited, own)).toMatchObject(refused);
    const local = await newOperator(fixture, 'operator');
    expect(await browser.api('PATCH', `operators/${local.id}`, { role: 'owner' }, own)).toMatchObject(refused);
    const local_owner = await newOperator(fixture, 'owner');
    expect(await browser.api('POST', `operators/${local_owner.id}/reset`, {}, own)).toMatchObject(refused);
    expect((await local_owner.get('session')).body.session).not.toBeNull();
    const change = (changes: object) => browser.api('PATCH', `operators/${local_owner.id}`, changes, own);
    expect((await change({ disabled: false, name: 'Active' })).status, 'not disabled').toBe(200);
    expect((await change({ disabled: true })).status).toBe(200);
    expect(await change({ disabled: false })).toMatchObject(refused);
    expect((await signInLocally(fixture, local_owner)).body.code).toBe('operator_credentials_wrong');
    expect((await change({ role: 'operator', disabled: false })).status, 'no longer an owner').toBe(200);
    expect((await browser.api('PATCH', `operators/${local.id}`, { role: 'read_only' }, own)).status).toBe(200);
  });

  test('is required: without one nobody is created', async () => {
    for (const roles of [undefined, [], ['other'], { staff: true }, 'staff,owners']) {
      const person = newPerson({ roles });
      const browser = newBrowser();
      await signIn(browser, person);
      expect(await browser.errorShown()).toMatch(/^You have no role in Chartwire. Ask the administrator/);
      expect(await operatorId(person)).toBeUndefined();
    }
    expect(log).toContain('"reason":"sso_role_missing"');
  });

  test('a role that was lost ends the sessions of the operator', async () => {
    const person = newPerson();
    const [first, second] = [newBrowser(), newBrowser()];
    await signIn(first, person);
    await signIn(second, { ...person, roles: [] });
    expect(await second.errorShown()).toMatch(/^You have no role/);
    expect(await first.session()).toBeNull();
  });
});

describe('an operator', () => {
  test('an operator who is disabled stays refused', async () => {
    const person = newPerson();
    await signIn(newBrowser(), person);
    await owner.patch(`operators/${await operatorId(person)}`, { disabled: true });
    const browser = newBrowser();
    await signIn(browser, person);
    expect(await browser.session()).toBeNull();
    expect(await browser.errorShown()).toBe('Your account is disabled. Ask an owner to enable it.');
  });

  test('is not found by email address: a local operator is linked only if an owner allows it', async () => {
    const local = await newOperator(fixture, 'operator');
    const person = newPerson({ email: local.email, email_verified: 'true', roles: ['owners'] });
    const browser = newBrowser();
    await signIn(browser, person);
    expect(await browser.errorShown()).toMatch(/^Your email address belongs to another operator/);
    const id = await operatorId(person);
    expect((await owner.patch(`operators/${id}`, { sso_link: true })).status).toBe(200);
    expect((await local.get('session')).body.session).not.toBeNull();
    await fixture.owner`INSERT INTO operator_passkeys (id, operator_id, name, credential_id, public_key, counter, transports)
      VALUES (gen_random_uuid(), ${id ?? ''}, 'Laptop', 'synthetic', 'x', 0, '{}')`;
    for (const email_verified of [undefined, false, 'false', 'yes', 1]) {
      const unverified = newBrowser();
      await signIn(unverified, { ...person, email_verified });
      expect(await unverified.session(), String(email_verified)).toBeNull();
    }
    await signIn(browser, person);
    // The role so far limits what the provider claims.
    const linked = { id, role: 'operator', single_sign_on: true, totp: false, passkeys: 0, recovery_codes: 0 };
    expect((await browser.session()).operator).toMatchObject(linked);
    // The password, and what was signed in with it, is no longer valid.
    expect((await local.get('session')).body.session).toBeNull();
    expect((await signInLocally(fixture, local)).body.code).toBe('operator_credentials_wrong');
    // Nobody else with the address can be linked afterwards.
    const other = newBrowser();
    await signIn(other, newPerson({ email: local.email }));
    expect(await other.errorShown()).toMatch(/^Your email address belongs to another operator/);
  });

  test('is no longer linked once the owner who allowed it is disabled', async () => {
    const [local, allowing] = [await newOperator(fixture, 'operator'), await newOperator(fixture, 'owner')];
    const person = newPerson({ email: local.email, email_verified: true });
    expect((await allowing.patch(`operators/${local.id}`, { sso_link: true })).status).toBe(200);
    expect((await owner.patch(`operators/${allowing.id}`, { disabled: true })).status).toBe(200);
    const browser = newBrowser();
    await signIn(browser, person);
    expect(await browser.errorShown()).toMatch(/^Your email address belongs to another operator/);
  });

  test('is no longer linked after a day', async () => {
    const local = await newOperator(fixture, 'operator');
    const person = newPerson({ email: local.email });
    await owner.patch(`operators/${await operatorId(person)}`, { sso_link: true });
    await fixture.owner`UPDATE operators SET sso_link_until = now() - interval '1 second' WHERE email = ${local.email}`;
    const browser = newBrowser();
    await signIn(browser, person);
    expect(await browser.session()).toBeNull();
  });

  test('needs an email address that the provider does not call unverified', async () => {
    for (const claims of [
      { email: undefined },
      { email_verified: false },
      { email_verified: 'false' },
      { email_verified: null },
      { email: 'no address' },
    ]) {
      const browser = newBrowser();
      await signIn(browser, newPerson(claims as Partial<Person>));
      expect(await browser.errorShown()).toMatch(/did not send a verified email address/);
    }
  });
});

describe('a fresh sign-in', () => {
  const invited = (email: string) => ({ email, role: 'operator' });

  /** Confirms the identity of the session in this browser, and returns the error that the page shows. */
  async function confirm(browser: Browser, change: (url: URL) => void = () => {}): Promise<string | null> {
    const { csrf_token } = await browser.session();
    const { body } = await browser.api('POST', 'single-sign-on/renew', {}, { 'x-csrf-token': csrf_token });
    const url = new URL(body.url);
    expect([url.searchParams.get('max_age'), url.searchParams.get('prompt')]).toStrictEqual(['0', 'login']);
    change(url);
    const { location } = await callback(browser, await followProvider(browser, url.href));
    expect(location).toBe('/dashboard/confirmed');
    return (await browser.api('GET', 'sign-in')).body.error;
  }

  async function invite(browser: Browser, email: string): Promise<string | undefined> {
    const { csrf_token } = await browser.session();
    return (await browser.api('POST', 'invitations', invited(email), { 'x-csrf-token': csrf_token })).body.code;
  }

  test('is the provider’s word, not our own: without it, the person must sign in there again', async () => {
    const browser = newBrowser();
    await signIn(browser, newPerson({ roles: 'owners' }));
    expect(await invite(browser, 'fresh-1@example.test')).toBe('operator_sign_in_again');
    const { csrf_token: before } = await browser.session();
    expect(await confirm(browser)).toBeNull();
    expect((await browser.session()).csrf_token, 'the session stays').toBe(before);
    expect(await invite(browser, 'fresh-1@example.test')).toBeUndefined();
    await fixture.owner`UPDATE operator_sessions SET authenticated_at = now() - interval '10 minutes 1 second'`;
    expect(await invite(browser, 'fresh-2@example.test')).toBe('operator_sign_in_again');
    owner = await signInOperator(fixture);
  });

  test('is refused for another person, and leaves both as they were', async () => {
    const [person, other] = [newPerson({ roles: 'owners' }), newPerson({ roles: 'owners' })];
    const browser = newBrowser();
    await signIn(newBrowser(), other);
    await signIn(browser, person);
    provider.current = other;
    forgetProvider(browser);
    expect(await confirm(browser)).toMatch(/^You signed in at the identity provider as someone else/);
    expect((await browser.session()).operator.email).toBe(person.email);
    expect(await invite(browser, 'fresh-3@example.test')).toBe('operator_sign_in_again');
  });

  test('is refused if the provider does not ask the person again, or does not say when it did', async () => {
    const person = newPerson({ roles: 'owners' });
    const browser = newBrowser();
    await signIn(browser, person);
    // As a provider does that ignores both and still knows the browser.
    const ignore = (url: URL) => ['max_age', 'prompt'].map((name) => url.searchParams.delete(name));
    expect(await confirm(browser, ignore)).toMatch(/did not say when you signed in/);
    provider.reports_auth_time = true;
    provider.signed_in_at = Math.floor(Date.now() / 1000) - 3600;
    try {
      await provider.restart();
      await signIn(browser, person);
      expect(await invite(browser, 'fresh-4@example.test')).toBe('operator_sign_in_again');
      expect(await confirm(browser, ignore)).toMatch(/did not ask you to sign in again/);
      provider.signed_in_at = undefined;
      await signIn(browser, person);
      expect(await invite(browser, 'fresh-4@example.test'), 'a provider that has just asked').toBeUndefined();
    } finally {
      provider.reports_auth_time = false;
      provider.signed_in_at = undefined;
      await provider.restart();
    }
  });

  test('applies a role that the provider has lowered', async () => {
    const person = newPerson({ roles: 'owners' });
    const [browser, elsewhere] = [newBrowser(), newBrowser()];
    await signIn(elsewhere, person);
    await signIn(browser, person);
    provider.current = { ...person, roles: ['viewers'] };
    expect(await confirm(browser)).toBeNull();
    expect((await browser.session()).operator.role).toBe('read_only');
    expect(await elsewhere.session()).toBeNull();
    provider.current = { ...person, roles: [] };
    const { csrf_token } = await browser.session();
    const { body } = await browser.api('POST', 'single-sign-on/renew', {}, { 'x-csrf-token': csrf_token });
    await callback(browser, await followProvider(browser, body.url));
    expect(await browser.session()).toBeNull();
  });
});

describe('a callback is refused', () => {
  const expired = 'This sign-in has expired, or it was already used. Sign in again.';

  test('if it is repeated, even by the same browser', async () => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = await visitProvider(browser);
    const cookies = new Map(browser.jar);
    await callback(browser, url);
    const copy = newBrowser(cookies);
    await callback(copy, url);
    expect(await copy.errorShown()).toBe(expired);
    expect(await copy.session()).toBeNull();
  });

  test('a callback is refused in another browser, which does not use it up', async () => {
    provider.current = newPerson();
    const [browser, other] = [newBrowser(), newBrowser()];
    const url = await visitProvider(browser);
    await visitProvider(other);
    await callback(other, url);
    expect(await other.errorShown()).toBe(expired);
    await callback(browser, url);
    expect(await browser.session()).not.toBeNull();
  });

  test.each<[string, (url: URL) => unknown]>([
    ['with another state', (url) => url.searchParams.set('state', 'A'.repeat(43))],
    ['without a state', (url) => url.searchParams.delete('state')],
    ['without any parameters', (url) => Object.assign(url, { search: '' })],
  ])('%s', async (_, change) => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = new URL(await visitProvider(browser));
    change(url);
    await callback(browser, url.href);
    expect(await browser.errorShown()).toBe(expired);
    expect(await browser.session()).toBeNull();
  });

  test('a callback is refused after ten minutes', async () => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = await visitProvider(browser);
    await fixture.owner`UPDATE sso_sign_ins SET created_at = created_at - interval '10 minutes 1 second'`;
    await callback(browser, url);
    expect(await browser.errorShown()).toBe(expired);
  });

  test.each<[string, (url: URL) => void, RegExp]>([
    ['from another issuer', (url) => url.searchParams.set('iss', 'https://elsewhere.test'), /is not valid for this/],
    ['with a code of another sign-in', (url) => url.searchParams.set('code', 'A'.repeat(43)), /did not sign you in/],
  ])('%s', async (_, change, text) => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = new URL(await visitProvider(browser));
    change(url);
    await callback(browser, url.href);
    expect(await browser.errorShown()).toMatch(text);
    expect(await browser.session()).toBeNull();
  });

  test.each<[string, Forgery]>([
    ['of another issuer', { iss: 'https://elsewhere.test' }],
    ['for another client', { aud: 'someone-else' }],
    ['with another nonce', { nonce: 'another' }],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 3600 }],
    ['signed with a key that the provider does not publish', {}],
  ])('a callback is refused with an ID token %s', async (_, forgery) => {
    const person = newPerson();
    provider.current = person;
    const browser = newBrowser();
    const url = await visitProvider(browser);
    provider.intercept = await forgedTokens(person, browser.nonce(), forgery);
    await callback(browser, url);
    expect(await browser.errorShown()).toMatch(/^The identity provider’s response is not valid/);
    expect(await browser.session()).toBeNull();
    expect(await operatorId(person)).toBeUndefined();
    expect(log).toContain('"reason":"invalid"');
  });
});

describe('the provider', () => {
  test('can refuse the person', async () => {
    const browser = newBrowser();
    await signIn(browser, undefined);
    expect(await browser.errorShown()).toMatch(/^The identity provider did not sign you in/);
    expect(log).toContain('"code":"access_denied"');
  });

  test('can be down at any step', async () => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = await visitProvider(browser);
    await provider.close();
    await callback(browser, url);
    expect(await browser.errorShown()).toBe('The identity provider cannot be reached. Try again in a minute.');
    const start = await browser.api('POST', 'single-sign-on', { path: '/dashboard' });
    expect(start).toMatchObject({ status: 503, body: { code: 'sso_unavailable' } });
    expect(log).toContain('"reason":"unavailable","code":"unreachable"');
    await provider.listen();
    await signIn(browser, newPerson());
    expect(await browser.session()).not.toBeNull();
  });

  test('can refuse the client', async () => {
    provider.current = newPerson();
    const browser = newBrowser();
    const url = await visitProvider(browser);
    provider.intercept = async ({ url: path }, response) => {
      if (path !== '/token') return false;
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}');
      return true;
    };
    await callback(browser, url);
    expect(await browser.errorShown()).toMatch(/check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and the redirect URI/);
  });

  test('never appears in the log with codes, tokens or claims', async () => {
    const person = newPerson({ roles: [] });
    provider.current = person;
    const browser = newBrowser();
    const url = await visitProvider(browser);
    const secrets = [...new URL(url).searchParams.values(), ...browser.jar.values()];
    await callback(browser, url);
    expect(log).toContain('single sign-on refused');
    for (const text of [...secrets, person.sub, person.email ?? '', person.name ?? '']) {
      expect(log).not.toContain(text);
    }
  });
});

describe('OIDC_ONLY', () => {
  test('turns passwords off, except for an hour after a reset on the server', async () => {
    const { ctx } = fixture;
    const local = await newOperator(fixture, 'operator');
    const person = newPerson({ email: local.email });
    const before = ctx.config;
    ctx.config = { ...before, oidc_only: true };
    try {
      expect((await newBrowser().api('GET', 'sign-in')).body).toMatchObject({
        single_sign_on: 'Single sign-on',
        passwords: false,
      });
      expect((await signInLocally(fixture, local)).body.code).toBe('operator_password_off');
      const invitation = { email: 'more@example.test', role: 'operator' };
      expect((await owner.post('invitations', invitation)).body.code).toBe('passwords_off');
      const id = (await operatorId(person)) ?? '';
      expect((await owner.post(`operators/${id}/reset`)).body.code).toBe('passwords_off');
      const password = await resetOperator(ctx, id, async () => {}, { despite_single_sign_on: true });
      const reset = { email: local.email, password: password ?? '' };
      expect((await signInLocally(fixture, reset)).status).toBe(200);
      await fixture.owner`UPDATE operators SET local_sign_in_until = now() - interval '1 second' WHERE id = ${id}`;
      expect((await signInLocally(fixture, reset)).body.code).toBe('operator_password_off');
    } finally {
      ctx.config = before;
    }
  });
});

async function freshen({ email }: Person): Promise<void> {
  await fixture.owner`UPDATE operator_sessions SET authenticated_at = now()
    WHERE operator_id = (SELECT id FROM operators WHERE email = ${email ?? ''})`;
}

async function operatorId({ email }: Person): Promise<string | undefined> {
  const [row] = await fixture.owner<{ id: string }[]>`
    SELECT replace(id::text, '-', '') AS id FROM operators WHERE email = ${email?.toLowerCase() ?? ''}`;
  return row?.id;
}

type Forgery = { iss?: string; aud?: string; nonce?: string; exp?: number };

/** Replaces the provider's token response by one with an ID token that a stranger signed. */
async function forgedTokens(person: Person, nonce: string, forgery: Forgery): Promise<TestProvider['intercept']> {
  const { privateKey } = await generateKeyPair('RS256');
  const exp = Math.floor(Date.now() / 1000) + 60;
  const { issuer, client } = provider;
  const claims = { ...person, iss: issuer, aud: client.client_id, nonce, exp, ...forgery };
  const id_token = await new SignJWT(claims).setIssuedAt().setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  return async ({ url }, response) => {
    if (url !== '/token') return false;
    const body = JSON.stringify({ access_token: 'token', token_type: 'Bearer', id_token });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    return true;
  };
}
