import { readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LinkPlace, startLinkPlace } from './linkPlace.ts';

let place: LinkPlace;
let host: Server;
let origin = '';
beforeAll(async () => {
  place = await startLinkPlace();
  const script = await bundle(join(place.world.env.DATA_DIR ?? '', 'react-host'));
  host = createServer((request, response) => {
    const is_script = request.url === '/app.js';
    response.writeHead(200, { 'content-type': is_script ? 'text/javascript' : 'text/html; charset=utf-8' });
    response.end(
      is_script
        ? script
        : '<!doctype html><html lang="en"><title>App</title><div id="root"></div><script type="module" src="/app.js"></script>',
    );
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
});
afterAll(async () => {
  host?.closeAllConnections();
  host?.close();
  await place?.close();
});

describe('useLink in a React application under StrictMode', () => {
  test('opens one Link however often it is asked to, and tells the newest callbacks of the end once', async () => {
    const window = await open('react-user');
    await window.page.getByRole('button', { name: 'Connect' }).click();
    const frame = await window.frame();
    expect(await window.page.locator('dialog').count()).toBe(1);
    expect(await window.page.locator('#state').innerText()).toBe('open');
    await place.signIn(window, frame, 1);
    await expect.poll(() => window.page.locator('li').allInnerTexts()).toStrictEqual(['linked pt_ after 0']);
    expect(await window.page.locator('#state').innerText()).toBe('closed');
    await window.page.waitForSelector('dialog', { state: 'detached' });
    await window.page.close();
  });

  test('takes Link away with the component that opened it, opens again later, and tells of a person who leaves', async () => {
    const window = await open('react-other');
    await window.page.getByRole('button', { name: 'Connect' }).click();
    await window.frame();
    await window.page.evaluate(() => {
      // The page behind is covered by Link: the application itself moves on.
      const [leave] = (
        globalThis as unknown as { document: { querySelectorAll(name: string): { click(): void }[] } }
      ).document.querySelectorAll('button');
      leave?.click();
    });
    await window.page.waitForSelector('dialog', { state: 'detached' });
    await window.page.getByRole('button', { name: 'Return' }).click();
    await window.page.getByRole('button', { name: 'Connect' }).click();
    await (await window.frame()).waitForSelector('input');
    await window.page.keyboard.press('Escape');
    await expect.poll(() => window.page.locator('li').allInnerTexts()).toStrictEqual(['exited closed']);
    await window.page.close();
  });

  test('says why Link could not be opened where the service does not answer', async () => {
    const page = await place.browser.newPage();
    await page.goto(`${origin}/?service=${encodeURIComponent('http://127.0.0.1:9')}#lt_none`);
    await page.getByRole('button', { name: 'Connect' }).click();
    await expect.poll(() => page.locator('#error').innerText()).toMatch(/Link script could not be loaded/);
    expect(await page.locator('#state').innerText()).toBe('closed');
    await page.close();
  });
});

async function open(user_id: string) {
  const { base_url, org_id } = place.world.sandbox;
  const token = await place.steps.linkToken({ user_id, org_id });
  const window = await place.open();
  await window.page.goto(`${origin}/?service=${encodeURIComponent(base_url)}#${token}`);
  return window;
}

/** The application as its own build would make it. */
async function bundle(folder: string): Promise<string> {
  const { NODE_ENV } = process.env;
  try {
    await build({
      configFile: false,
      publicDir: false,
      logLevel: 'error',
      mode: 'development',
      define: { 'process.env.NODE_ENV': '"development"' },
      build: {
        outDir: folder,
        emptyOutDir: true,
        lib: {
          entry: join(import.meta.dirname, '../harness/reactHost.tsx'),
          formats: ['es'],
          fileName: () => 'app.js',
        },
      },
    });
  } finally {
    process.env.NODE_ENV = NODE_ENV;
  }
  const script = await readFile(join(folder, 'app.js'), 'utf8');
  await rm(folder, { recursive: true });
  return script;
}
