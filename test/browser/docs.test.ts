import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { accessibilityFaults, openBrowser } from '../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/journey.ts';

/** The page's scripts are those of the last build: `npm run build` before running this file alone. */
let world: TestSandbox;
let browser: Browser;
/** What the browser complained of, and whom it called, on any page of this file. */
const complaints: string[] = [];
const outside: string[] = [];

beforeAll(async () => {
  [world, browser] = await Promise.all([startSandbox(), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== world.sandbox.base_url) outside.push(request.url());
  });
  await page.goto(world.sandbox.docs_url);
  return page;
}

async function openForm(page: Page, id: string): Promise<Locator> {
  const article = page.locator(`[id="${id}"]`);
  await article.locator('details.try > summary').click();
  return article;
}

const status = (article: Locator) => article.locator('details.try > .status').innerText();
/** Under load a page takes its time; a test waits for it no longer than this. */
const soon = <T>(read: () => T, message = '') => expect.poll(read, { message });
/** Asked from outside: what the page itself evaluates is stopped by its policy. */
const filled = (page: Page) =>
  until(
    'the credentials to be filled in',
    async () => (await page.locator('[id="credentials.access_token"]').inputValue()) !== '',
  );
const overflows = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';

describe('a reader', () => {
  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)(
    'in %s at %d pixels finds every endpoint, nothing in the way and nothing to scroll sideways',
    async (colorScheme, width) => {
      const page = await open({ colorScheme, reducedMotion: 'reduce', viewport: { width, height: 800 } });
      await filled(page);
      for (const { id } of endpoints) expect(await page.locator(`[id="${id}"] h3`).count(), id).toBe(1);
      const article = await openForm(page, 'documents.create');
      for (const part of await article.locator('.definition > details > summary').all()) await part.click();
      expect(await page.evaluate(overflows)).toBe(false);
      // One look at the whole page takes seconds; in the other colours and widths one operation stands for all.
      const others = colorScheme === 'light' && width > 320 ? 'nothing' : '.operation:not([id="documents.create"])';
      await page.evaluate(`document.querySelectorAll('${others}').forEach((each) => each.remove())`);
      expect(await accessibilityFaults(page)).toStrictEqual([]);
      await page.close();
    },
    120_000,
  );

  test('without scripts reads everything, and is shown no form that could not work', async () => {
    const page = await open({ javaScriptEnabled: false });
    const text = await page.locator('main').innerText();
    for (const { path, summary } of endpoints) for (const part of [path, summary]) expect(text).toContain(part);
    expect(await page.locator('form:visible, button:visible, input:visible').count()).toBe(0);
    await page.close();
  });

  test('finds an endpoint by keyboard alone', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the reference');
    await page.locator('#find').focus();
    await page.keyboard.type('post teleph');
    const left = page.locator('.side li[data-find]:visible');
    await soon(() => left.count()).toBe(2);
    expect(await page.locator('[id="find.state"]').innerText()).toBe(`2 of ${endpoints.length} endpoints`);
    await page.keyboard.press('Enter');
    await soon(() => page.evaluate('location.hash')).toBe('#telephone-encounters.create');
    await page.locator('#find').focus();
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('#telephone-encounters.create');
    await page.locator('#find').focus();
    await page.keyboard.press('Escape');
    await soon(() => left.count()).toBe(endpoints.length);
    await page.close();
  });

  test('follows a write to its event, which unfolds', async () => {
    const page = await open();
    await page.locator('[id="telephone-encounters.create"] .events a').last().click();
    await soon(() => page.locator('[id="event.telephone_encounter.failed"] table').isVisible()).toBe(true);
    await page.close();
  });
});

describe('a newcomer', () => {
  let page: Page;
  beforeAll(async () => {
    page = await open();
    await filled(page);
  });
  afterAll(() => page.close());

  test('sends the first write with one click, and sees its event', async () => {
    const article = await openForm(page, 'telephone-encounters.create');
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 OK in \d+ ms$/);
    expect(await article.locator('.result').innerText()).toMatch(/x-request-id[\s\S]*"success": true[\s\S]*"job_id"/);
    await article.locator('.wait').click();
    const event = article.locator('.result .code').nth(1);
    await event.waitFor();
    expect(await event.innerText()).toContain('"event_type": "telephone_encounter.created"');
  });

  test('is shown an error as it was answered', async () => {
    const article = page.locator('[id="telephone-encounters.create"]');
    const body = article.locator('textarea');
    await body.fill((await body.inputValue()).replace('"501"', '"nobody"'));
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^404 /);
    expect(await article.locator('.result').innerText()).toContain("Provider with EMR ID 'nobody' not found.");
    expect(await article.locator('.wait').count()).toBe(0);
  });

  test('uploads a document that the page brings along', async () => {
    const article = await openForm(page, 'documents.create');
    await soon(() => article.locator('input[type="file"]').inputValue()).toContain('sample.pdf');
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 /);
    await article.locator('.wait').click();
    await soon(() => article.locator('.result').innerText()).toContain('document.uploaded');
  });

  test('links an account step by step: each form is filled with what the one before it gave', async () => {
    for (const id of ['link.token.create', 'sandbox.public_token.create', 'link.token.exchange']) {
      const article = await openForm(page, id);
      if (id === 'sandbox.public_token.create') {
        await soon(() => article.locator('textarea').inputValue()).toMatch(/"one_time_code": "(?!123456)/);
      }
      if (id === 'link.token.exchange')
        await soon(() => article.locator('input[name="public_token"]').inputValue()).toMatch(/^pt_/);
      await article.locator('.send').click();
      await soon(() => status(article), id).toMatch(/^200 /);
    }
  });

  test('is asked before something is taken away, and may say no', async () => {
    const { body } = await world.api.call('POST', '/v1/webhook', { body: { webhook_url: 'http://127.0.0.1:9/hook' } });
    const article = await openForm(page, 'webhook.delete');
    await soon(() => article.locator('input[name="id"]').inputValue()).toBe(body.webhook_id);
    await article.locator('.send').click();
    const dialog = page.locator('#confirm');
    await dialog.waitFor();
    expect(await dialog.innerText()).toContain('deletes a webhook endpoint');
    await page.keyboard.press('Escape');
    await soon(() => dialog.isVisible()).toBe(false);
    expect(await status(article)).toBe('');
    await article.locator('.send').click();
    await dialog.locator('button.send').click();
    await soon(() => status(article)).toMatch(/^200 /);
  });

  test('finds every form ready: as it is filled, it is answered well', { timeout: 180_000 }, async () => {
    const done = /^(documents\.create|link\.token|sandbox\.|webhook\.(delete|rotate)|telephone-encounters\.create)/;
    for (const { id } of endpoints.filter((each) => !done.test(each.id))) {
      const article = await openForm(page, id);
      for (const input of await article.locator('input[data-in="path"]').all()) {
        await soon(() => input.inputValue(), id).not.toBe('');
      }
      await article.locator('.send').click();
      await soon(() => status(article), id).toMatch(/^\d/);
      expect(await status(article), id).toMatch(/^200 /);
    }
  });

  test('leaves nothing behind: no secret in the address, in storage or in a cookie', async () => {
    const kept = await page.evaluate('JSON.stringify([location.href, localStorage, sessionStorage, document.cookie])');
    const { client_secret, access_token } = world.sandbox;
    for (const secret of [client_secret, access_token]) expect(kept).not.toContain(secret);
    await page.reload();
    await filled(page);
  });
});

test('no page was stopped by its own policy, failed in a script, or called another host', () => {
  // The browser notes every answer of 400 and above; one was asked for.
  expect(complaints.filter((text) => !text.includes('status of 404'))).toStrictEqual([]);
  expect(outside).toStrictEqual([]);
});
