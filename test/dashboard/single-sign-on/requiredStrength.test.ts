import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import {
  type Person,
  providerSettings,
  startProvider,
  type TestProvider,
} from '../../harness/servers/identityProvider.ts';
import { callback, createBrowser, followProvider, signInAs } from './browsers.ts';

let provider: TestProvider;
let fixture: TestSandbox;
beforeAll(async () => {
  provider = await startProvider();
  const required = { OIDC_ACR_VALUES: 'urn:example:mfa, urn:example:hardware', OIDC_AMR_VALUES: 'otp,hwk' };
  const env = { ...providerSettings(provider, 'staff=operator'), ...required, ADDRESS_RATE_BURST: '100000' };
  fixture = await startSandbox({ small: true, env });
  await provider.allowRedirect(fixture.sandbox.base_url);
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});

let people = 0;
function newPerson(strength: Pick<Person, 'acr' | 'amr'>): Person {
  const sub = `subject-${++people}`;
  return { sub, email: `${sub}@example.test`, name: `Synthetic ${sub}`, roles: ['staff'], ...strength };
}
const newBrowser = () => createBrowser(fixture.sandbox.base_url);
const strong = { acr: 'urn:example:mfa', amr: ['pwd', 'otp'] };

test('the required classes are requested from the provider, at a sign-in and to confirm an identity', async () => {
  const browser = newBrowser();
  const { body } = await browser.api('POST', 'single-sign-on', { path: '/dashboard' });
  expect(new URL(body.url).searchParams.get('acr_values')).toBe('urn:example:mfa urn:example:hardware');
});

test('a sign-in with a required class and method is accepted', async () => {
  const browser = newBrowser();
  await signInAs(provider, browser, newPerson(strong));
  expect(await browser.session()).not.toBeNull();
});

test.each<[string, Pick<Person, 'acr' | 'amr'>, string, string]>([
  ['another class', { ...strong, acr: 'urn:example:password' }, 'sso_acr_missing', 'level of security'],
  ['no class', { amr: ['otp'] }, 'sso_acr_missing', 'level of security'],
  ['other methods', { ...strong, amr: ['pwd'] }, 'sso_amr_missing', 'method that is required'],
  ['no methods', { acr: strong.acr }, 'sso_amr_missing', 'method that is required'],
])('a sign-in with %s is refused with the reason, and creates no operator', async (_name, strength, code, message) => {
  const browser = newBrowser();
  const person = newPerson(strength);
  await signInAs(provider, browser, person);
  expect(await browser.session()).toBeNull();
  expect(await browser.errorShown()).toContain(message);
  expect(await fixture.owner`SELECT FROM operators WHERE email = ${person.email ?? ''}`).toHaveLength(0);
  const [record] = await fixture.owner<{ outcome: string; detail: object }[]>`
    SELECT outcome, detail FROM audit_records WHERE action = 'operator.sign_in' ORDER BY id DESC LIMIT 1`;
  expect(record).toMatchObject({ outcome: code, detail: { method: 'single_sign_on', ...strength } });
});

test('user info cannot stand in for the ID token', async () => {
  const person = { ...newPerson({ amr: ['otp'] }), acr_of_user_info: strong.acr };
  provider.intercept = async ({ url = '' }, response) => {
    if (!url.startsWith('/me')) return false;
    const { sub, email, roles } = person;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ sub, email, roles, ...strong }));
    return true;
  };
  const browser = newBrowser();
  await signInAs(provider, browser, person);
  provider.intercept = undefined;
  expect(await browser.session()).toBeNull();
  expect(await browser.errorShown()).toContain('level of security');
});

test('an identity is confirmed only with the required strength', async () => {
  const person = newPerson(strong);
  const browser = newBrowser();
  await signInAs(provider, browser, person);
  provider.current = { ...person, acr: 'urn:example:password' };
  const { csrf_token } = await browser.session();
  const { body } = await browser.api('POST', 'single-sign-on/renew', {}, { 'x-csrf-token': csrf_token });
  await callback(browser, await followProvider(browser, body.url));
  expect(await browser.errorShown()).toContain('level of security');
});

test('the settings need an issuer and commas', () => {
  const env = { ...fixture.env, OIDC_ACR_VALUES: 'a b' };
  expect(() => loadConfig(env)).toThrow('OIDC_ACR_VALUES must be separated by commas');
  const { OIDC_ISSUER: _, ...without } = fixture.env;
  expect(() => loadConfig({ ...without, OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '', OIDC_ROLES: '' })).toThrow(
    'OIDC_ACR_VALUES is set, so OIDC_ISSUER must be set too.',
  );
});
