import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bindings, readAccount } from '../../src/accounts/accounts.ts';
import { createLinkToken } from '../../src/link/createLinkToken.ts';
import { newClient } from '../api/support.ts';
import { focused, type LinkPlace, startLinkPlace } from './linkPlace.ts';

let place: LinkPlace;
beforeAll(async () => {
  place = await startLinkPlace();
});
afterAll(() => place.close());

describe('the hosted page', () => {
  test('links by keyboard alone and returns to the registered address with the public token', async () => {
    const { world, host, steps } = place;
    const callback_url = `${host.origin}/back?clinic=7#here`;
    const client = await newClient(world, { callback_urls: [callback_url] });
    const token = await steps.linkToken({ callback_url }, client.api);
    const window = await place.openHosted(token);
    const frame = await window.frame();
    await focused(frame, 'username');
    expect(window.page.url()).toBe(`${world.sandbox.base_url}/link`);
    await place.signIn(window, frame, 1);
    await window.page.waitForURL(/\/back/);
    const url = window.page.url();
    const public_token = new URL(url).searchParams.get('token') ?? '';
    expect(url).toBe(`${host.origin}/back?clinic=7&token=${public_token}#here`);
    expect((await steps.exchange(public_token, client.api)).status).toBe(200);
    expect(host.asked.filter(({ url }) => url.startsWith('/back')).map(({ referer }) => referer)).toStrictEqual([
      undefined,
    ]);
    // The first request of all is the link itself; nothing after it has the token in its address or says where it is from.
    for (const { url, referer } of window.sent.slice(1)) expect(`${url} ${referer}`).not.toContain(token);
    expect(await window.page.context().cookies()).toStrictEqual([]);
    // Going back does not bring the token into the address either.
    await window.page.goBack();
    expect(window.page.url()).not.toContain(token);
    await window.page.context().close();
  });

  test('takes the token out of the address bar, and is the same after a reload', async () => {
    const token = await place.steps.linkToken();
    const window = await place.openHosted(token);
    await focused(await window.frame(), 'username');
    expect(await window.page.evaluate('location.href')).not.toContain(token);
    await window.page.reload();
    await focused(await window.frame(), 'username');
    expect(await window.page.evaluate('location.href')).not.toContain(token);
    await window.page.context().close();
  });

  test('without an address to return to, says that the account is linked', async () => {
    const window = await place.openHosted(await place.steps.linkToken());
    await place.signIn(window, await window.frame(), 1);
    await window.page.waitForSelector('.badge.good');
    expect(await window.page.innerText('main')).toMatch(
      /Your account is linked to Sandbox\. You can close this window\./,
    );
    await window.page.context().close();
  });

  test('of a link made in the dashboard says so too, hands out no token, and the account’s token is there', async () => {
    const { ctx, sandbox, api, owner } = place.world;
    const [client] = await owner<
      { id: string }[]
    >`SELECT id, public_id, name, mode, callback_urls FROM clients WHERE public_id = ${sandbox.client_id}`;
    const request = { user_id: 'by-mail', org_id: sandbox.org_id };
    const token = await ctx.db.tenant(client?.id ?? '', (tx) =>
      createLinkToken(ctx, tx, client as never, request, 'dashboard'),
    );
    const window = await place.openHosted(token);
    const answers: Promise<string>[] = [];
    window.page.on('response', (answer) => {
      if (answer.url().endsWith('/sign-in')) answers.push(answer.text());
    });
    await place.signIn(window, await window.frame(), 2);
    await window.page.waitForSelector('.badge.good');
    expect(await window.page.innerText('main')).toMatch(/account is linked.*close this window/s);
    expect((await Promise.all(answers)).join()).not.toContain('pt_');
    const [row] = await owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = 'by-mail'`;
    const access_token = await ctx.db.tenant(client?.id ?? '', async (tx) => {
      const account = await readAccount(tx, row?.id ?? '');
      return ctx.vault.unseal(tx, account?.token_sealed ?? Buffer.alloc(0), bindings.token(account?.id ?? ''));
    });
    expect((await api.call('GET', '/v1/providers', { headers: { access_token } })).status).toBe(200);
    await window.page.context().close();
  });

  test.each([
    ['expired', /has expired/],
    ['used', /already used/],
    ['missing', /not valid/],
  ])('of a link that is %s says so', async (state, words) => {
    const { owner } = place.world;
    const token = await place.steps.linkToken({ org_id: `hosted-${state}` });
    if (state === 'expired') await owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'hosted-expired'`;
    if (state === 'used') expect((await place.steps.signIn(token, 6)).status).toBe(200);
    const window = await place.openHosted(state === 'missing' ? '' : token);
    await window.page.waitForSelector('.badge');
    expect(await window.page.innerText('h1')).toMatch(words);
    expect(await window.page.innerText('.lead')).toMatch(/somebody sent you the link, ask them for a new one/);
    expect(window.page.url()).not.toContain('token');
    await window.page.context().close();
  });

  test('of a link that ends meanwhile says so in the language of the link, also after a reload', async () => {
    const token = await place.steps.linkToken({ org_id: 'hosted-es', language: 'es' });
    const window = await place.openHosted(token);
    await focused(await window.frame(), 'username');
    await place.world.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = 'hosted-es'`;
    await window.page.reload();
    await window.page.waitForSelector('.badge');
    expect(await window.page.innerText('h1')).toBe('Este enlace ha caducado');
    await window.page.context().close();
  });

  test('may be framed by nobody', async () => {
    const window = await place.open();
    const token = await place.steps.linkToken();
    const answer = await place.world.api.call('GET', `/link?token=${token}`);
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    await window.page.evaluate(`{
      const frame = document.createElement('iframe');
      frame.src = ${JSON.stringify(`${place.world.sandbox.base_url}/link?token=${token}`)};
      document.body.append(frame);
    }`);
    await expect.poll(() => window.page.frames().some((frame) => frame.url().startsWith('chrome-error:'))).toBe(true);
    expect(window.sent.filter(({ url }) => url.endsWith('/session'))).toStrictEqual([]);
    await window.page.context().close();
  });
});

describe('the language', () => {
  test.each([
    ['of the link', 'es', 'en-US', 'es'],
    ['of the browser', undefined, 'es-MX', 'es'],
    ['of the link before the browser’s', 'en', 'es-MX', 'en'],
    ['English where there are no texts in the browser’s', undefined, 'fr-FR', 'en'],
  ])('is that %s', async (_case, language, locale, spoken) => {
    const window = await place.openHosted(await place.steps.linkToken({ language }), { locale });
    const frame = await window.frame();
    await focused(frame, 'username');
    expect(await frame.getAttribute('html', 'lang')).toBe(spoken);
    const words = {
      en: ['Connect Larkspur', 'User name', 'Password'],
      es: ['Conectar Larkspur', 'Usuario', 'Contraseña'],
    };
    const [title, ...labels] = words[spoken as 'en' | 'es'];
    expect([await frame.title(), await frame.innerText('h1')]).toStrictEqual([title, title]);
    expect(await frame.locator('label').allInnerTexts()).toStrictEqual(labels);
    await window.page.context().close();
  });

  test('Spanish holds to the end', async () => {
    const window = await place.openHosted(await place.steps.linkToken({ language: 'es' }));
    const frame = await window.frame();
    await focused(frame, 'username');
    await window.type(place.person(5).username, 'Tab');
    await window.type('mala');
    await expect.poll(() => frame.locator('[role="alert"]').innerText()).toMatch(/no aceptó este usuario/);
    await window.type(place.person(5).password);
    await focused(frame, 'code');
    expect(await frame.innerText('h1')).toBe('Escriba su código');
    await window.type(place.world.api.code(5));
    await frame.waitForSelector('.badge.good');
    expect(await frame.innerText('main')).toMatch(/Su cuenta está vinculada con Sandbox/);
    await window.page.context().close();
  });
});
