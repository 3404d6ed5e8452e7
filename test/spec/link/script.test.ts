import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endings, focused, type LinkFixture, startLink, untilClosed } from '../../browser/link/linkFixture.ts';
import { row } from '../../harness/row.ts';
import type { LinkWindow } from '../../harness/servers/linkHost.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

const nothing = { access_token: null };

test(row('LNK-13'), async () => {
  const { api, sandbox } = fixture.product;
  const body = { user_id: 'whole', org_id: 'whole', emr_name: 'larkspur', emr_instance_domain: sandbox.larkspur.url };
  const created = await api.call('POST', '/link/token/create', { body, headers: nothing });
  const window = await fixture.open();
  await fixture.signIn(window, await window.start(created.body.token), 1);
  await untilClosed(window);
  const [[kind, public_token] = []] = await endings(window);
  expect(kind).toBe('success');
  const exchanged = await api.call('GET', `/link/token/exchange?public_token=${public_token}`, { headers: nothing });
  const response = await api.call('GET', '/v1/settings', { headers: { access_token: exchanged.body.token } });
  expect([response.status, response.body.success]).toStrictEqual([200, true]);
  await window.close();
});

test(row('LNK-14'), async () => {
  const { link_script_url } = fixture.product.sandbox;
  const window = await openBare();
  const { page } = window;
  expect(await page.evaluate('typeof window.CobaltLink')).toBe('undefined');
  await page.addScriptTag({ url: link_script_url });
  expect(await page.evaluate('typeof window.CobaltLink.init')).toBe('function');
  await window.close();
});

test(row('LNK-15'), async () => {
  // By a direct call.
  const window = await fixture.open();
  await window.page.evaluate(
    `void window.CobaltLink.init({ token: ${JSON.stringify(await fixture.steps.linkToken())}, onSuccess: (...args) => calls.push(args) })`,
  );
  await fixture.signIn(window, await window.frame(), 1);
  await untilClosed(window);
  expect(await window.calls()).toStrictEqual([[expect.stringMatching(/^pt_[\w-]{43}$/)]]);
  await window.close();
  // By the SDK's wrapper function, which loads the script itself.
  const wrapped = await openWrapped(await fixture.steps.linkToken());
  await fixture.signIn(wrapped, await wrapped.frame(), 2);
  await untilClosed(wrapped);
  expect(await wrapped.page.evaluate('outcome')).toStrictEqual({
    outcome: 'linked',
    public_token: expect.stringMatching(/^pt_[\w-]{43}$/),
  });
  await wrapped.close();
});

/** Opens an application's page that has not loaded the script. */
async function openBare(): Promise<LinkWindow> {
  const window = await fixture.open();
  await window.page.goto(`${fixture.host.origin}/bare`);
  return window;
}

/** Opens Link with the SDK's wrapper on a page without the script. */
async function openWrapped(token: string): Promise<LinkWindow> {
  const window = await openBare();
  const module = readFileSync(new URL('../../../dist/sdk/link.js', import.meta.url)).toString('base64');
  await window.page.evaluate(`import('data:text/javascript;base64,${module}').then(({ openLink }) => {
    window.outcome = openLink({ baseUrl: ${JSON.stringify(fixture.product.sandbox.base_url)}, token: ${JSON.stringify(token)} });
  })`);
  return window;
}

test(row('LNK-16'), async () => {
  const window = await fixture.open({ viewport: { width: 900, height: 700 } });
  const frame = await window.start(await fixture.steps.linkToken());
  await focused(frame, 'username');
  await expect
    .poll(() => window.page.locator('dialog iframe').boundingBox())
    .toStrictEqual({ x: 0, y: 0, width: 900, height: 700 });
  expect(await window.page.evaluate(`document.querySelector('dialog').matches(':modal')`)).toBe(true);
  // The page below can be reached neither by pointer nor by keyboard.
  expect(await window.page.evaluate(`document.elementFromPoint(20, 20).tagName`)).toBe('DIV');
  await window.page.evaluate(`document.querySelector('#start').focus()`);
  expect(await window.page.evaluate('document.activeElement.id')).not.toBe('start');
  await window.close();
});

test(row('LNK-19'), async () => {
  const { owner, api } = fixture.product;
  const window = await fixture.open();
  await fixture.signIn(window, await window.start(await fixture.steps.linkToken({ user_id: 'lasting' })), 3);
  await untilClosed(window);
  const [[, public_token] = []] = await endings(window);
  const access_token = (await fixture.steps.exchange(String(public_token))).body.token;
  expect(access_token).not.toBe(public_token);
  const late = (await fixture.steps.signIn(await fixture.steps.linkToken(), 3)).body.public_token;
  await owner`UPDATE public_tokens SET expires_at = expires_at - interval '30 minutes'`;
  expect((await fixture.steps.exchange(late)).status).toBe(400);
  // The access token is still valid a year later.
  await owner`UPDATE accounts SET linked_at = linked_at - interval '1 year', created_at = created_at - interval '1 year'`;
  expect((await api.call('GET', '/v1/settings', { headers: { access_token } })).status).toBe(200);
  await window.close();
});

test(row('DEC-089'), async () => {
  const { base_url, link_script_url } = fixture.product.sandbox;
  expect(link_script_url).toBe(`${base_url}/link/v1/link.js`);
  const response = await fetch(`${base_url}/link/v1/link.js`);
  expect([response.status, response.headers.get('content-type')]).toStrictEqual([
    200,
    'text/javascript; charset=utf-8',
  ]);
  expect(await response.text()).toMatch(/CobaltLink/);
});

test(row('DEC-090'), async () => {
  const window = await fixture.open();
  // Uses all four settings: the token, the events, and both callbacks.
  const frame = await window.start(await fixture.steps.linkToken());
  await frame.waitForSelector('.consent');
  await window.page.keyboard.press('Escape');
  await untilClosed(window);
  expect(await window.calls()).toStrictEqual([
    ['event', 'opened', {}],
    ['exit', 'closed'],
  ]);
  await fixture.signIn(window, await window.start(await fixture.steps.linkToken()), 4);
  await untilClosed(window);
  expect((await endings(window))[1]).toStrictEqual(['success', expect.stringMatching(/^pt_/)]);
  await window.close();
});

test(row('DEC-091'), async () => {
  const window = await fixture.open();
  const start = (settings: string) =>
    window.page.evaluate(
      `(() => { try { window.handle = CobaltLink.init(${settings}); return 'opened'; } catch (error) { return error.name; } })()`,
    );
  const token = JSON.stringify(await fixture.steps.linkToken());
  expect(await start('{ onSuccess() {}, onExit() {}, onEvent() {} }')).toBe('TypeError');
  expect(await start(`{ token: ${token}, onExit() {}, onEvent() {} }`)).toBe('TypeError');
  expect(await start(`{ token: ${token}, onSuccess: (...args) => calls.push(args) }`)).toBe('opened');
  // Missing callbacks cause no errors.
  const faults: Error[] = [];
  window.page.on('pageerror', (error) => faults.push(error));
  await focused(await window.frame(), 'username');
  await window.page.keyboard.press('Escape');
  await untilClosed(window);
  expect(faults).toStrictEqual([]);
  await window.page.evaluate('handle.open()');
  await fixture.signIn(window, await window.frame(), 5);
  await untilClosed(window);
  expect(await window.calls()).toStrictEqual([[expect.stringMatching(/^pt_/)]]);
  await window.close();
});

test(row('DEC-092'), async () => {
  const window = await fixture.open();
  const dialogs = () => window.page.locator('dialog').count();
  await focused(await window.start(await fixture.steps.linkToken()), 'username');
  expect(await window.page.evaluate('Object.keys(handle).sort()')).toStrictEqual(['destroy', 'exit', 'open']);
  await window.page.evaluate('handle.exit()');
  expect([await dialogs(), await endings(window)]).toStrictEqual([0, [['exit', 'exited']]]);
  await window.page.evaluate('handle.open()');
  await focused(await window.frame(), 'username');
  expect(await dialogs()).toBe(1);
  await window.page.evaluate('handle.destroy()');
  expect([await dialogs(), await endings(window)]).toStrictEqual([0, [['exit', 'exited']]]);
  await window.close();
});

test(row('DEC-093'), async () => {
  const window = await fixture.open();
  const everything = 'handle.exit(); handle.exit(); handle.destroy(); handle.exit(); handle.open()';
  await focused(await window.start(await fixture.steps.linkToken()), 'username');
  await window.page.keyboard.press('Escape');
  await untilClosed(window);
  await window.page.evaluate(everything);
  expect(await endings(window)).toStrictEqual([['exit', 'closed']]);
  await window.page.reload();
  // onSuccess runs while the page is still open; closing it afterwards is not reported again.
  const frame = await window.start(await fixture.steps.linkToken());
  await fixture.signIn(window, frame, 6);
  await expect.poll(async () => (await endings(window)).length).toBe(1);
  await window.page.evaluate(everything);
  await untilClosed(window);
  expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
  await window.close();
});

test(row('DEC-094'), async () => {
  const window = await fixture.open({ viewport: { width: 900, height: 700 } });
  const frame = await window.start(await fixture.steps.linkToken());
  await focused(frame, 'username');
  expect(new URL(frame.url()).origin).toBe(fixture.product.sandbox.base_url);
  await expect
    .poll(() => window.page.locator('dialog iframe').boundingBox())
    .toStrictEqual({ x: 0, y: 0, width: 900, height: 700 });
  const [red = 255, green = 255, blue = 255, alpha = 0] = await window.page.evaluate<number[]>(
    `getComputedStyle(document.querySelector('dialog')).backgroundColor.match(/[\\d.]+/g).map(Number)`,
  );
  expect(Math.max(red, green, blue)).toBeLessThan(64);
  expect(alpha).toBeGreaterThan(0.5);
  expect(alpha).toBeLessThan(1);
  // The page in the frame is transparent.
  expect(await frame.evaluate('getComputedStyle(document.documentElement).backgroundColor')).toBe('rgba(0, 0, 0, 0)');
  await window.close();
});

test(row('DEC-095'), async () => {
  const window = await fixture.open();
  for (const where of ['in the page', 'on the overlay']) {
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    if (where === 'on the overlay') await window.page.focus('dialog button');
    await window.page.keyboard.press('Escape');
    await untilClosed(window);
  }
  expect(await endings(window)).toStrictEqual([
    ['exit', 'closed'],
    ['exit', 'closed'],
  ]);
  await window.close();
});
