import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { openLinkWindow } from '../../harness/servers/linkHost.ts';
import { focused, type LinkFixture, startLink, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
let example: ChildProcess;
let address = '';
beforeAll(async () => {
  fixture = await startLink();
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  example = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../../examples/lightbox/server.mjs', import.meta.url))],
    {
      env: { ...process.env, EXAMPLE_PORT: String(port), DATA_DIR: fixture.product.env.DATA_DIR },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  // Printed when it listens.
  if (example.stdout) await once(example.stdout, 'data');
});
afterAll(async () => {
  example?.kill();
  await fixture?.close();
});

const state = (page: Page) => page.locator('#state').innerText();

describe('examples/lightbox', () => {
  test('links in an overlay without putting a token in its URLs', async () => {
    const window = await openLinkWindow(fixture.browser, address);
    await window.page.click('#lightbox');
    await fixture.signIn(window, await window.frame(), 1);
    await untilClosed(window);
    await expect.poll(() => state(window.page)).toMatch(/^Linked\. Providers so far: \d+/);
    expect(window.sent.filter(({ url }) => /[lp]t_/.test(url))).toStrictEqual([]);
    await window.close();
  });

  test('shows why linking failed', async () => {
    const window = await openLinkWindow(fixture.browser, address);
    await window.page.click('#lightbox');
    await focused(await window.frame(), 'username');
    await window.page.keyboard.press('Escape');
    await expect.poll(() => state(window.page)).toBe('Not linked (closed).');
    // An unregistered redirect URL is rejected before leaving the page.
    await window.page.click('#hosted');
    await expect.poll(() => state(window.page)).toMatch(/^Error: .*callback_url/);
    await window.close();
  });

  test('links on the hosted page and returns to the application', async () => {
    const { owner, ctx } = fixture.product;
    await owner`UPDATE clients SET callback_urls = array_append(callback_urls, ${`${address}/callback`})`;
    ctx.lookups.clear();
    const window = await openLinkWindow(fixture.browser, address);
    await window.page.click('#hosted');
    await window.page.waitForURL(/\/link$/);
    // The account of the first test, which belongs to this person.
    await fixture.signIn(window, window.page.mainFrame(), 1);
    await window.page.waitForURL(/\/callback\?token=pt_/);
    expect(await window.page.innerText('body')).toMatch(/^Linked\. Providers so far: \d+/);
    await window.close();
  });
});
