import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLinkWindow } from '../harness/linkHost.ts';
import { freePort } from '../harness/sandbox.ts';
import { focused, type LinkPlace, startLinkPlace, untilClosed } from './linkPlace.ts';

let place: LinkPlace;
let example: ChildProcess;
let address = '';
beforeAll(async () => {
  place = await startLinkPlace();
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  example = spawn(process.execPath, [fileURLToPath(new URL('../../examples/lightbox/server.mjs', import.meta.url))], {
    env: { ...process.env, EXAMPLE_PORT: String(port), DATA_DIR: place.world.env.DATA_DIR },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // It says so when it listens.
  if (example.stdout) await once(example.stdout, 'data');
});
afterAll(async () => {
  example?.kill();
  await place?.close();
});

const told = (page: Page) => page.locator('#state').innerText();

describe('the application in examples/lightbox', () => {
  test('links over its page and is given the access token; no token stands in an address of its own', async () => {
    const window = await openLinkWindow(place.browser, address);
    await window.page.click('#lightbox');
    await place.signIn(window, await window.frame(), 1);
    await untilClosed(window);
    await expect.poll(() => told(window.page)).toMatch(/^Linked\. Providers so far: \d+/);
    expect(window.sent.filter(({ url }) => /[lp]t_/.test(url))).toStrictEqual([]);
    await window.page.context().close();
  });

  test('says why it was not linked', async () => {
    const window = await openLinkWindow(place.browser, address);
    await window.page.click('#lightbox');
    await focused(await window.frame(), 'username');
    await window.page.keyboard.press('Escape');
    await expect.poll(() => told(window.page)).toBe('Not linked (closed).');
    // An address that is not registered is refused before anybody leaves the page.
    await window.page.click('#hosted');
    await expect.poll(() => told(window.page)).toMatch(/^Error: .*callback_url/);
    await window.page.context().close();
  });

  test('links on the hosted page and returns to the application', async () => {
    const { owner, ctx } = place.world;
    await owner`UPDATE clients SET callback_urls = array_append(callback_urls, ${`${address}/callback`})`;
    ctx.lookups.clear();
    const window = await openLinkWindow(place.browser, address);
    await window.page.click('#hosted');
    await window.page.waitForURL(/\/link$/);
    await place.signIn(window, window.page.mainFrame(), 2);
    await window.page.waitForURL(/\/callback\?token=pt_/);
    expect(await window.page.innerText('body')).toMatch(/^Linked\. Providers so far: \d+/);
    await window.page.context().close();
  });
});
