import type { Frame, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults } from '../harness/browser.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import type { LinkWindow } from '../harness/linkHost.ts';
import { endings, type LinkPlace, startLinkPlace, untilAlert, untilClosed } from './linkPlace.ts';

let place: LinkPlace;
let server: FhirServer;
beforeAll(async () => {
  [place, server] = await Promise.all([startLinkPlace(), startFhirServer({ data: 'small' })]);
  server.register({
    client_id: 'by-page',
    redirect_uris: [`${place.world.sandbox.base_url}/link/v1/oauth/callback`],
  });
});
afterEach(() => server.reset());
afterAll(async () => {
  await place.close();
  await server.close();
});

const tokenFor = (body = {}) => place.steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body });

const choose = (frame: Frame, way: string) => frame.click(`button.choice:has-text("${way}")`);
const submit = (frame: Frame) => frame.click('button[type="submit"]');
const on_page = 'Sign in on the EMR’s own page';

/** The EMR's page, which opens when the button is pressed. */
async function openedPage(window: LinkWindow, frame: Frame): Promise<Page> {
  const opening = window.page.waitForEvent('popup');
  await submit(frame);
  const popup = await opening;
  await popup.waitForSelector('h1:has-text("Meadowbrook EMR")');
  return popup;
}

async function allow(popup: Page, answer: 'allow' | 'deny' = 'allow'): Promise<void> {
  const [person] = server.people;
  await popup.fill('input[name="username"]', person?.username ?? '');
  await popup.fill('input[name="password"]', person?.password ?? '');
  await popup.click(`button[value="${answer}"]`);
}

async function atPage(token: string): Promise<{ window: LinkWindow; frame: Frame }> {
  const window = await place.open();
  const frame = await window.start(token);
  await choose(frame, on_page);
  await frame.fill('input[name="client_id"]', 'by-page');
  return { window, frame };
}

describe('the ways to sign in', () => {
  test('are a choice, then fields; one is linked, and the settings tell what its server can do', async () => {
    const window = await place.open();
    const frame = await window.start(await tokenFor());
    await frame.waitForSelector('button.choice:focus');
    expect(await frame.locator('button.choice strong').allInnerTexts()).toEqual([
      'Signed by key (SMART backend services)',
      'Client ID and secret',
      on_page,
      'Bearer token',
    ]);
    expect(await accessibilityFaults(frame)).toEqual([]);
    await choose(frame, 'Bearer token');
    expect(await accessibilityFaults(frame)).toEqual([]);
    await submit(frame);
    await untilAlert(frame, /Fill in every field/);
    await frame.fill('input[name="bearer_token"]', 'wrong');
    await submit(frame);
    await untilAlert(frame, /FHIR R4 did not accept what you entered/);
    expect(await frame.inputValue('input[name="bearer_token"]')).toBe('');
    await frame.fill('input[name="bearer_token"]', server.bearerToken());
    await submit(frame);
    await untilClosed(window);
    const [[kind, public_token] = []] = await endings(window);
    expect(kind).toBe('success');
    expect((await place.steps.exchange(String(public_token))).status).toBe(200);
    await window.page.context().close();
  });

  test('can be changed, and say what the EMR’s administrator needs of us', async () => {
    const { base_url } = place.world.sandbox;
    const window = await place.open();
    const frame = await window.start(await tokenFor());
    await choose(frame, 'Signed by key');
    expect(await frame.locator('.facts').innerText()).toContain(`${base_url}/.well-known/jwks.json`);
    await frame.click('button:has-text("Choose another way")');
    await choose(frame, on_page);
    expect(await frame.locator('.facts').innerText()).toContain(`${base_url}/link/v1/oauth/callback`);
    expect(await accessibilityFaults(frame)).toEqual([]);
    await window.page.context().close();
  });

  test('show a long address in few lines, also at 320 pixels', async () => {
    const window = await place.open({ viewport: { width: 320, height: 640 } });
    const frame = await window.start(await tokenFor({ language: 'es' }));
    await choose(frame, 'Firma con clave');
    const value = frame.locator('dd', { hasText: 'jwks.json' });
    expect((await value.boundingBox())?.width).toBeGreaterThan(200);
    await window.page.context().close();
  });

  test('stand in Spanish too', async () => {
    const window = await place.open();
    const frame = await window.start(await tokenFor({ language: 'es' }));
    await choose(frame, 'Iniciar sesión en la página del EMR');
    expect(await frame.locator('label').allInnerTexts()).toEqual(['ID de cliente', 'Secreto de cliente, si lo hay']);
    await frame.waitForSelector('button[type="submit"]:has-text("Abrir la página")');
    await window.page.context().close();
  });

  test('of a server that cannot be used end with the reason', async () => {
    const window = await place.open();
    const frame = await window.start(await tokenFor({ emr_instance_domain: place.world.sandbox.base_url }));
    await choose(frame, 'Bearer token');
    await frame.fill('input[name="bearer_token"]', 'x');
    await submit(frame);
    await untilAlert(frame, /refused the sign-in.*Reason: There is no FHIR server at this address\./s);
    await window.page.context().close();
  });
});

describe('the EMR’s own page', () => {
  test('opens in a window of its own, and Link goes on by itself when the person has signed in there', async () => {
    const { window, frame } = await atPage(await tokenFor());
    const popup = await openedPage(window, frame);
    const closed = popup.waitForEvent('close');
    await allow(popup);
    await closed;
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    const events = (await window.calls()).filter(([kind]) => kind === 'event').map(([, name]) => name);
    expect(events).toEqual(['opened', 'page_opened', 'credentials_submitted', 'linked']);
    expect(await window.page.context().cookies()).toEqual([]);
    await window.page.context().close();
  });

  test('works from the hosted page as well', async () => {
    const window = await place.openHosted(await tokenFor());
    const frame = await window.frame();
    await choose(frame, on_page);
    await frame.fill('input[name="client_id"]', 'by-page');
    await allow(await openedPage(window, frame));
    await frame.waitForSelector('h1:has-text("FHIR R4 is connected")');
    await window.page.context().close();
  });

  test('on which the person declines is told so, and can be opened again', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await allow(await openedPage(window, frame), 'deny');
    await untilAlert(frame, /was stopped or declined there/);
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.page.context().close();
  });

  test('that is declined leaves what was typed, so that one press opens it again', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await frame.fill('input[name="app_secret"]', 'a secret of the application');
    await allow(await openedPage(window, frame), 'deny');
    await untilAlert(frame, /was stopped or declined there/);
    await frame.waitForSelector('button[type="submit"]:focus');
    expect(await frame.inputValue('input[name="app_secret"]')).toBe('a secret of the application');
    await window.page.context().close();
  });

  test('where the application’s own secret is wrong is told so, at the field to type it again', async () => {
    const redirect_uris = [`${place.world.sandbox.base_url}/link/v1/oauth/callback`];
    server.register({ client_id: 'by-page-secret', client_secret: 'right', redirect_uris });
    const { window, frame } = await atPage(await tokenFor());
    await frame.fill('input[name="client_id"]', 'by-page-secret');
    await frame.fill('input[name="app_secret"]', 'wrong');
    await allow(await openedPage(window, frame));
    await untilAlert(frame, /did not accept what you entered/);
    await frame.waitForSelector('input[name="app_secret"][aria-invalid="true"]:focus');
    await frame.fill('input[name="app_secret"]', 'right');
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    await window.page.context().close();
  });

  test('that cuts its tie to our window is not taken for closed for good: Link goes on when it is done', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await window.page.context().route(`${server.issuer}/**`, async (route) => {
      const answer = await route.fetch({ maxRedirects: 0 });
      await route.fulfill({
        response: answer,
        headers: { ...answer.headers(), 'cross-origin-opener-policy': 'same-origin' },
      });
    });
    const severed = async () => {
      const opening = window.page.context().waitForEvent('page');
      await submit(frame);
      const popup = await opening;
      await popup.waitForSelector('h1:has-text("Meadowbrook EMR")');
      await untilAlert(frame, /If it is still open, go on there/);
      return popup;
    };
    const declined = await severed();
    await allow(declined, 'deny');
    await untilAlert(frame, /was stopped or declined there/);
    // Link cannot close this window, so it says where to go on.
    await declined.waitForSelector('.lead:has-text("The page you came from says what happened")');
    await declined.close();
    await allow(await severed());
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
    await window.page.context().close();
  });

  test('that is closed early is told so, and can be opened again', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await (await openedPage(window, frame)).close();
    await untilAlert(frame, /window seems to be closed.*press the button to open it again/s);
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    await window.page.context().close();
  });

  test('that the browser does not open is told so, and can be opened once it does', async () => {
    const { window, frame } = await atPage(await tokenFor());
    await frame.evaluate('globalThis.kept = globalThis.open; globalThis.open = () => null');
    await submit(frame);
    await untilAlert(frame, /did not let the sign-in window open. Allow pop-ups/);
    await frame.evaluate('globalThis.open = globalThis.kept');
    await allow(await openedPage(window, frame));
    await untilClosed(window);
    await window.page.context().close();
  });

  test('cannot be begun where the EMR is away: the window closes, and Link says why', async () => {
    const { window, frame } = await atPage(await tokenFor());
    server.fail({ kind: 'error_500', path: 'smart-configuration' });
    await submit(frame);
    await untilAlert(frame, /cannot be reached right now/);
    await window.page.context().close();
  });

  test('leads nobody back who did not leave from here: an address that was passed on signs nobody in', async () => {
    const { window, frame } = await atPage(await tokenFor());
    const popup = await openedPage(window, frame);
    // Somebody else, in a browser of their own, follows the address and signs in.
    const stranger = await place.browser.newPage();
    await stranger.goto(popup.url());
    await allow(stranger);
    await stranger.waitForSelector('p:has-text("was not started in this window")');
    expect(new URL(stranger.url()).search).toBe('');
    expect(await accessibilityFaults(stranger)).toEqual([]);
    expect(await endings(window)).toEqual([]);
    await stranger.context().close();
    await window.page.context().close();
  });

  test('leads back in the language of the link, whatever the browser’s', async () => {
    const window = await place.open({ locale: 'en-US' });
    const frame = await window.start(await tokenFor({ language: 'es' }));
    await choose(frame, 'Iniciar sesión en la página del EMR');
    await frame.fill('input[name="client_id"]', 'by-page');
    const popup = await openedPage(window, frame);
    await popup.goto(`${place.world.sandbox.base_url}/link/v1/oauth/callback?state=another&code=x`);
    await popup.waitForSelector('p:has-text("no empezó en esta ventana")');
    await window.page.context().close();
  });

  test('is not gone to by a window that another site opened', async () => {
    const page = await place.browser.newPage();
    await page.goto(place.host.origin);
    const opening = page.waitForEvent('popup');
    await page.evaluate(`globalThis.heard = []; addEventListener('message', ({ data }) => heard.push(data));
      globalThis.opened = open('${place.world.sandbox.base_url}/link/v1/oauth/window');`);
    const popup = await opening;
    await popup.waitForSelector('.loading');
    await page.evaluate(`opened.postMessage({ type: 'chartwire:go', token: 'lt_x', credentials: {} }, '*')`);
    await popup.waitForLoadState();
    expect(popup.url()).toBe(`${place.world.sandbox.base_url}/link/v1/oauth/window`);
    expect(await page.evaluate('heard')).toEqual([]);
    await page.context().close();
  });
});

/** An account that was linked by this way and needs a person now: its access token, and a token to link it again. */
async function expired(user_id: string, credentials: Record<string, string>) {
  const { world, steps } = place;
  const person = { user_id, org_id: user_id };
  const first = await steps.signIn(await tokenFor(person), 0, { credentials, one_time_code: undefined });
  const access_token = (await steps.exchange(first.body.public_token)).body.token;
  await world.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = ${user_id}`;
  await world.owner`SELECT pg_notify('chartwire_access', '')`;
  return { access_token, token: await tokenFor({ ...person, access_token }) };
}

test('an account whose server wants a person again is linked with one press where nothing has to be typed', async () => {
  const { world } = place;
  const { access_token, token } = await expired('again', { way: 'client_secret', ...server.clients.confidential });
  const window = await place.open();
  const frame = await window.start(token);
  await frame.waitForSelector('button[type="submit"]:has-text("Reconnect")');
  expect(await frame.locator('.facts').innerText()).toContain(server.clients.confidential.client_id);
  await submit(frame);
  await untilClosed(window);
  expect((await world.api.call('GET', '/v1/settings', { headers: { access_token } })).status).toBe(200);
  await window.page.context().close();
});

test('an account whose saved token the server no longer takes is asked for a new one, and for nothing else', async () => {
  const { access_token, token } = await expired('replaced', {
    way: 'bearer_token',
    bearer_token: server.bearerToken(),
  });
  server.expireTokens('all');
  const window = await place.open();
  const frame = await window.start(token);
  await frame.waitForSelector('button[type="submit"]:has-text("Reconnect")');
  await submit(frame);
  await frame.waitForSelector('input[name="bearer_token"]:focus');
  expect(await frame.locator('input').count()).toBe(1);
  expect(await frame.innerText('.lead')).toMatch(/no longer accepts what was saved/);
  await frame.fill('input[name="bearer_token"]', 'wrong');
  await submit(frame);
  await untilAlert(frame, /did not accept what you entered/);
  await frame.waitForSelector('input[name="bearer_token"]:focus');
  await frame.fill('input[name="bearer_token"]', server.bearerToken());
  await submit(frame);
  await untilClosed(window);
  expect((await endings(window)).map(([kind]) => kind)).toEqual(['success']);
  const headers = { access_token };
  expect((await place.world.api.call('GET', '/v1/settings', { headers })).status).toBe(200);
  await window.page.context().close();
});
