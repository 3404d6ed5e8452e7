import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bindings, readAccount } from '../../../src/product/accounts/accounts.ts';
import { createLinkToken } from '../../../src/product/link/linkTokens.ts';
import { newClient } from '../../api/support.ts';
import { openLinkWindow } from '../../harness/servers/linkHost.ts';
import { focused, type LinkFixture, startLink } from './linkFixture.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

describe('hosted page', () => {
  test('links by keyboard and redirects to the registered URL with the public token', async () => {
    const { product, host, steps } = fixture;
    const callback_url = `${host.origin}/back?clinic=7#here`;
    const client = await newClient(product, { callback_urls: [callback_url] });
    const token = await steps.linkToken({ callback_url }, client.api);
    const window = await fixture.openHosted(token);
    const frame = await window.frame();
    await focused(frame, 'username');
    expect(window.page.url()).toBe(`${product.sandbox.base_url}/link`);
    await fixture.signIn(window, frame, 1);
    await window.page.waitForURL(/\/back/);
    const url = window.page.url();
    const public_token = new URL(url).searchParams.get('token') ?? '';
    expect(url).toBe(`${host.origin}/back?clinic=7&token=${public_token}#here`);
    expect((await steps.exchange(public_token, client.api)).status).toBe(200);
    expect(host.requests.filter(({ url }) => url.startsWith('/back')).map(({ referer }) => referer)).toStrictEqual([
      undefined,
    ]);
    // The fragment is not sent.
    for (const { url, referer } of window.sent) expect(`${url} ${referer}`).not.toContain(token);
    expect(await window.page.context().cookies()).toStrictEqual([]);
    // Nor does going back show the token in the URL.
    await window.page.goBack();
    expect(window.page.url()).not.toContain(token);
    await window.close();
  });

  test('removes the token from the URL and works after a reload', async () => {
    const token = await fixture.steps.linkToken();
    const window = await fixture.openHosted(token);
    await focused(await window.frame(), 'username');
    expect(await window.page.evaluate('location.href')).not.toContain(token);
    await window.page.reload();
    await focused(await window.frame(), 'username');
    expect(await window.page.evaluate('location.href')).not.toContain(token);
    await window.close();
  });

  test('accepts the token in the query, and removes it from the URL', async () => {
    const token = await fixture.steps.linkToken();
    const window = await openLinkWindow(fixture.browser, `${fixture.product.sandbox.base_url}/link?token=${token}`);
    await focused(window.page.mainFrame(), 'username');
    expect(window.page.url()).toBe(`${fixture.product.sandbox.base_url}/link`);
    for (const { url, referer } of window.sent.slice(1)) expect(`${url} ${referer}`).not.toContain(token);
    await window.close();
  });

  test('opens another link in the same window', async () => {
    const window = await fixture.openHosted(await fixture.steps.linkToken({ org_id: 'first-practice' }));
    await expect.poll(() => window.page.innerText('.facts')).toContain('first-practice');
    const other = await fixture.steps.linkToken({ org_id: 'second-practice' });
    // As typed into the address bar: only the fragment differs, so the browser does not load the page by itself.
    await window.page.evaluate(`location.href = '/link#token=${other}'`);
    await expect.poll(() => window.page.innerText('.facts')).toContain('second-practice');
    expect(window.page.url()).not.toContain('token');
    await window.close();
  });

  test('shows that the account is linked if there is no redirect URL', async () => {
    const window = await fixture.openHosted(await fixture.steps.linkToken());
    await fixture.signIn(window, await window.frame(), 1);
    await window.page.waitForSelector('.badge.good');
    await expect
      .poll(() => window.page.innerText('main'))
      .toMatch(/Your account is linked to Sandbox\. You can close this window\./);
    await window.close();
  });

  test('the hosted page of a dashboard link returns no public token, and the access token works', async () => {
    const { ctx, sandbox, api, owner } = fixture.product;
    const [client] = await owner<
      { id: string }[]
    >`SELECT id, public_id, name, mode, callback_urls FROM clients WHERE public_id = ${sandbox.client_id}`;
    const request = { user_id: 'by-mail', org_id: sandbox.org_id };
    const [operator] = await owner<{ id: string }[]>`SELECT id FROM operators LIMIT 1`;
    const token = await ctx.db.tenant(client?.id ?? '', (tx) =>
      createLinkToken(ctx, tx, { client: client as never, request, created_by: operator?.id ?? '' }),
    );
    const window = await fixture.openHosted(token);
    const responses: Promise<string>[] = [];
    window.page.on('response', (response) => {
      if (response.url().endsWith('/sign-in')) responses.push(response.text());
    });
    await fixture.signIn(window, await window.frame(), 2);
    await window.page.waitForSelector('.badge.good');
    await expect.poll(() => window.page.innerText('main')).toMatch(/account is linked.*close this window/s);
    expect((await Promise.all(responses)).join()).not.toContain('pt_');
    const [row] = await owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = 'by-mail'`;
    const access_token = await ctx.db.tenant(client?.id ?? '', async (tx) => {
      const account = await readAccount(tx, row?.id ?? '');
      return ctx.vault.unseal(tx, account?.token_sealed ?? Buffer.alloc(0), bindings.token(account?.id ?? ''));
    });
    expect((await api.call('GET', '/v1/providers', { headers: { access_token } })).status).toBe(200);
    await window.close();
  });

  test.each([
    ['expired', /has expired/],
    ['used', /already used/],
    ['missing', /not valid/],
  ])('explains that a link is %s', async (state, words) => {
    const { owner } = fixture.product;
    const token = await fixture.steps.linkToken({ org_id: `hosted-${state}` });
    if (state === 'expired') await owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'hosted-expired'`;
    if (state === 'used') expect((await fixture.steps.signIn(token, 6)).status).toBe(200);
    const window = await fixture.openHosted(state === 'missing' ? '' : token);
    await window.page.waitForSelector('.badge');
    await expect.poll(() => window.page.innerText('h1')).toMatch(words);
    await expect.poll(() => window.page.innerText('.lead')).toMatch(/someone sent you this link, ask for a new one/);
    expect(window.page.url()).not.toContain('token');
    await window.close();
  });

  test('shows in the link’s language, after a reload, that it has expired', async () => {
    const token = await fixture.steps.linkToken({ org_id: 'hosted-es', language: 'es' });
    const window = await fixture.openHosted(token);
    await focused(await window.frame(), 'username');
    await fixture.product.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'hosted-es'`;
    await window.page.reload();
    await window.page.waitForSelector('.badge');
    await expect.poll(() => window.page.innerText('h1')).toBe('Este enlace ha caducado');
    await window.close();
  });

  test('cannot be framed', async () => {
    const window = await fixture.open();
    const token = await fixture.steps.linkToken();
    const response = await fixture.product.api.call('GET', `/link?token=${token}`);
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    await window.page.evaluate(`{
      const frame = document.createElement('iframe');
      frame.src = ${JSON.stringify(`${fixture.product.sandbox.base_url}/link?token=${token}`)};
      document.body.append(frame);
    }`);
    await expect.poll(() => window.page.frames().some((frame) => frame.url().startsWith('chrome-error:'))).toBe(true);
    expect(window.sent.filter(({ url }) => url.endsWith('/session'))).toStrictEqual([]);
    await window.close();
  });
});

describe('language', () => {
  test.each([
    ['the link’s', 'es', 'en-US', 'es'],
    ['the browser’s', undefined, 'es-MX', 'es'],
    ['the link’s rather than the browser’s', 'en', 'es-MX', 'en'],
    ['English if the browser’s is not supported', undefined, 'fr-FR', 'en'],
  ])('is %s', async (_case, language, locale, expected) => {
    const window = await fixture.openHosted(await fixture.steps.linkToken({ language }), { locale });
    const frame = await window.frame();
    await focused(frame, 'username');
    await expect.poll(() => frame.getAttribute('html', 'lang')).toBe(expected);
    const words = {
      en: ['Connect Larkspur', 'Sign in to Larkspur', 'Username', 'Password'],
      es: ['Conectar Larkspur', 'Iniciar sesión en Larkspur', 'Usuario', 'Contraseña'],
    };
    const [title, heading, ...labels] = words[expected as 'en' | 'es'];
    await expect.poll(async () => [await frame.title(), await frame.innerText('h1')]).toStrictEqual([title, heading]);
    await expect.poll(() => frame.locator('label').allInnerTexts()).toStrictEqual(labels);
    await window.close();
  });

  test('is Spanish in every step', async () => {
    const window = await fixture.openHosted(await fixture.steps.linkToken({ language: 'es' }));
    const frame = await window.frame();
    await expect.poll(() => frame.innerText('h1')).toBe('Sandbox solicita acceso a Larkspur');
    await expect
      .poll(() => frame.innerText('.consent'))
      .toMatch(/Pacientes\s+Datos de contacto, seguros, .* y saldos.*También puede agregar y modificar datos/s);
    await focused(frame, 'username');
    await window.type(fixture.person(5).username, 'Tab');
    await window.type('mala');
    await expect.poll(() => frame.locator('[role="alert"]').innerText()).toMatch(/Usuario o contraseña incorrectos/);
    await focused(frame, 'password');
    await window.type(fixture.person(5).password);
    await focused(frame, 'code');
    await expect.poll(() => frame.innerText('h1')).toBe('Introduzca su código');
    await window.type(fixture.product.api.code(5));
    await frame.waitForSelector('.badge.good');
    await expect.poll(() => frame.innerText('main')).toMatch(/Su cuenta está vinculada con Sandbox/);
    await window.close();
  });
});
