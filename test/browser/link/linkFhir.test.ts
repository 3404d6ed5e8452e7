import type { Frame, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Connector } from '../../../src/emr/connector.ts';
import { fhir } from '../../../src/emr/fhir/fhir.ts';
import { newClient } from '../../api/support.ts';
import { accessibilityViolations } from '../../harness/browser.ts';
import { appFor, redirectUri } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { type LinkWindow, openLinkWindow } from '../../harness/servers/linkHost.ts';
import { expectAccessible, signIn } from '../dashboard/fixture.ts';
import { agree, endings, focused, type LinkFixture, startLink, untilAlert, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startLink(), startFhirServer({ data: 'small' })]);
  server.register({
    client_id: 'by-page',
    redirect_uris: [await redirectUri(fixture.product, server.url)],
  });
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const tokenFor = (body = {}) => fixture.steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body });

/** Opens the form of a method that is meant for administrators. */
async function choose(frame: Frame, method: string): Promise<void> {
  await agree(frame);
  const details = frame.locator('details.administrators');
  await details.waitFor();
  if ((await details.getAttribute('open')) === null) await details.locator('summary').press('Enter');
  await frame.click(`button.choice:has-text("${method}")`);
}
const submit = (frame: Frame) => frame.click('button[type="submit"]');
const untilFacts = (frame: Frame, text: string) =>
  expect.poll(() => frame.locator('.facts').innerText()).toContain(text);

/** Clicks the button and waits for the EMR's sign-in page. */
async function openedPage(window: LinkWindow, frame: Frame): Promise<Page> {
  const opening = window.page.waitForEvent('popup');
  await submit(frame);
  const popup = await opening;
  await popup.waitForSelector('h1:has-text("Meadowbrook EMR")');
  return popup;
}

async function allow(popup: Page, choice: 'allow' | 'deny' = 'allow'): Promise<void> {
  const [person] = server.people;
  await popup.fill('input[name="username"]', person?.username ?? '');
  await popup.fill('input[name="password"]', person?.password ?? '');
  await popup.click(`button[value="${choice}"]`);
}

async function atPage(token: string): Promise<{ window: LinkWindow; frame: Frame }> {
  const window = await fixture.open();
  const frame = await window.start(token);
  await focused(frame, 'client_id');
  await frame.fill('input[name="client_id"]', 'by-page');
  return { window, frame };
}

describe('sign-in methods', () => {
  test('starts with the EMR’s own page; the other methods are for administrators, with what they need', async () => {
    const { host } = new URL(server.url);
    const window = await fixture.open();
    const frame = await window.start(await tokenFor());
    await frame.waitForSelector('h1:focus');
    // Nobody knows their EMR as “FHIR R4”, and the path is part of its address.
    await expect.poll(() => frame.innerText('h1')).toBe(`Sandbox wants access to ${host}`);
    await untilFacts(frame, `${host}/fhir/R4`);
    await focused(frame, 'client_id');
    await expect.poll(() => frame.innerText('button[type="submit"]')).toBe('Open sign-in page');
    await expect.poll(() => frame.locator('button.choice').first().isVisible()).toBe(false);
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await frame.locator('summary').press('Enter');
    await untilFacts(frame, await redirectUri(fixture.product, server.url));
    await expect.poll(() => frame.locator('button.choice strong').allInnerTexts()).toContain('Client ID and secret');
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await choose(frame, 'Client ID and secret');
    await frame.click('button:has-text("Choose another method")');
    await choose(frame, 'Bearer token');
    await frame.waitForSelector('input[name="bearer_token"]');
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await submit(frame);
    await untilAlert(frame, /Fill in all fields/);
    await frame.fill('input[name="bearer_token"]', 'wrong');
    await submit(frame);
    await untilAlert(frame, new RegExp(`${host} did not accept these credentials`));
    await expect.poll(() => frame.inputValue('input[name="bearer_token"]')).toBe('');
    await frame.fill('input[name="bearer_token"]', server.bearerToken());
    await submit(frame);
    await untilClosed(window);
    const [[kind, public_token] = []] = await endings(window);
    expect(kind).toBe('success');
    expect((await fixture.steps.exchange(String(public_token))).status).toBe(200);
    await window.close();
  });

  test('a redirect URI and a message for the administrator can be copied; neither contains the link', async () => {
    const { base_url } = fixture.product.sandbox;
    const window = await fixture.open();
    await window.page.context().grantPermissions(['clipboard-read']);
    const token = await tokenFor({ org_id: 'asks-administrator' });
    const frame = await window.start(token);
    await focused(frame, 'client_id');
    const clipboard = () => window.page.evaluate<string>('navigator.clipboard.readText()');
    await frame.locator('summary').press('Enter');
    await frame.getByRole('button', { name: 'Copy: Our redirect URI' }).press('Enter');
    await frame.getByText('Copied').first().waitFor();
    await frame.getByRole('button', { name: 'Copy message' }).press('Enter');
    const mail = decodeURIComponent((await frame.locator('a[href^="mailto:"]').getAttribute('href')) ?? '');
    expect(mail).toContain('Sandbox wants to connect to our EMR for asks-administrator.');
    expect(mail).toContain(`${new URL(server.url).host}/fhir/R4`);
    expect(mail).toContain(`Our redirect URI: ${base_url}/link/v1/oauth/callback/`);
    expect(mail).not.toContain(token);
    // The frame has the focus, and only a focused document may read the clipboard.
    await window.page.keyboard.press('Escape');
    await untilClosed(window);
    await expect.poll(clipboard).toBe(mail.split('&body=')[1]);
    await window.close();
  });

  test('a link whose success reaches the application is sent to the administrator, with the time until which it works', async () => {
    const callback_url = `${fixture.host.origin}/back`;
    const client = await newClient(fixture.product, { callback_urls: [callback_url] });
    const body = { emr_name: 'fhir', emr_instance_domain: server.url, org_id: 'sends-page', callback_url };
    const token = await fixture.steps.linkToken(body, client.api);
    const window = await fixture.openHosted(token);
    const frame = await window.frame();
    await focused(frame, 'client_id');
    const send = frame.getByRole('link', { name: 'Send this page to my administrator' });
    const mail = decodeURIComponent((await send.getAttribute('href')) ?? '');
    const url = `${fixture.product.sandbox.base_url}/link#token=${token}`;
    expect(mail).toContain(`Please open this page and connect it:\n\n${url}\n`);
    expect(mail).toMatch(/The link works once, until \w+ \d+.* \d+:\d\d/);
    await expect.poll(() => frame.innerText('.others + .note')).toMatch(/^The link works once, until \w+ \d+/);
    // The administrator goes on elsewhere, and agrees too.
    const other = await openLinkWindow(fixture.browser, url);
    await focused(other.page.mainFrame(), 'client_id');
    await other.close();
    await window.close();
  });

  test('says that an administrator is needed if the server has no sign-in page', async () => {
    // Tests run in the product's process and can change its connectors.
    const connectors = fixture.product.ctx.connectors as Map<string, Connector>;
    const offeredWays = async () => ({ ways: ['client_secret', 'bearer_token'] });
    connectors.set('pageless', { ...fhir, name: 'pageless', offeredWays });
    const window = await fixture.open();
    const frame = await window.start(await tokenFor({ emr_name: 'pageless' }));
    await agree(frame);
    await frame.waitForSelector('h1:has-text("Your EMR administrator can connect")');
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await choose(frame, 'Bearer token');
    await frame.fill('input[name="bearer_token"]', server.bearerToken());
    await submit(frame);
    await untilClosed(window);
    await window.close();
  });

  test('shows the methods in Spanish, also after the EMR’s page, and a long URL in few lines at 320 pixels', async () => {
    const window = await fixture.open({ locale: 'en-US', viewport: { width: 320, height: 640 } });
    const frame = await window.start(await tokenFor({ language: 'es' }));
    await focused(frame, 'client_id');
    await frame.locator('summary', { hasText: 'Para administradores' }).press('Enter');
    await frame.locator('button.choice', { hasText: 'ID y secreto de cliente' }).waitFor();
    const value = frame.locator('dd', { hasText: '/oauth/callback/' });
    expect((await value.boundingBox())?.width).toBeGreaterThan(200);
    await frame.waitForSelector('button[type="submit"]:has-text("Abrir la página")');
    await expect
      .poll(() => frame.locator('label').allInnerTexts())
      .toEqual(['ID de cliente', 'Secreto de cliente (opcional)']);
    await frame.fill('input[name="client_id"]', 'by-page');
    const popup = await openedPage(window, frame);
    // The link's language, not the browser's.
    await popup.goto(`${await redirectUri(fixture.product, server.url)}?state=another&code=x`);
    await popup.waitForSelector('p:has-text("se abrió en otra ventana")');
    await window.close();
  });

  test.each([
    ['has no FHIR server', () => fixture.product.sandbox.base_url, 'There is no FHIR server at this address.'],
    ['does not exist', () => 'http://nowhere.localhost:9/fhir', 'The host nowhere.localhost could not be found'],
  ])('says before anything is typed that the address %s', async (_case, address, words) => {
    const window = await fixture.open();
    const frame = await window.start(await tokenFor({ emr_instance_domain: address() }));
    await frame.waitForSelector('h1:has-text("This EMR address does not work")');
    const text = await frame.innerText('.lead');
    expect(text).toContain(words);
    expect(text).toContain(address().replace('http://', ''));
    expect(text).not.toMatch(/reject|moment/);
    await expect.poll(() => frame.locator('input').count()).toBe(0);
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    const again = window.page.waitForResponse('**/link/v1/session');
    await window.page.keyboard.press('Enter');
    await again;
    await window.close();
  });

  test('asks for consent again if the EMR names another sign-in page meanwhile', async () => {
    const { window, frame } = await atPage(await tokenFor({ org_id: 'moving' }));
    await fixture.product.owner`UPDATE link_consents SET terms_hash = 'before',
      terms = jsonb_set(terms, '{sign_in_hosts}', '{"authorization_code": "before.example.org"}')
      WHERE terms ->> 'organization' = 'moving'`;
    await submit(frame);
    await untilAlert(frame, /has changed\. Please check it again/);
    await frame.waitForSelector('.consent');
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await focused(frame, 'client_id');
    await frame.fill('input[name="client_id"]', 'by-page');
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    await window.close();
  });
});

describe('a server that deviates from the standards', () => {
  /** Does not decode Basic credentials, nests lists, and sends ID tokens and nonces that were not requested. */
  const deviate = () =>
    Object.assign(server.faults, {
      basic_credentials: 'verbatim',
      discovery: 'nested',
      unasked_id_token: true,
      nonce: 'always',
      scope_policy: 'all_or_nothing',
      client_errors: 'described',
    } satisfies Partial<FhirServer['faults']>);

  async function fillIn(frame: Frame, input: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(input)) await frame.fill(`input[name="${name}"]`, value);
    await submit(frame);
  }

  test('is linked by secret, after wrong ones are named', async () => {
    deviate();
    const { client_id, client_secret } = server.clients.confidential;
    const window = await fixture.open();
    const frame = await window.start(await tokenFor());
    await choose(frame, 'Client ID and secret');
    await fillIn(frame, { client_id: 'nobody', client_secret });
    await untilAlert(frame, /does not recognize this client ID.*For the administrator/s);
    await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
    await fillIn(frame, { client_id, client_secret: 'of last year' });
    await untilAlert(frame, /did not accept the client secret/);
    await frame.waitForSelector('input[name="client_secret"][aria-invalid="true"]:focus');
    await fillIn(frame, { client_secret });
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.close();
  });

  test('is linked by key, after the key set of its EMR app was registered', async () => {
    deviate();
    const operator = await signInOperator(fixture.product);
    const credentials = { way: 'backend_services', client_id: 'by-key' };
    const { id } = (await operator.post('clients/{client}/emr-apps', appFor(server.url, credentials))).body;
    onTestFinished(async () => void (await fixture.product.owner`DELETE FROM emr_apps WHERE id = ${id}`));
    const { base_url, client_id } = fixture.product.sandbox;
    const key_set = `${base_url}/.well-known/jwks/${client_id}/${id}.json`;
    server.register({ client_id: 'by-key', jwks: { keys: [] } });
    const window = await fixture.open();
    const frame = await window.start(await tokenFor());
    await agree(frame);
    await submit(frame);
    await untilAlert(frame, /does not accept our signing key/);
    await expect.poll(() => frame.locator('.message code').innerText()).toBe(key_set);
    server.register({ client_id: 'by-key', jwks_url: key_set });
    await submit(frame);
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.close();
  });

  test('is linked on its own page, after its scopes were granted', async () => {
    deviate();
    server.faults.scope_policy = 'registered_only';
    const { window, frame } = await atPage(await tokenFor());
    await allow(await openedPage(window, frame));
    await untilAlert(frame, /does not give this application the access/);
    await expect.poll(() => frame.locator('.message code').innerText()).toBe('openid fhirUser offline_access user/*.*');
    server.faults.scope_policy = 'all_or_nothing';
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.close();
  });

  test('is offered only the methods that it supports', async () => {
    server.faults.auth_methods = ['private_key_jwt'];
    const window = await fixture.open();
    const frame = await window.start(await tokenFor());
    await focused(frame, 'client_id');
    const methods = () => frame.locator('button.choice strong').allTextContents();
    await expect.poll(methods).toContain('Bearer token');
    expect(await methods()).not.toContain('Client ID and secret');
    await window.close();
  });
});

describe('the EMR’s sign-in page', () => {
  test('opens in a new window, and Link continues after sign-in', async () => {
    const { window, frame } = await atPage(await tokenFor());
    const popup = await openedPage(window, frame);
    const closed = popup.waitForEvent('close');
    await allow(popup);
    await closed;
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    const events = (await window.calls()).filter(([kind]) => kind === 'event').map(([, name]) => name);
    expect(events).toEqual(['opened', 'consented', 'page_opened', 'credentials_submitted', 'linked']);
    expect(await window.page.context().cookies()).toEqual([]);
    await window.close();
  });

  test('works from the hosted page', async () => {
    const window = await fixture.openHosted(await tokenFor());
    const frame = await window.frame();
    await focused(frame, 'client_id');
    await frame.fill('input[name="client_id"]', 'by-page');
    await allow(await openedPage(window, frame));
    await frame.waitForSelector(`h1:has-text("${new URL(server.url).host} is connected")`);
    await window.close();
  });

  test('can be opened again after it was denied, closed or blocked, and keeps the input', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await frame.fill('input[name="app_secret"]', 'a secret of the application');
    await allow(await openedPage(window, frame), 'deny');
    await untilAlert(frame, /was canceled or denied/);
    await frame.waitForSelector('button[type="submit"]:focus');
    expect(await frame.inputValue('input[name="app_secret"]')).toBe('a secret of the application');
    await frame.fill('input[name="app_secret"]', '');

    await (await openedPage(window, frame)).close();
    await untilAlert(frame, /If you closed it, open it again/);

    // As a pop-up blocker does.
    await frame.evaluate('globalThis.real_open = globalThis.open; globalThis.open = () => null');
    await submit(frame);
    await untilAlert(frame, /blocked the sign-in window. Allow pop-ups/);
    await frame.evaluate('globalThis.open = globalThis.real_open');

    await allow(await openedPage(window, frame));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.close();
  });

  test('shows a wrong client secret at its field', async () => {
    const redirect_uris = [await redirectUri(fixture.product, server.url)];
    server.register({ client_id: 'by-page-secret', client_secret: 'right', redirect_uris });
    const { window, frame } = await atPage(await tokenFor());
    await frame.fill('input[name="client_id"]', 'by-page-secret');
    await frame.fill('input[name="app_secret"]', 'wrong');
    await allow(await openedPage(window, frame));
    await untilAlert(frame, /did not accept the client secret.*For the administrator/s);
    await frame.waitForSelector('input[name="app_secret"][aria-invalid="true"]:focus');
    await frame.fill('input[name="app_secret"]', 'right');
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    await window.close();
  });

  test('is not mistaken for closed if it cuts the connection to its opener', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await window.page.context().route(`${server.issuer}/**`, async (route) => {
      const response = await route.fetch({ maxRedirects: 0 });
      await route.fulfill({
        response,
        headers: { ...response.headers(), 'cross-origin-opener-policy': 'same-origin' },
      });
    });
    const severed = async () => {
      const opening = window.page.context().waitForEvent('page');
      await submit(frame);
      const popup = await opening;
      await popup.waitForSelector('h1:has-text("Meadowbrook EMR")');
      await untilAlert(frame, /is still open, continue there/);
      return popup;
    };
    const declined = await severed();
    await allow(declined, 'deny');
    await untilAlert(frame, /was canceled or denied/);
    // Link cannot close this window, so it explains where to continue.
    await declined.waitForSelector('.lead:has-text("The original page shows what happened")');
    await declined.close();
    await allow(await severed());
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.close();
  });

  test('closes its window if the EMR is unavailable, and Link shows why', async () => {
    const { window, frame } = await atPage(await tokenFor());
    server.fail({ kind: 'error_500', path: 'smart-configuration' });
    await submit(frame);
    await untilAlert(frame, /Cannot reach 127\.0\.0\.1:\d+ right now/);
    await window.close();
  });

  test('does not sign in a person who received its URL from someone else', async () => {
    const { window, frame } = await atPage(await tokenFor());
    const popup = await openedPage(window, frame);
    // Another person opens the URL in another browser and signs in.
    const other_person = await fixture.browser.newPage();
    await other_person.goto(popup.url());
    await allow(other_person);
    await other_person.waitForSelector('p:has-text("was started in another window")');
    await expect.poll(() => new URL(other_person.url()).search).toBe('');
    await expect.poll(() => accessibilityViolations(other_person)).toEqual([]);
    expect(await endings(window)).toEqual([]);
    await other_person.context().close();
    await window.close();
  });

  test('is not opened by another site’s window', async () => {
    const page = await fixture.browser.newPage();
    await page.goto(fixture.host.origin);
    const opening = page.waitForEvent('popup');
    await page.evaluate(`globalThis.heard = []; addEventListener('message', ({ data }) => heard.push(data));
      globalThis.opened = open('${fixture.product.sandbox.base_url}/link/v1/oauth/window');`);
    const popup = await opening;
    await popup.waitForSelector('.loading');
    await page.evaluate(`opened.postMessage({ type: 'chartwire:go', token: 'lt_x', credentials: {} }, '*')`);
    await popup.waitForLoadState();
    expect(popup.url()).toBe(`${fixture.product.sandbox.base_url}/link/v1/oauth/window`);
    expect(await page.evaluate('heard')).toEqual([]);
    await page.context().close();
  });
});

/** An expired account: its access token, and a link token to re-link it. */
async function expired(user_id: string, credentials: Record<string, string>) {
  const { product, steps } = fixture;
  const person = { user_id, org_id: user_id };
  const link_token = await tokenFor(person);
  await steps.consent(link_token);
  const first = await steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
  const access_token = (await steps.exchange(first.body.public_token)).body.token;
  await product.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = ${user_id}`;
  await product.owner`SELECT pg_notify('chartwire_access', '')`;
  return { access_token, token: await tokenFor({ ...person, access_token }) };
}

test('an expired account is re-linked with one click if all credentials are saved', async () => {
  const { product } = fixture;
  const { access_token, token } = await expired('again', { way: 'client_secret', ...server.clients.confidential });
  const window = await fixture.open();
  const frame = await window.start(token);
  await frame.waitForSelector('button[type="submit"]:has-text("Reconnect")');
  await expect.poll(() => frame.locator('.facts').innerText()).toContain(server.clients.confidential.client_id);
  await submit(frame);
  await untilClosed(window);
  expect((await product.api.call('GET', '/v1/settings', { headers: { access_token } })).status).toBe(200);
  await window.close();
});

test('an account with a rejected saved token is asked only for a new token', async () => {
  const { access_token, token } = await expired('replaced', {
    way: 'bearer_token',
    bearer_token: server.bearerToken(),
  });
  server.expireTokens('all');
  const window = await fixture.open();
  const frame = await window.start(token);
  await frame.waitForSelector('button[type="submit"]:has-text("Reconnect")');
  await submit(frame);
  await frame.waitForSelector('input[name="bearer_token"]:focus');
  await expect.poll(() => frame.locator('input').count()).toBe(1);
  expect(await frame.innerText('.lead')).toMatch(/no longer accepts the saved credentials/);
  await frame.fill('input[name="bearer_token"]', 'wrong');
  await submit(frame);
  await untilAlert(frame, /did not accept these credentials/);
  await frame.waitForSelector('input[name="bearer_token"]:focus');
  await frame.fill('input[name="bearer_token"]', server.bearerToken());
  await submit(frame);
  await untilClosed(window);
  expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
  const headers = { access_token };
  expect((await fixture.product.api.call('GET', '/v1/settings', { headers })).status).toBe(200);
  await window.close();
});

test('the dashboard shows the connection reports of failed links and of accounts', async () => {
  const person = { user_id: 'reported', org_id: 'reported' };
  const token = await tokenFor(person);
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const link = (client_secret: string) =>
    fixture.steps.signIn(token, 0, { credentials: { ...credentials, client_secret }, one_time_code: undefined });
  server.faults.client_errors = 'described';
  expect((await link('of last year')).status).toBe(400);
  const { dashboard, client_id } = fixture.product.sandbox;
  const page = await fixture.browser.newPage();
  await page.goto(`${dashboard.url}/clients/${client_id}/accounts`);
  await signIn(page, dashboard);
  const failed = page.getByRole('region', { name: 'Failed link attempts' }).first();
  await failed.getByRole('link', { name: 'reported' }).click();
  await page.getByText('FHIR R4 rejected the client secret.').waitFor();
  await page.getByRole('row').filter({ hasText: 'invalid_request: Invalid secret' }).first().waitFor();
  await expectAccessible(page);
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download JSON' }).click();
  expect((await saved).suggestedFilename()).toBe('connection-report.json');
  await page.getByRole('link', { name: 'All accounts' }).click();
  expect((await link(credentials.client_secret)).status).toBe(200);
  const account = page.getByRole('region', { name: 'reported', exact: true });
  await account.getByRole('link', { name: 'Connection report' }).click();
  await page.getByRole('cell', { name: 'GET [base]/.well-known/smart-configuration' }).waitFor();
  await page.close();
});
