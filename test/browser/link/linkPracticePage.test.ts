import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../../harness/browser.ts';
import { type LinkFixture, startLink } from './linkFixture.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

/** Checks a state of the page in both themes, also on a phone, where nothing may scroll sideways. */
async function expectAccessible(page: Page): Promise<void> {
  await expect.poll(() => accessibilityViolations(page)).toStrictEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => accessibilityViolations(page, { rules: 'colors' })).toStrictEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 375, height: 740 });
  const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
  await expect.poll(() => page.evaluate(wide)).toBe(false);
  await page.setViewportSize({ width: 1100, height: 800 });
}

/** Moves on with the Tab key until a button or link with these words has the focus, and presses Enter. */
async function press(page: Page, words: RegExp): Promise<void> {
  for (let n = 0; n < 12; n++) {
    const text = String(await page.evaluate('document.activeElement.textContent'));
    const tag = String(await page.evaluate('document.activeElement.tagName'));
    if (['BUTTON', 'A'].includes(tag) && words.test(text)) return page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
  }
  throw new Error(`${words} cannot be reached by keyboard.`);
}

const title = (page: Page, words: string | RegExp) =>
  words instanceof RegExp
    ? expect.poll(() => page.innerText('h1')).toMatch(words)
    : expect.poll(() => page.innerText('h1')).toBe(words);

const languages = {
  en: {
    staff: 1,
    consent: 'Sandbox wants access to Larkspur',
    can_change: /Can also add and change records/,
    signing_in: 'Sign in to Larkspur',
    done: 'Larkspur is connected',
    manage: /Manage this connection/,
    shown: /Saved in Larkspur in the last 30 days\s+Phone messages\s+1\s.*Latest changes\s+Phone messages.*Saved/s,
    connected: 'Sandbox is connected to Larkspur',
    offer: /Disconnect Sandbox/,
    question: 'Disconnect Sandbox?',
    keep: /Keep connected/,
    now: /Disconnect now/,
    over: 'Sandbox is disconnected',
    sign_out: /Sign out/,
    welcome: /see what this connection reads and changes/,
    used: /expired or was already used/,
    signed_out: /You were signed out/,
    gone: /no longer has access/,
  },
  es: {
    staff: 2,
    consent: 'Sandbox solicita acceso a Larkspur',
    can_change: /También puede agregar y modificar datos/,
    signing_in: 'Iniciar sesión en Larkspur',
    done: 'Larkspur está conectado',
    manage: /Administrar esta conexión/,
    shown: /Guardado en Larkspur en los últimos 30 días\s+Mensajes telefónicos\s+1\s.*Últimos cambios.*Guardado/s,
    connected: 'Sandbox está conectado con Larkspur',
    offer: /Desconectar Sandbox/,
    question: '¿Desconectar Sandbox?',
    keep: /Mantener la conexión/,
    now: /Desconectar ahora/,
    over: 'Sandbox está desconectado',
    sign_out: /Cerrar sesión/,
    welcome: /ver qué lee y modifica esta conexión/,
    used: /ha caducado o ya se ha usado/,
    signed_out: /Su sesión ha terminado/,
    gone: /ya no tiene acceso/,
  },
};

describe.each(Object.entries(languages))('in %s', (language, words) => {
  test('a person links by keyboard with the consent read first, sees on the page what happened, and disconnects', async () => {
    const { product, steps } = fixture;
    const { sandbox, api } = product;
    const user_id = `practice-page-${language}`;
    const token = await steps.linkToken({ user_id, org_id: sandbox.org_id, language });
    // The page keeps the language of Link, whatever the browser's is.
    const window = await fixture.openHosted(token, { locale: 'fr-CA' });
    const { page } = window;
    // The focus is on the heading, and nothing can be typed before what is shared was agreed to.
    await page.waitForSelector('h1:focus');
    await title(page, words.consent);
    await expect.poll(() => page.innerText('.grants')).toMatch(words.can_change);
    expect(await page.locator('input').count()).toBe(0);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForSelector('input[name="username"]:focus');
    await title(page, words.signing_in);
    const { username, password } = fixture.person(words.staff);
    const signIn = async (at: Page) => {
      await at.waitForSelector('input[name="username"]:focus');
      await at.keyboard.type(username);
      await at.keyboard.press('Tab');
      await at.keyboard.type(password);
      await at.keyboard.press('Enter');
      await at.waitForSelector('input[name="code"]:focus');
      await at.keyboard.type(api.code(words.staff));
    };
    const linked = page.waitForResponse((response) => response.url().endsWith('/link/v1/sign-in') && response.ok());
    await signIn(page);
    const { public_token } = await (await linked).json();
    await title(page, words.done);
    await expectAccessible(page);

    const access_token = (await steps.exchange(public_token)).body.token;
    const { body } = await api.callIn({}, { access_token });
    await expect
      .poll(async () => (await product.owner`SELECT state FROM jobs WHERE id = ${body.job_id}`)[0]?.state)
      .toBe('succeeded');
    const opening = page.waitForEvent('popup');
    const [href] = await page.locator('a.quiet').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
    await press(page, words.manage);
    const shown = await opening;
    const urls: string[] = [];
    shown.on('request', (request) => urls.push(request.url()));
    await title(shown, words.connected);
    expect(await shown.getAttribute('html', 'lang')).toBe(language);
    await expect.poll(() => shown.innerText('main')).toMatch(words.shown);
    expect(await shown.innerText('main')).not.toContain(sandbox.example.patient_mrn);
    await expectAccessible(shown);
    // What stays in the address bar is where to come back to.
    const pass = new URLSearchParams(new URL(href ?? '').hash.slice(1)).get('pass') ?? '';
    expect(pass).toMatch(/^pp_/);
    expect(shown.url()).toMatch(/\/practice#account=[0-9a-f]{32}$/);
    expect(urls.join()).not.toContain(pass);
    const address = shown.url();

    // Asked in place. The first answer is to keep it.
    await press(shown, words.offer);
    await expect.poll(() => shown.innerText('.disconnect h2')).toBe(words.question);
    await expectAccessible(shown);
    await press(shown, words.keep);
    await shown.waitForSelector('.disconnect > button:focus');
    await press(shown, words.sign_out);
    await expect.poll(() => shown.innerText('main')).toMatch(words.welcome);
    await expectAccessible(shown);

    // The link of before was used, and its address leads to the EMR's sign-in.
    await shown.goto('about:blank');
    await shown.goto(href ?? '');
    await expect.poll(() => shown.innerText('main')).toMatch(words.used);
    expect(shown.url()).toBe(address);
    await press(shown, /Contin/);
    await signIn(shown);
    await title(shown, words.connected);

    // After the session has expired nothing is disconnected, and the page says why.
    await press(shown, words.offer);
    await product.owner`UPDATE practice_sessions SET expires_at = now()`;
    await press(shown, words.now);
    await expect.poll(() => shown.innerText('main')).toMatch(words.signed_out);
    await expectAccessible(shown);
    const [kept] = await product.owner`SELECT status FROM accounts WHERE user_id = ${user_id}`;
    expect(kept?.status).toBe('active');
    await press(shown, /Contin/);
    await signIn(shown);
    await title(shown, words.connected);
    await press(shown, words.offer);
    await press(shown, words.now);
    await title(shown, words.over);
    await expectAccessible(shown);
    const [account] = await product.owner`SELECT status FROM accounts WHERE user_id = ${user_id}`;
    expect(account?.status).toBe('revoked');
    await shown.reload();
    await title(shown, words.over);
    // In another tab, without the session.
    await shown.evaluate('sessionStorage.clear()');
    await shown.reload();
    await press(shown, /Contin/);
    await expect.poll(() => shown.innerText('main')).toMatch(words.gone);
    await window.close();
  });
});
