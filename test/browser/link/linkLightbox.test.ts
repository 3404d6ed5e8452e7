import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LinkWindow } from '../../harness/servers/linkHost.ts';
import { endings, focused, type LinkFixture, startLink, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

const focusedId = ({ page }: LinkWindow) => page.evaluate('document.activeElement.id');

describe('Link in an overlay', () => {
  test('links an account by keyboard, ends with one callback and leaves the page unchanged', async () => {
    const window = await fixture.open();
    const before = await window.page.content();
    await fixture.signIn(window, await window.start(await fixture.steps.linkToken()), 1);
    await untilClosed(window);
    const [[kind, public_token] = [], ...more] = await endings(window);
    expect([kind, more]).toStrictEqual(['success', []]);
    const exchanged = await fixture.steps.exchange(String(public_token));
    expect(exchanged.body).toStrictEqual({ success: true, token: expect.stringMatching(/^[\w-]{43}$/) });
    expect((await window.calls()).filter(([kind]) => kind === 'event')).toStrictEqual([
      ['event', 'opened', {}],
      ['event', 'consented', {}],
      ['event', 'credentials_submitted', {}],
      ['event', 'code_required', {}],
      ['event', 'code_submitted', {}],
      ['event', 'linked', {}],
    ]);
    expect(await window.page.content()).toBe(before);
    await expect.poll(() => focusedId(window)).toBe('start');
    await window.close();
  });

  test('puts no token in a URL or referrer, sets no cookie and calls no other host', async () => {
    const { base_url } = fixture.product.sandbox;
    const window = await fixture.open();
    const token = await fixture.steps.linkToken();
    const frame = await window.start(token);
    await fixture.signIn(window, frame, 1);
    expect(frame.url()).toBe(`${base_url}/link/v1/frame/${createHash('sha256').update(token).digest('hex')}`);
    await untilClosed(window);
    const [[, public_token] = []] = await endings(window);
    for (const { url, referer } of [...window.sent, ...fixture.host.requests]) {
      expect(`${url} ${referer}`).not.toContain(token);
      expect(`${url} ${referer}`).not.toContain(String(public_token));
    }
    const calls = window.sent.filter(({ url }) => /\/link\/v1\/(session|sign-in)$/.test(url));
    expect(calls.map(({ referer }) => referer || 'none')).toStrictEqual(['none', 'none', 'none']);
    const origins = new Set(window.sent.map(({ url }) => new URL(url).origin));
    expect([...origins].sort()).toStrictEqual([fixture.host.origin, base_url].sort());
    expect(await window.page.context().cookies()).toStrictEqual([]);
    await window.close();
  });

  test('keeps the focus inside', async () => {
    const window = await fixture.open();
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    const reached = new Set<string>();
    for (const key of [...Array(8).fill('Tab'), ...Array(8).fill('Shift+Tab')]) {
      await window.page.keyboard.press(key);
      reached.add(
        await window.page.evaluate('document.activeElement.closest("dialog") ? "inside" : document.activeElement.id'),
      );
    }
    expect(reached).toContain('inside');
    expect(reached).not.toContain('start');
    await window.close();
  });

  test('defines only one global name', async () => {
    const window = await fixture.open();
    const names = 'Object.getOwnPropertyNames(window)';
    const names_with_link = await window.page.evaluate<string[]>(names);
    await window.page.route('**/link.js', (route) => route.abort());
    await window.page.reload();
    const names_without = new Set(await window.page.evaluate<string[]>(names));
    expect(names_with_link.filter((name) => !names_without.has(name))).toStrictEqual(['CobaltLink']);
    await window.close();
  });
});

describe('closing Link', () => {
  const ways: [string, string, (window: LinkWindow) => Promise<unknown>][] = [
    ['Escape in the frame', 'closed', ({ page }) => page.keyboard.press('Escape')],
    [
      'Escape on the overlay',
      'closed',
      async ({ page }) => {
        await page.focus('dialog button');
        await page.keyboard.press('Escape');
      },
    ],
    ['the overlay’s button', 'closed', ({ page }) => page.click('dialog button')],
    [
      'the overlay’s button, by keyboard',
      'closed',
      async ({ page }) => {
        // Past the last field: reveal, sign in, then the overlay's close button.
        for (let n = 0; n < 4; n += 1) await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
      },
    ],
    ['exit()', 'exited', ({ page }) => page.evaluate('handle.exit()')],
  ];
  test.each(ways)(
    'closing Link by %s calls onExit once, restores the page and the focus',
    async (_way, reason, act) => {
      const window = await fixture.open();
      const before = await window.page.content();
      const frame = await window.start(await fixture.steps.linkToken());
      await focused(frame, 'username');
      await act(window);
      await untilClosed(window);
      await window.page.evaluate('handle.exit(); handle.destroy(); handle.destroy()');
      expect(await endings(window)).toStrictEqual([['exit', reason]]);
      expect(await window.page.content()).toBe(before);
      await expect.poll(() => focusedId(window)).toBe('start');
      await expect.poll(() => window.page.frames()).toHaveLength(1);
      await window.close();
    },
  );

  test('closing Link by destroy() calls nothing, restores the page and prevents reopening', async () => {
    const window = await fixture.open();
    const before = await window.page.content();
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    await window.page.evaluate('handle.destroy(); handle.open(); handle.exit()');
    await untilClosed(window);
    expect(await endings(window)).toStrictEqual([]);
    expect(await window.page.content()).toBe(before);
    await expect.poll(() => focusedId(window)).toBe('start');
    await window.close();
  });

  test('allows reopening with the same handle', async () => {
    const window = await fixture.open();
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    await window.page.keyboard.press('Escape');
    await untilClosed(window);
    await window.page.evaluate('handle.open(); handle.open()');
    await fixture.signIn(window, await window.frame(), 1);
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['exit', 'success']);
    await window.page.evaluate('handle.open()');
    await expect.poll(() => window.page.locator('dialog').count()).toBe(0);
    await window.close();
  });

  test('leaves no listener on the application’s window', async () => {
    const window = await fixture.open();
    await window.page.evaluate(`
      window.heard = 0;
      for (const name of ['addEventListener', 'removeEventListener']) {
        const real = window[name];
        window[name] = (...all) => {
          if (all[0] === 'message') heard += name === 'addEventListener' ? 1 : -1;
          return real.apply(window, all);
        };
      }`);
    await focused(await window.start(await fixture.steps.linkToken()), 'username');
    expect(await window.page.evaluate('heard')).toBeGreaterThan(0);
    await window.page.keyboard.press('Escape');
    await untilClosed(window);
    expect(await window.page.evaluate('heard')).toBe(0);
    await window.close();
  });
});

describe('opening Link twice', () => {
  const twice: [string, string][] = [
    ['opened, destroyed and opened again, as React’s StrictMode does', 'start(token); handle.destroy(); start(token)'],
    ['without destroying the first', 'start(token); start(token)'],
    ['the first one destroyed late', 'start(token); const first = handle; start(token); first.destroy(); first.exit()'],
  ];
  test.each(twice)('%s: shows one Link and ends with one callback', async (_case, script) => {
    const window = await fixture.open();
    const before = await window.page.content();
    const token = await fixture.steps.linkToken();
    await window.page.focus('#start');
    await window.page.evaluate(`{ const token = ${JSON.stringify(token)}; ${script} }`);
    const frame = await window.frame();
    await expect.poll(() => window.page.locator('dialog').count()).toBe(1);
    await fixture.signIn(window, frame, 1);
    await untilClosed(window);
    expect((await endings(window)).map(([kind]) => kind)).toStrictEqual(['success']);
    expect(await window.page.content()).toBe(before);
    await expect.poll(() => focusedId(window)).toBe('start');
    await window.close();
  });

  test('opening Link twice through the SDK resolves the first with the reason replaced', async () => {
    const window = await fixture.open();
    const module = readFileSync(new URL('../../../dist/sdk/link.js', import.meta.url)).toString('base64');
    const [first, second] = [await fixture.steps.linkToken(), await fixture.steps.linkToken()];
    await window.page.evaluate(`import('data:text/javascript;base64,${module}').then(async ({ openLink }) => {
      const open = (token) => openLink({ baseUrl: ${JSON.stringify(fixture.product.sandbox.base_url)}, token });
      window.first = open('${first}');
      await new Promise((opened) => new MutationObserver(opened).observe(document.body, { childList: true }));
      window.second = open('${second}');
    })`);
    expect(await window.page.evaluate('first')).toStrictEqual({ outcome: 'exited', reason: 'replaced' });
    await focused(await window.frame(), 'username');
    await window.page.keyboard.press('Escape');
    expect(await window.page.evaluate('second')).toStrictEqual({ outcome: 'exited', reason: 'closed' });
    await window.close();
  });

  test('throws if an option is missing', async () => {
    const window = await fixture.open();
    const readError = (settings: string) =>
      window.page.evaluate(
        `(() => { try { CobaltLink.init(${settings}); } catch (error) { return error.message; } })()`,
      );
    expect(await readError('')).toMatch(/token/);
    expect(await readError('{ onSuccess() {} }')).toMatch(/token/);
    expect(await readError('{ token: "lt_x" }')).toMatch(/onSuccess/);
    // As on a page without https.
    await window.page.evaluate(`Object.defineProperty(crypto, 'subtle', { value: undefined })`);
    expect(await readError('{ token: "lt_x", onSuccess() {} }')).toMatch(/https/);
    await expect.poll(() => window.page.locator('dialog').count()).toBe(0);
    await window.close();
  });
});
