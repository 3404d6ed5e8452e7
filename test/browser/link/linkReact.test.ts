import { readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LinkFixture, startLink } from './linkFixture.ts';

let fixture: LinkFixture;
let host: Server;
let origin = '';
beforeAll(async () => {
  fixture = await startLink();
  const script = await bundle(join(fixture.product.env.DATA_DIR ?? '', 'react-host'));
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
  await fixture?.close();
});

describe('useLink in React’s StrictMode', () => {
  test('opens one Link for several calls and calls the latest callback once', async () => {
    const window = await open('react-user');
    await window.page.getByRole('button', { name: 'Connect' }).click();
    const frame = await window.frame();
    await expect.poll(() => window.page.locator('dialog').count()).toBe(1);
    await expect.poll(() => window.page.locator('#state').innerText()).toBe('open');
    await fixture.signIn(window, frame, 1);
    await expect.poll(() => window.page.locator('li').allInnerTexts()).toStrictEqual(['linked pt_ after 0']);
    await expect.poll(() => window.page.locator('#state').innerText()).toBe('closed');
    await window.page.waitForSelector('dialog', { state: 'detached' });
    await window.close();
  });

  test('closes Link when the component unmounts, reopens it and reports that it was closed', async () => {
    const window = await open('react-other');
    await window.page.getByRole('button', { name: 'Connect' }).click();
    await window.frame();
    await window.page.evaluate(() => {
      // Link covers the page, so the click comes from a script.
      const [leave] = (
        globalThis as unknown as { document: { querySelectorAll(name: string): { click(): void }[] } }
      ).document.querySelectorAll('button');
      leave?.click();
    });
    await window.page.waitForSelector('dialog', { state: 'detached' });
    await window.page.getByRole('button', { name: 'Return' }).click();
    await window.page.getByRole('button', { name: 'Connect' }).click();
    await (await window.frame()).waitForSelector('.step h1');
    await window.page.keyboard.press('Escape');
    await expect.poll(() => window.page.locator('li').allInnerTexts()).toStrictEqual(['exited closed']);
    await window.close();
  });

  test('reports that the service is unreachable', async () => {
    const page = await fixture.browser.newPage();
    await page.goto(`${origin}/?service=${encodeURIComponent('http://127.0.0.1:9')}#lt_none`);
    await page.getByRole('button', { name: 'Connect' }).click();
    await expect.poll(() => page.locator('#error').innerText()).toMatch(/Link script could not be loaded/);
    await expect.poll(() => page.locator('#state').innerText()).toBe('closed');
    await page.close();
  });
});

async function open(user_id: string) {
  const { base_url, org_id } = fixture.product.sandbox;
  const token = await fixture.steps.linkToken({ user_id, org_id });
  const window = await fixture.open();
  await window.page.goto(`${origin}/?service=${encodeURIComponent(base_url)}#${token}`);
  return window;
}

/** Bundles the application. */
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
          entry: join(import.meta.dirname, '../../harness/reactHost.tsx'),
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
