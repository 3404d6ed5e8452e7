import type { Frame } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addLinkToken } from '../../../src/product/link/linkTokens.ts';
import { newClient, startProduction } from '../../api/support.ts';
import { agree, endings, focused, type LinkFixture, startLink, untilClosed } from '../../browser/link/linkFixture.ts';
import { row } from '../../harness/row.ts';
import { type LinkWindow, openLinkWindow, startLinkHost } from '../../harness/servers/linkHost.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

test(row('LNK-21'), async () => {
  const window = await fixture.open();
  const frame = await window.start(await fixture.expiredAccount('abbreviated', 1));
  await frame.waitForSelector('button[type="submit"]:focus');
  await expect.poll(() => frame.locator('input').count()).toBe(0);
  await window.page.keyboard.press('Enter');
  await focused(frame, 'code');
  await expect.poll(() => frame.locator('input').count()).toBe(1);
  await window.type(fixture.product.api.code(1));
  await untilClosed(window);
  expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
  await window.close();
});

test(row('DEC-096'), async () => {
  const production = await startProduction();
  const { base_url, ctx } = production.service;
  const [registered, unregistered] = [await startLinkHost(base_url), await startLinkHost(base_url)];
  try {
    const token = await ctx.db.tenant(production.client.id, async (tx) => {
      await tx`UPDATE clients SET frame_origins = ${[registered.origin]}`;
      return addLinkToken(tx, {
        client_id: production.client.id,
        user_id: 'user',
        org_id: 'org',
        connector: 'larkspur',
        emr_app_id: null,
        search_params: {},
        emr_address: 'https://emr.example.org',
        account_id: null,
        callback_url: null,
        language: null,
        created_in: 'api',
        finds_practice: false,
        practice_id: null,
      });
    });
    const refused = await openLinkWindow(fixture.browser, unregistered.origin);
    const nothing = await refused.start(token);
    await expect.poll(() => nothing.url()).toMatch(/^chrome-error:/);
    await refused.close();
    const allowed = await openLinkWindow(fixture.browser, registered.origin);
    await (await allowed.start(token)).waitForSelector('.step h1');
    await allowed.close();
  } finally {
    await Promise.all([registered.close(), unregistered.close(), production.close()]);
  }
});

test(row('DEC-097'), async () => {
  const [{ origins } = {}] = await fixture.product.owner`
    SELECT frame_origins AS origins FROM clients WHERE public_id = ${fixture.product.sandbox.client_id}`;
  expect(origins).toStrictEqual([]);
  for (const origin of [fixture.host.origin, fixture.host.origin.replace('127.0.0.1', 'localhost')]) {
    const window = await openLinkWindow(fixture.browser, origin);
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    await window.close();
  }
});

test(row('DEC-098'), async () => {
  const callback_url = `${fixture.host.origin}/returned`;
  const client = await newClient(fixture.product, { callback_urls: [callback_url] });
  for (const [separator, staff] of [
    ['#', 2],
    ['?', 3],
  ] as const) {
    const token = await fixture.steps.linkToken({ callback_url }, client.api);
    const url = `${fixture.product.sandbox.base_url}/link${separator}token=${token}`;
    const window = await openLinkWindow(fixture.browser, url);
    await fixture.signIn(window, window.page.mainFrame(), staff);
    await window.page.waitForURL(/\/returned/);
    const [address, public_token = ''] = window.page.url().split('?token=');
    expect([address, public_token]).toStrictEqual([callback_url, expect.stringMatching(/^pt_[\w-]{43}$/)]);
    expect((await fixture.steps.exchange(public_token, client.api)).status).toBe(200);
    await window.close();
  }
});

/** The four ways in which a sign-in fails, and how to recover from each. */
const failures: { staff: number; message: RegExp; fail: Act; recover: () => PromiseLike<unknown> }[] = [
  {
    staff: 3,
    message: /Incorrect username or password/,
    fail: (window, frame) => typed(window, frame, 3, 'wrong'),
    recover: async () => {},
  },
  {
    staff: 4,
    message: /locked this account/,
    fail: async (window, frame) => {
      for (let n = 0; n < 5; n += 1) await typed(window, frame, 4, `wrong ${n}`);
    },
    recover: () => fixture.larkspur`UPDATE lockouts SET locked_until = now() - interval '1 second'`,
  },
  {
    staff: 5,
    message: /Cannot reach Larkspur right now/,
    fail: async (window, frame) => {
      const fault = { operation: 'get_practice', kind: 'error_500', times: 1000 };
      await fixture.product.api.control('POST', '/control/faults', fault);
      await typed(window, frame, 5, fixture.person(5).password);
    },
    recover: () => fixture.product.api.control('DELETE', '/control/faults'),
  },
  {
    staff: 6,
    message: /Incorrect or expired code/,
    fail: async (window, frame) => {
      await typed(window, frame, 6, fixture.person(6).password);
      await focused(frame, 'code');
      await window.type('000000');
    },
    recover: async () => {},
  },
];
type Act = (window: LinkWindow, frame: Frame) => Promise<void>;

async function typed(window: LinkWindow, frame: Frame, staff: number, password: string): Promise<void> {
  await frame.fill('input[name="username"]', fixture.person(staff).username);
  await frame.focus('input[name="password"]');
  const responded = window.page.waitForResponse('**/sign-in');
  await window.type(password);
  await responded;
}

/** Waits for the message of a failure: one of an earlier attempt may still be shown. */
async function awaitMessage(frame: Frame, message: RegExp): Promise<string> {
  const alert = frame.locator('[role="alert"] span');
  await expect.poll(() => alert.innerText()).toMatch(message);
  return alert.innerText();
}

test(row('DEC-103'), async () => {
  for (const { message, fail, recover } of failures) {
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await fail(window, frame);
    // Plain language: sentences without error codes, status codes or URLs.
    expect(await awaitMessage(frame, message)).not.toMatch(/_|\b[45]\d\d\b|http/);
    await recover();
    await window.close();
  }
});

test(row('DEC-104'), async () => {
  for (const { staff, message, fail, recover } of failures) {
    const window = await fixture.open();
    const frame = await window.start(await fixture.steps.linkToken());
    await focused(frame, 'username');
    await fail(window, frame);
    await awaitMessage(frame, message);
    await recover();
    if ((await frame.locator('input[name="code"]').count()) === 0) {
      expect(await frame.inputValue('input[name="username"]')).toBe(fixture.person(staff).username);
      await typed(window, frame, staff, fixture.person(staff).password);
    }
    await focused(frame, 'code');
    await window.type(fixture.product.api.code(staff));
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    await window.close();
  }
});

test(row('DEC-110'), async () => {
  const { api, sandbox } = fixture.product;
  const access_token = await api.link({ user_id: 'same-token', staff: 7 });
  const token = await fixture.steps.linkToken({ user_id: 'same-token', org_id: sandbox.org_id, access_token });
  const window = await fixture.open();
  const frame = await window.start(token);
  // Linked without a page, so nobody has agreed yet.
  await agree(frame);
  // Its button keeps the focus until the next step is shown.
  await frame.waitForSelector('.consent', { state: 'detached' });
  await frame.waitForSelector('button[type="submit"]:focus');
  await window.page.keyboard.press('Enter');
  await focused(frame, 'code');
  await window.type(api.code(7));
  await untilClosed(window);
  const [[kind, public_token] = []] = await endings(window);
  expect(kind).toBe('success');
  expect((await fixture.steps.exchange(String(public_token))).body.token).toBe(access_token);
  await window.close();
});

test(row('DEC-111'), async () => {
  const window = await fixture.open({});
  const context = window.page.context();
  // Any access to cookies throws.
  await context.addInitScript(`Object.defineProperty(Document.prototype, 'cookie', {
    get() { throw new Error('No cookies here.'); }, set() { throw new Error('No cookies here.'); } })`);
  await window.page.reload();
  const responses: Promise<string | undefined>[] = [];
  window.page.on('response', (response) =>
    responses.push(response.headerValue('set-cookie').then((value) => value ?? undefined)),
  );
  await fixture.signIn(window, await window.start(await fixture.steps.linkToken()), 8);
  await untilClosed(window);
  expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
  expect(responses.length).toBeGreaterThan(3);
  expect((await Promise.all(responses)).filter(Boolean)).toStrictEqual([]);
  expect(await context.cookies()).toStrictEqual([]);
  await context.close();
});
