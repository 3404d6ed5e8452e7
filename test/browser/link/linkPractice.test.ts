import type { Frame } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../../cli/support.ts';
import { accessibilityViolations } from '../../harness/browser.ts';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { writeList } from '../../harness/practiceLists.ts';
import type { LinkWindow } from '../../harness/servers/linkHost.ts';
import { agree, endings, type LinkFixture, startLink, untilAlert, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startLink(), startFhirServer({ data: 'small' })]);
  const place = { city: 'Portland', state: 'OR' };
  const practices = [
    { name: 'Cedar Grove Family Medicine', url: server.url, ...place, parent: 'Cedar Grove Health' },
    { name: 'Cedar Grove Pediatrics', url: 'https://pediatrics.example.org/r4', city: 'Salem', state: 'OR' },
    { name: 'Cedar Hills Clinic', url: 'https://hills.example.org/r4', city: 'Beaverton', state: 'OR' },
    ...Array.from({ length: 30 }, (_, n) => ({
      name: `Valley Orthopaedic and Sports Medicine Associates of the Greater Metropolitan Area ${n}`,
      url: `https://valley${n}.example.org/r4`,
      ...{
        city: 'Rancho Santa Margarita',
        state: 'CA',
        parent: 'Valley Orthopaedic Holding Company of Southern California',
      },
    })),
  ];
  const { code, stderr } = await runHere(['directory', 'import', await writeList(practices)], fixture.product.env);
  expect(code, stderr).toBe(0);
  const operator = await signInOperator(fixture.product);
  const credentials = { way: 'authorization_code', client_id: 'by-page' };
  const app = appFor(server.url, credentials, { name: 'Cedar Grove EHR' });
  const { status, body } = await operator.post('clients/{client}/emr-apps', app);
  expect(status, JSON.stringify(body)).toBe(200);
  const redirect_uris = [`${fixture.product.sandbox.base_url}/link/v1/oauth/callback/${body.id}`];
  server.register({ client_id: 'by-page', redirect_uris });
  const unreachable = appFor(
    'https://hills.example.org',
    { ...credentials, client_id: 'hills' },
    { name: 'Hills EHR' },
  );
  expect((await operator.post('clients/{client}/emr-apps', unreachable)).status).toBe(200);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const newToken = (fields: Record<string, unknown> = {}) =>
  fixture.steps.linkToken({ emr_name: undefined, emr_instance_domain: undefined, ...fields });
const options = (frame: Frame) => frame.getByRole('option');
const active = (frame: Frame) => frame.locator('[aria-selected="true"] .title');

async function search({ page }: Pick<LinkWindow, 'page'>, frame: Frame, text: string, first: string): Promise<void> {
  await frame.waitForSelector('input[role="combobox"]:focus');
  await page.keyboard.type(text);
  await expect.poll(() => options(frame).first().innerText()).toContain(first);
}

test('a person finds a practice by keyboard, sees its city and parent before the sign-in, and can choose another', async () => {
  const window = await fixture.open();
  const frame = await window.start(await newToken());
  const { keyboard } = window.page;
  await frame.waitForSelector('h1:has-text("Find your practice")');
  await search(window, frame, 'cedar gr', 'Cedar Grove Family Medicine');
  const input = frame.getByRole('combobox', { name: 'Practice name or city' });
  await expect.poll(() => input.getAttribute('aria-expanded')).toBe('true');
  await expect.poll(() => frame.getByRole('status').innerText()).toBe('2 practices found.');
  expect(await options(frame).first().innerText()).toMatch(/Portland, OR · Part of Cedar Grove Health/);

  // The keys of a combobox.
  await keyboard.press('ArrowUp');
  await expect.poll(() => active(frame).innerText()).toBe('Cedar Grove Pediatrics');
  await expect.poll(() => input.getAttribute('aria-activedescendant')).toBe('practice-1');
  await keyboard.press('Enter');
  await untilAlert(frame, /^Cedar Grove Pediatrics is not available yet: Sandbox has no connection to its EMR\.$/);
  await keyboard.press('ArrowDown');
  await expect.poll(() => active(frame).innerText()).toBe('Cedar Grove Family Medicine');
  await keyboard.press('Escape');
  await expect.poll(() => options(frame).count()).toBe(0);
  await expect.poll(() => input.inputValue()).toBe('cedar gr');
  await keyboard.press('Escape');
  await expect.poll(() => input.inputValue()).toBe('');
  // Link is still open.
  await search(window, frame, 'family', 'Cedar Grove Family Medicine');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');

  await frame.waitForSelector('h1:has-text("Sandbox wants access to Cedar Grove EHR")');
  const facts = await frame.innerText('.facts');
  expect(facts).toContain('Practice\nCedar Grove Family Medicine');
  expect(facts).toContain('City\nPortland, OR');
  expect(facts).toContain('Part of\nCedar Grove Health');
  await frame.getByRole('button', { name: 'Choose another practice' }).press('Enter');
  await search(window, frame, 'portland', 'Cedar Grove Family Medicine');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');

  await frame.waitForSelector('.consent');
  await agree(frame);
  await frame.waitForSelector('h1:has-text("Sign in to Cedar Grove EHR")');
  const opening = window.page.waitForEvent('popup');
  await keyboard.press('Enter');
  const popup = await opening;
  const [person] = server.people;
  await popup.fill('input[name="username"]', person?.username ?? '');
  await popup.fill('input[name="password"]', person?.password ?? '');
  await popup.click('button[value="allow"]');
  await untilClosed(window);
  expect((await endings(window))[0]?.[0]).toBe('success');
  await window.close();
});

test('a practice whose EMR does not respond leads back to the search', async () => {
  const window = await fixture.openHosted(await newToken());
  const frame = await window.frame();
  await search(window, frame, 'cedar hills', 'Cedar Hills Clinic');
  await options(frame).first().click();
  await frame.waitForSelector('h1:has-text("This EMR address does not work")');
  await frame.getByRole('button', { name: 'Choose another practice' }).click();
  await frame.waitForSelector('h1:has-text("Find your practice")');
  await window.page.keyboard.type('nothing like this');
  await expect.poll(() => frame.getByRole('status').innerText()).toMatch(/^No practice found\./);
  await window.close();
});

test('typing sends a request for the last text only, and late results are dropped', async () => {
  const window = await fixture.openHosted(await newToken());
  const frame = await window.frame();
  const requests: string[] = [];
  await window.page.route('**/link/v1/practices?*', async (route) => {
    const query = new URL(route.request().url()).searchParams.get('query') ?? '';
    requests.push(query);
    // The first one is answered after the second.
    if (query === 'val') await expect.poll(() => requests).toContain('cedar hills');
    await route.continue();
  });
  await frame.waitForSelector('input[role="combobox"]:focus');
  await window.page.keyboard.type('val');
  await expect.poll(() => requests).toStrictEqual(['val']);
  await frame.locator('input').fill('cedar hills');
  await expect.poll(() => options(frame).count()).toBe(1);
  expect(requests).toStrictEqual(['val', 'cedar hills']);
  expect(await options(frame).first().innerText()).toContain('Cedar Hills Clinic');
  await window.close();
});

test('speaks Spanish', async () => {
  const window = await fixture.openHosted(await newToken({ language: 'es' }));
  const frame = await window.frame();
  await frame.waitForSelector('h1:has-text("Busque su consultorio")');
  await search(window, frame, 'cedar', 'Cedar Grove Family Medicine');
  await expect.poll(() => frame.getByRole('status').innerText()).toBe('3 consultorios encontrados.');
  await expect.poll(() => options(frame).nth(1).innerText()).toContain('No disponible');
  await window.close();
});

const views = {
  light: { colorScheme: 'light', viewport: { width: 1100, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1100, height: 800 } },
  'light at 768 pixels': { colorScheme: 'light', viewport: { width: 768, height: 1024 } },
  'light at 320 pixels': { colorScheme: 'light', viewport: { width: 320, height: 640 } },
  'dark at 320 pixels': { colorScheme: 'dark', viewport: { width: 320, height: 640 } },
} as const;

describe.each(Object.entries(views))('in %s', (name, view) => {
  test('the search is accessible and fits', async () => {
    const window = await fixture.openHosted(await newToken(), view);
    const frame = await window.frame();
    const expectAccessible = async (step: string) => {
      await expect.poll(() => accessibilityViolations(frame)).toStrictEqual([]);
      const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
      await expect.poll(() => frame.evaluate(wide)).toBe(false);
      const folder = process.env.SCREENSHOTS;
      if (folder) await window.page.screenshot({ path: `${folder}/${name}-${step}.png`.replaceAll(' ', '-') });
    };
    await frame.waitForSelector('input[role="combobox"]:focus');
    await expectAccessible('empty');
    await search(window, frame, 'cedar', 'Cedar Grove Family Medicine');
    await window.page.keyboard.press('ArrowDown');
    await expectAccessible('matches');
    await window.page.keyboard.press('ArrowDown');
    await window.page.keyboard.press('Enter');
    await untilAlert(frame, /not available yet/);
    await expectAccessible('unavailable');
    await frame.locator('input').fill('valley');
    await expect.poll(() => options(frame).count()).toBe(20);
    await expect.poll(() => frame.getByRole('status').innerText()).toMatch(/^These are the first 20\./);
    await expectAccessible('many');
    await frame.locator('input').fill('cedar family');
    await expect.poll(() => options(frame).count()).toBe(1);
    await options(frame).first().click();
    await frame.waitForSelector('.consent');
    await expectAccessible('consent');
    await window.close();
  });
});
