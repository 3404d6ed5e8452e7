import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import { accessibilityViolations, closeWindows, openBrowser } from '../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

/** Uses the scripts of the last build: run `npm run build` before this file alone. */
let product: TestSandbox;
let browser: Browser;
/** Console errors and requests to other hosts, on all pages of this file. */
const console_errors: string[] = [];
const outside: string[] = [];

beforeAll(async () => {
  [product, browser] = await Promise.all([startSandbox(), openBrowser()]);
});
afterAll(async () => {
  await closeWindows(browser);
  await product.close();
});

async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') console_errors.push(message.text());
  });
  page.on('pageerror', (error) => console_errors.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== product.sandbox.base_url) outside.push(request.url());
  });
  await page.goto(product.sandbox.docs_url);
  return page;
}

async function openForm(page: Page, id: string): Promise<Locator> {
  const article = page.locator(`[id="${id}"]`);
  await article.locator('details.try > summary').click();
  return article;
}

const status = (article: Locator) => article.locator('details.try > .status').innerText();
const soon = <T>(read: () => T, message = '') => expect.poll(read, { message });
/** Polled from outside, because the page's policy blocks evaluated scripts. */
const filled = (page: Page) =>
  until(
    'the credentials to be filled in',
    async () => (await page.locator('[id="credentials.access_token"]').inputValue()) !== '',
  );
/**
 * Operations and events have the same markup, and checking all took 17 s: the first mode checks the first of each group,
 * the others one operation.
 */
const repeated = (colorScheme: string, width: number) => {
  const first = colorScheme === 'light' && width > 320 ? ':not(h2 + .lead + .operation)' : '';
  return `.operation:not([id="documents.create"])${first}, [id^="event."]:nth-of-type(n + 4)`;
};
const overflows = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';

describe('reading', () => {
  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)(
    'shows every endpoint accessibly in %s mode at %d pixels, without scrolling sideways',
    async (colorScheme, width) => {
      const page = await open({ colorScheme, reducedMotion: 'reduce', viewport: { width, height: 800 } });
      await filled(page);
      const titled: string[] = await page.evaluate(
        '[...document.querySelectorAll("h3")].map((each) => each.parentElement.id)',
      );
      for (const { id } of endpoints) expect(titled.filter((each) => each === id)).toStrictEqual([id]);
      const ids: string[] = await page.evaluate('[...document.querySelectorAll("[id]")].map((each) => each.id)');
      expect(new Set(ids).size).toBe(ids.length);
      const article = await openForm(page, 'documents.create');
      for (const part of await article.locator('.definition > details > summary').all()) await part.click();
      expect(await page.evaluate(overflows)).toBe(false);
      await page.evaluate(
        `document.querySelectorAll('${repeated(colorScheme, width)}').forEach((each) => each.remove())`,
      );
      expect(await accessibilityViolations(page)).toStrictEqual([]);
      await page.close();
    },
    120_000,
  );

  test('is complete without scripts, and has no forms then', async () => {
    const page = await open({ javaScriptEnabled: false });
    const text = await page.locator('main').innerText();
    for (const { path, summary } of endpoints) for (const part of [path, summary]) expect(text).toContain(part);
    expect(await page.locator('form:visible, button:visible, input:visible').count()).toBe(0);
    await page.close();
  });

  test('finds an endpoint by keyboard', async () => {
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

  test('opens the linked event of a write', async () => {
    const page = await open();
    await page.locator('[id="telephone-encounters.create"] .events a').last().click();
    await soon(() => page.locator('[id="event.telephone_encounter.failed"] table').isVisible()).toBe(true);
    await page.close();
  });
});

describe('trying requests', () => {
  let page: Page;
  beforeAll(async () => {
    page = await open();
    await filled(page);
  });
  afterAll(() => page.close());

  test('sends the first write with one click and shows its event', async () => {
    const article = await openForm(page, 'telephone-encounters.create');
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 OK in \d+ ms$/);
    expect(await article.locator('.result').innerText()).toMatch(/x-request-id[\s\S]*"success": true[\s\S]*"job_id"/);
    await article.locator('.wait').click();
    const event = article.locator('.result .code').nth(1);
    await event.waitFor();
    expect(await event.innerText()).toContain('"event_type": "telephone_encounter.created"');
  });

  test('shows an error response', async () => {
    const article = page.locator('[id="telephone-encounters.create"]');
    const body = article.locator('textarea');
    await body.fill((await body.inputValue()).replace('"501"', '"nobody"'));
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^404 /);
    expect(await article.locator('.result').innerText()).toContain("Provider with EMR ID 'nobody' not found.");
    expect(await article.locator('.wait').count()).toBe(0);
  });

  test('uploads the built-in sample document', async () => {
    const article = await openForm(page, 'documents.create');
    await soon(() => article.locator('input[type="file"]').inputValue()).toContain('sample.pdf');
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 /);
    await article.locator('.wait').click();
    await soon(() => article.locator('.result').innerText()).toContain('document.uploaded');
  });

  test('links an account step by step, with each form filled in from the previous response', async () => {
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

  test('asks for confirmation before a deletion', async () => {
    const { body } = await product.api.call('POST', '/v1/webhook', {
      body: { webhook_url: 'http://127.0.0.1:9/hook' },
    });
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

  test('every form works as it is filled in', { timeout: 180_000 }, async () => {
    const done =
      /^(account\.|jobs\.run-again|documents\.create|link\.token|sandbox\.|webhook\.(delete|rotate)|telephone-encounters\.create)/;
    for (const { id } of endpoints.filter((each) => !done.test(each.id) && !each.stream)) {
      const article = await openForm(page, id);
      for (const input of await article.locator('input[data-in="path"]').all()) {
        await soon(() => input.inputValue(), id).not.toBe('');
      }
      await article.locator('.send').click();
      await soon(() => status(article), id).toMatch(/^\d/);
      expect(await status(article), id).toMatch(/^200 /);
    }
  });

  test('stores no secret in the URL, in storage or in a cookie', async () => {
    const browser_state = await page.evaluate(
      'JSON.stringify([location.href, localStorage, sessionStorage, document.cookie])',
    );
    const { client_secret, access_token } = product.sandbox;
    for (const secret of [client_secret, access_token]) expect(browser_state).not.toContain(secret);
    await page.reload();
    await filled(page);
  });
});

test('no page violated its policy, failed in a script or called another host', () => {
  // The browser logs every error response; one was intended.
  expect(console_errors.filter((text) => !text.includes('status of 404'))).toStrictEqual([]);
  expect(outside).toStrictEqual([]);
});
