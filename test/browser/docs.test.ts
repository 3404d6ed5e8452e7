import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { pages } from '../../src/surfaces/docs/navigation.ts';
import { accessibilityViolations, closeWindows, keepMessages, openBrowser } from '../harness/browser.ts';
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

async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') console_errors.push(message.text());
  });
  page.on('pageerror', (error) => console_errors.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== product.sandbox.base_url) outside.push(request.url());
  });
  await page.goto(product.sandbox.base_url + path);
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
const overflows = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
const current = (page: Page) => page.locator('.spy a[aria-current="location"]').innerText();
const path = (page: Page) => page.evaluate<string>('location.pathname + location.hash');

describe('reading', () => {
  // One page of each kind; the others have the same markup, and all of them are checked for overflow.
  test.each([
    ['/', 'light', 1280],
    ['/docs/link', 'light', 1280],
    ['/docs/reference/documents', 'light', 1280],
    ['/docs/reference', 'dark', 1280],
    ['/docs/reference/documents', 'dark', 320],
    ['/docs/errors-and-retries', 'light', 320],
  ] as const)('%s is accessible in %s mode at %d pixels', async (path, colorScheme, width) => {
    const page = await open(path, { colorScheme, reducedMotion: 'reduce', viewport: { width, height: 800 } });
    if (path === '/docs/reference/documents') {
      await filled(page);
      const article = await openForm(page, 'documents.create');
      for (const part of await article.locator('.definition > details > summary').all()) await part.click();
    }
    if (path === '/docs/link') {
      await page.locator('#search').fill('token');
      await page.locator('.results [role="option"]').first().waitFor();
    }
    if (path === '/docs/errors-and-retries') await page.locator('button.menu').click();
    expect(await accessibilityViolations(page)).toStrictEqual([]);
    await page.close();
  });

  test('no page scrolls sideways', async () => {
    const page = await open('/', { viewport: { width: 320, height: 800 } });
    const wide: string[] = [];
    for (const each of pages) {
      await page.goto(product.sandbox.base_url + each.path);
      if (await page.evaluate(overflows)) wide.push(each.path);
    }
    expect(wide).toStrictEqual([]);
    // Its widest table has 15 columns, which are below each other on a narrow screen only.
    await page.setViewportSize({ width: 1024, height: 800 });
    await page.goto(`${product.sandbox.base_url}/docs/emrs`);
    expect(await page.evaluate(overflows)).toBe(false);
    await page.close();
  });

  test('is complete without scripts, and has no forms then', async () => {
    const page = await open('/docs/reference/patients', { javaScriptEnabled: false });
    const text = await page.locator('main').innerText();
    for (const part of ['/v1/patients', 'curl -X POST', 'new Chartwire({', 'client = Chartwire(']) {
      expect(text).toContain(part);
    }
    await expect.poll(() => page.locator('form:visible, button:visible, input:visible').count()).toBe(0);
    await page.setViewportSize({ width: 400, height: 800 });
    await expect.poll(() => page.locator('.side a').first().isVisible()).toBe(true);
    await page.close();
  });

  test('finds a page by keyboard', async () => {
    const page = await open('/docs');
    await page.locator('#search').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('/');
    await page.keyboard.type('create teleph');
    const options = page.locator('.results [role="option"]');
    await soon(() => options.first().innerText()).toContain('Create a telephone encounter');
    await expect.poll(() => page.locator('#search').getAttribute('aria-activedescendant')).toBe('result.0');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => options.nth(1).getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await soon(() => path(page)).toBe('/docs/reference/telephone-encounters#telephone-encounters.create');
    // Scripts have run when the page is loaded.
    await page.waitForLoadState();
    await page.keyboard.press('/');
    await page.keyboard.type('qwxyz');
    await soon(() => page.locator('.found').innerText()).toBe('No results');
    expect((await page.locator('.found').boundingBox())?.height).toBeGreaterThan(20);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('#search').inputValue()).toBe('');
    await page.locator('#search').focus();
    expect((await page.locator('.found').boundingBox())?.height).toBeLessThan(2);
    // A slash in a field is text.
    await page.locator('#search').fill('a');
    await page.keyboard.press('/');
    await expect.poll(() => page.locator('#search').inputValue()).toBe('a/');
    await page.close();
  });

  test('the table of contents follows the scroll', async () => {
    const page = await open('/docs/concepts');
    await soon(() => current(page)).toBe('Clients, organizations and accounts');
    await page.evaluate('document.getElementById("order").scrollIntoView()');
    await soon(() => current(page)).toBe('Order');
    await page.keyboard.press('End');
    await soon(() => current(page)).toBe('EMRs differ');
    await page.goto(`${product.sandbox.base_url}/docs/reference/practice#locations.update`);
    await soon(() => current(page)).toBe('Update a location');
    await page.close();
  });

  test('remembers the language of the samples and the theme', async () => {
    const page = await open('/docs/reference/patients', { colorScheme: 'light' });
    const shown = page.locator('[id="patients.create"] .samples pre:visible');
    await expect.poll(() => shown.innerText()).toMatch(/^curl /);
    await page.locator('[id="patients.create"] [role="tab"]').nth(1).click();
    await expect.poll(() => shown.innerText()).toContain('client.patients.create({');
    await page.keyboard.press('ArrowRight');
    await soon(() => page.evaluate('document.activeElement.textContent')).toBe('Python');
    await expect
      .poll(() => page.locator('[role="tab"][aria-selected="true"]').allInnerTexts())
      .toStrictEqual(Array.from({ length: await page.locator('.samples').count() }, () => 'Python'));
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await background();
    const theme = page.locator('button.theme');
    await theme.click();
    await theme.click();
    await expect.poll(() => theme.getAttribute('aria-label')).toBe('Theme: Dark');
    await soon(background).not.toBe(light);
    await page.goto(`${product.sandbox.base_url}/docs/reference/jobs`);
    await expect
      .poll(() => page.locator('[id="jobs.get"] .samples pre:visible').innerText())
      .toContain('client.jobs.get(');
    await soon(background).not.toBe(light);
    await page.close();
  });

  test('copies the sample that is shown', async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    await page.goto(`${product.sandbox.base_url}/docs/reference/jobs`);
    const sample = page.locator('[id="jobs.get"] .samples');
    await sample.locator('[role="tab"]').nth(2).click();
    await keepMessages(page);
    await sample.locator('button.copy').click();
    await soon(() => sample.locator('button.copy').innerText()).toBe('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
      /^(import os\n\n)?from chartwire import[\s\S]*client\.jobs\.get/,
    );
    await context.close();
  });

  test('the menu of a narrow screen opens, leads to a page, and closes with Escape', async () => {
    const page = await open('/docs', { viewport: { width: 375, height: 800 } });
    const menu = page.locator('button.menu');
    const link = page.locator('.side a', { hasText: 'Concepts' });
    await expect.poll(() => link.isVisible()).toBe(false);
    await menu.click();
    await expect.poll(() => link.isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    await soon(() => link.isVisible()).toBe(false);
    await soon(() => menu.getAttribute('aria-expanded')).toBe('false');
    await menu.click();
    await link.click();
    await soon(() => path(page)).toBe('/docs/concepts');
    await page.locator('.neighbors .after').click();
    await soon(() => path(page)).toBe('/docs/client-libraries');
    await page.close();
  });

  test('leads from a write to its event', async () => {
    const page = await open('/docs/reference/telephone-encounters');
    await page.locator('[id="telephone-encounters.create"] .events a').last().click();
    await soon(() => path(page)).toBe('/docs/reference/events#telephone_encounterfailed');
    await expect.poll(() => page.locator('#telephone_encounterfailed').isVisible()).toBe(true);
    await page.close();
  });
});

describe('the quickstart', () => {
  test('works by its buttons alone, from the first request to the chart', async () => {
    const page = await open('/docs', { colorScheme: 'dark', reducedMotion: 'reduce' });
    const run = page.locator('button.run');
    await soon(() => run.count()).toBe(5);
    const { client_secret, larkspur } = product.sandbox;
    const code = (index: number) => page.locator('figure[data-run] code').nth(index).innerText();
    const outcome = (index: number) => page.locator('.ran').nth(index);
    const press = async (index: number) => {
      await run.nth(index).click();
      await soon(() => outcome(index).locator('.status').first().innerText()).toMatch(/^200 OK in \d+ ms$/);
    };
    // The samples of the page have the values of this sandbox.
    expect(await code(0)).toContain(`'client_secret: ${client_secret}'`);
    expect(await page.locator('code.python').innerText()).toContain(`client_secret="${client_secret}"`);
    await press(0);
    await soon(() => outcome(0).innerText()).toContain('"mrn": "LK100001"');
    await press(1);
    const job_id = /"job_id": (\d+)/.exec(await outcome(1).innerText())?.[1] ?? '';
    expect(await outcome(1).locator('a.button').getAttribute('href')).toBe(
      `/dashboard/clients/${product.sandbox.client_id}/jobs/${job_id}`,
    );
    expect(await code(2)).toContain(`job_id=${job_id}"`);
    expect(await code(3)).toContain(`/v1/jobs/${job_id} `);
    await outcome(1).locator('.wait').click();
    await soon(() => outcome(1).innerText()).toContain('"event_type": "telephone_encounter.created"');
    await press(2);
    await soon(() => outcome(2).innerText()).toContain(`"job_id": "${job_id}"`);
    await press(3);
    await soon(() => outcome(3).innerText()).toContain('"status": "succeeded"');
    expect(await accessibilityViolations(page)).toStrictEqual([]);
    await press(4);
    const [chart] = await Promise.all([page.waitForEvent('popup'), outcome(4).locator('a.button').click()]);
    await soon(() => chart.url()).toMatch(new RegExp(`^${larkspur.url}/`));
    await soon(() => chart.locator('body').innerText()).toContain('LK100001');
    await chart.close();
    // The same from the write itself, in one click.
    const [opened] = await Promise.all([page.waitForEvent('popup'), outcome(1).locator('button.larkspur').click()]);
    await soon(() => opened.locator('body').innerText()).toContain('LK100001');
    await page.context().close();
  });

  test('shows a response on a phone, below the button that was at the lower edge', async () => {
    const viewport = { width: 375, height: 740 };
    const page = await open('/docs', { viewport, reducedMotion: 'reduce' });
    const run = page.locator('button.run');
    await soon(() => run.count()).toBe(5);
    expect((await run.first().boundingBox())?.height).toBeLessThan(44);
    await run.nth(1).click();
    const response = page.locator('.ran').nth(1).locator('.code');
    const bottom = async () => {
      const box = await response.boundingBox();
      return box === null ? 9_999 : box.y + box.height;
    };
    await soon(bottom).toBeLessThan(viewport.height);
    await page.close();
  });

  test('a heading that moved to another page is found there', async () => {
    const page = await open('/docs/fhir#parallel-writes');
    await soon(() => path(page)).toBe('/docs/fhir-mapping#parallel-writes');
    await page.close();
  });
});

describe('trying requests', () => {
  let page: Page;
  beforeAll(async () => {
    page = await open('/docs');
  });
  afterAll(() => page.close());

  /** The form of an operation, on its page. */
  async function goToForm(id: string): Promise<Locator> {
    const group = endpoints.find((each) => each.id === id)?.group ?? 'Link';
    const target = pages.find(
      ({ content }) => content !== 'overview' && 'groups' in content && content.groups.includes(group),
    );
    const address = `${product.sandbox.base_url}${target?.path}`;
    if (page.url().split('#')[0] !== address) {
      await page.goto(address);
      await filled(page);
    }
    return openForm(page, id);
  }

  test('sends the first write with one click and shows its event', async () => {
    const article = await goToForm('telephone-encounters.create');
    // The samples make room, and the response is brought into view.
    await soon(() => article.locator('.samples').isVisible()).toBe(false);
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 OK in \d+ ms$/);
    const shown_at = async () => (await article.locator('.result .code').first().boundingBox())?.y ?? 9_999;
    await soon(shown_at).toBeLessThan(700);
    await soon(() => page.evaluate('document.activeElement.textContent')).toMatch(/^200 OK/);
    await expect
      .poll(() => article.locator('.result').innerText())
      .toMatch(/x-request-id[\s\S]*"success": true[\s\S]*"job_id"/);
    await article.locator('.wait').click();
    const event = article.locator('.result .code').nth(1);
    await event.waitFor();
    await expect.poll(() => event.innerText()).toContain('"event_type": "telephone_encounter.created"');
    // It is below the response, in a panel of its own scroll.
    await soon(async () => (await event.boundingBox())?.y ?? 9_999).toBeLessThan(800);
  });

  test('shows an error response', async () => {
    const article = page.locator('[id="telephone-encounters.create"]');
    const body = article.locator('textarea');
    await body.fill((await body.inputValue()).replace('"501"', '"nobody"'));
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^404 /);
    await expect
      .poll(() => article.locator('.result').innerText())
      .toContain("Provider with EMR ID 'nobody' not found.");
    await expect.poll(() => article.locator('.wait').count()).toBe(0);
  });

  test('uploads the built-in sample document', async () => {
    const article = await goToForm('documents.create');
    await soon(() => article.locator('input[type="file"]').inputValue()).toContain('sample.pdf');
    await article.locator('.send').click();
    await soon(() => status(article)).toMatch(/^200 /);
    await article.locator('.wait').click();
    await soon(() => article.locator('.result').innerText()).toContain('document.uploaded');
    const read = await goToForm('documents.get');
    await soon(() => read.locator('input[name="id"]').inputValue()).toMatch(/^[0-9a-f]{32}$/);
    await read.locator('.send').click();
    await soon(() => read.locator('.result').innerText()).toContain('emr_document_id');
  });

  test('links an account step by step, with each form filled in from the previous response', async () => {
    for (const id of ['link.token.create', 'sandbox.public_token.create', 'link.token.exchange']) {
      const article = await goToForm(id);
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
    const article = await goToForm('webhook.delete');
    await soon(() => article.locator('input[name="id"]').inputValue()).toBe(body.webhook_id);
    await article.locator('.send').click();
    const dialog = page.locator('#confirm');
    await dialog.waitFor();
    await expect.poll(() => dialog.innerText()).toContain('deletes a webhook endpoint');
    await page.keyboard.press('Escape');
    await soon(() => dialog.isVisible()).toBe(false);
    expect(await status(article)).toBe('');
    await article.locator('.send').click();
    await dialog.locator('button.send').click();
    await soon(() => status(article)).toMatch(/^200 /);
  });

  test('every form works as it is filled in', async () => {
    // No list has the IDs of sent documents.
    const done =
      /^(account\.|jobs\.(run-again|cancel)|documents\.|link\.token|sandbox\.|webhook\.(delete|rotate)|telephone-encounters\.create)/;
    const left = endpoints.filter((each) => !done.test(each.id) && !each.stream);
    // By page, so that each is opened once.
    for (const { id, found_in = {}, body } of left.sort((a, b) => (a.group ?? '').localeCompare(b.group ?? ''))) {
      const article = await goToForm(id);
      for (const input of await article.locator('input[data-in="path"]').all()) {
        await soon(() => input.inputValue(), id).not.toBe('');
      }
      if (Object.keys(found_in).some((name) => name in (body?.properties ?? {}))) {
        const area = article.locator('textarea[data-in="body"]');
        const filled = await area.textContent();
        await soon(() => area.inputValue(), id).not.toBe(filled);
      }
      await article.locator('.send').click();
      await soon(() => status(article), id).toMatch(/^\d/);
      expect(await status(article), id).toMatch(/^20[02] /);
    }
  });

  test('stores no secret in the URL, in storage or in a cookie', async () => {
    const browser_state = await page.evaluate(
      'JSON.stringify([location.href, localStorage, sessionStorage, document.cookie])',
    );
    const { client_secret, access_token } = product.sandbox;
    for (const secret of [client_secret, access_token]) expect(browser_state).not.toContain(secret);
  });
});

test('no page violated its policy, failed in a script or called another host', () => {
  // The browser logs every error response; one was intended.
  expect(console_errors.filter((text) => !text.includes('status of 404'))).toStrictEqual([]);
  expect(outside).toStrictEqual([]);
});
