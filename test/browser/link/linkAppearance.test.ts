import type { Frame } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../../harness/browser.ts';
import { focused, type LinkFixture, startLink, untilAlert } from './linkFixture.ts';

let fixture: LinkFixture;
beforeAll(async () => {
  fixture = await startLink();
});
afterAll(() => fixture.close());

const views = {
  light: { colorScheme: 'light', viewport: { width: 1100, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1100, height: 800 } },
  'light at 320 pixels': { colorScheme: 'light', viewport: { width: 320, height: 640 } },
  'dark at 400 % of a 1280 by 1024 screen': { colorScheme: 'dark', viewport: { width: 320, height: 256 } },
} as const;

/** The WCAG contrast ratio of two CSS colors. */
function contrast(one: string, other: string): number {
  const luminance = (css: string) => {
    const [red = 0, green = 0, blue = 0] = (css.match(/\d+/g) ?? []).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Checks with axe, and that nothing scrolls sideways. */
async function expectAccessible(frame: Frame): Promise<void> {
  // Colors change a moment after what they belong to; real violations remain.
  await expect.poll(() => accessibilityViolations(frame)).toStrictEqual([]);
  const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
  await expect.poll(() => frame.evaluate(wide)).toBe(false);
}

describe.each(Object.entries(views))('in %s', (_name, view) => {
  test('every step is accessible and fits', async () => {
    const window = await fixture.openHosted(
      await fixture.steps.linkToken({ org_id: 'a-practice-with-a-rather-long-name' }),
      view,
    );
    const frame = await window.frame();
    // What is shared, and with whom, is a step of its own. The focus starts at its heading, so that nothing is skipped.
    await frame.waitForSelector('h1:focus');
    const consent = await frame.getByRole('region', { name: /^What .+ gets access to$/ }).innerText();
    expect(consent).toMatch(/Patients\s.*Appointments.*Claims.*Can also add and change records\s+Patients, /s);
    await expect.poll(() => frame.innerText('.facts')).toContain(new URL(fixture.product.sandbox.larkspur.url).host);
    await expectAccessible(frame);
    await expect.poll(() => frame.locator('input').count()).toBe(0);
    await window.page.keyboard.press('Tab');
    await window.page.keyboard.press('Enter');
    await focused(frame, 'username');
    // Autofocus does not scroll the heading out of view.
    await expect.poll(() => frame.evaluate('document.documentElement.scrollTop')).toBe(0);
    await expectAccessible(frame);
    await window.type(fixture.person(1).username, 'Tab');
    await window.type('wrong');
    await untilAlert(frame, /Incorrect username or password/);
    await expectAccessible(frame);
    // The message is visible even on a small screen.
    await expect.poll(async () => (await frame.locator('[role="alert"]').boundingBox())?.y).toBeGreaterThan(0);
    await focused(frame, 'password');
    await window.type(fixture.person(1).password);
    await focused(frame, 'code');
    await expectAccessible(frame);
    await window.type('000000');
    await untilAlert(frame, /Incorrect or expired code/);
    await expectAccessible(frame);
    await focused(frame, 'code');
    await window.type(fixture.product.api.code(1));
    await frame.waitForSelector('.badge.good');
    await expectAccessible(frame);
    await window.close();
  });

  test('the overlay and an invalid link are accessible and fit', async () => {
    const window = await fixture.open(view);
    const frame = await window.start('lt_nonsense');
    await frame.waitForSelector('.badge');
    await expectAccessible(frame);
    await expectAccessible(window.page.mainFrame());
    await expect
      .poll(() => window.page.locator('dialog iframe').boundingBox())
      .toStrictEqual({ x: 0, y: 0, ...view.viewport });
    await window.close();
  });
});

test.each([
  ['a small laptop', { width: 900, height: 760 }],
  ['a phone', { width: 375, height: 740 }],
])('every step has its button in view on %s', async (_name, viewport) => {
  const window = await fixture.openHosted(await fixture.steps.linkToken({ org_id: 'hillside-family-medicine' }), {
    viewport,
  });
  const frame = await window.frame();
  const button_bottom = async () => {
    const { y = 0, height = 0 } = (await frame.locator('button[type="submit"]').boundingBox()) ?? {};
    return y + height;
  };
  const expectInView = async () => {
    await expect.poll(button_bottom).toBeLessThanOrEqual(viewport.height);
    await expect.poll(async () => (await frame.locator('h1').boundingBox())?.y).toBeGreaterThan(0);
  };
  await frame.waitForSelector('.consent');
  await expectInView();
  await focused(frame, 'username');
  await expectInView();
  await window.type(fixture.person(1).username, 'Tab');
  await window.type(fixture.person(1).password);
  await focused(frame, 'code');
  await expectInView();
  await window.close();
});

test('a complete code is submitted by itself, once, and the sandbox says where it is', async () => {
  const window = await fixture.openHosted(await fixture.steps.linkToken());
  const frame = await window.frame();
  await focused(frame, 'username');
  await window.type(fixture.person(1).username, 'Tab');
  await window.type(fixture.person(1).password);
  await focused(frame, 'code');
  const code = frame.getByLabel('One-time code');
  await expect.poll(() => code.getAttribute('inputmode')).toBe('numeric');
  await expect
    .poll(() => frame.locator('.hint a').getAttribute('href'))
    .toBe(`${fixture.product.sandbox.larkspur.url}/codes`);
  const sent = () => window.sent.filter(({ url }) => url.endsWith('/sign-in')).length;
  const before = sent();
  await window.page.keyboard.type('00000');
  expect(sent()).toBe(before);
  await window.page.keyboard.type('0');
  await untilAlert(frame, /Incorrect or expired code/);
  expect(sent()).toBe(before + 1);
  // By the button, as authenticator apps show it.
  const digits = fixture.product.api.code(1);
  await code.evaluate((input, value) => Object.assign(input, { value }), `${digits.slice(0, 3)} ${digits.slice(3)}`);
  await frame.click('button[type="submit"]');
  await frame.waitForSelector('.badge.good');
  await window.close();
});

test('disables the form while signing in', async () => {
  const window = await fixture.openHosted(await fixture.steps.linkToken());
  const frame = await window.frame();
  await focused(frame, 'username');
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await window.page.route('**/sign-in', (route) => released.then(() => route.continue()));
  await window.type(fixture.person(1).username, 'Tab');
  await window.type(fixture.person(1).password);
  await frame.waitForSelector('form[aria-busy="true"]');
  await expect.poll(() => frame.innerText('button[type="submit"]')).toBe('Signing in to Larkspur…');
  await expect.poll(() => frame.textContent('[role="status"]')).toBe('Signing in to Larkspur…');
  await expectAccessible(frame);
  await window.page.keyboard.press('Enter');
  release?.();
  await focused(frame, 'code');
  expect(window.sent.filter(({ url }) => url.endsWith('/sign-in'))).toHaveLength(1);
  await window.close();
});

test('fields have labels and standard autocomplete tokens', async () => {
  const window = await fixture.openHosted(await fixture.steps.linkToken());
  const frame = await window.frame();
  await focused(frame, 'username');
  await expect.poll(() => frame.getByLabel('Username', { exact: true }).getAttribute('autocomplete')).toBe('username');
  await expect
    .poll(() => frame.getByLabel('Password', { exact: true }).getAttribute('autocomplete'))
    .toBe('current-password');
  await frame.getByRole('button', { name: 'Show password' }).click();
  await expect.poll(() => frame.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('text');
  await frame.getByRole('button', { name: 'Hide password' }).click();
  await frame.fill('input[name="username"]', fixture.person(1).username);
  await frame.focus('input[name="password"]');
  await window.type(fixture.person(1).password);
  await focused(frame, 'code');
  await expect.poll(() => frame.getByLabel('One-time code').getAttribute('autocomplete')).toBe('one-time-code');
  await window.close();
});

test('has no animations with reduced motion', async () => {
  const window = await fixture.openHosted(await fixture.steps.linkToken(), { reducedMotion: 'reduce' });
  const frame = await window.frame();
  await focused(frame, 'username');
  await frame.evaluate(`document.querySelector('form').setAttribute('aria-busy', 'true')`);
  expect(await frame.evaluate('document.getAnimations().length')).toBe(0);
  await window.close();
});

test('shows the client’s name, logo and color, with readable text on any color', async () => {
  const { owner } = fixture.product;
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="24"><rect width="90" height="24"/></svg>').toString('base64')}`;
  for (const color of ['#ffd400', '#101010', '#7f7f7f']) {
    await owner`UPDATE clients SET logo = ${logo}, colour = ${color}`;
    await owner`SELECT pg_notify('chartwire_access', '')`;
    fixture.product.ctx.lookups.clear();
    const window = await fixture.openHosted(await fixture.steps.linkToken());
    const frame = await window.frame();
    await focused(frame, 'username');
    // An image is decoded after the page is shown.
    const logo_width = () => frame.getByAltText('Sandbox').evaluate((image) => Object(image).naturalWidth);
    await expect.poll(logo_width).toBe(90);
    const [text, background] = await frame.evaluate<[string, string]>(
      `(() => { const { color, backgroundColor } = getComputedStyle(document.querySelector('.primary')); return [color, backgroundColor]; })()`,
    );
    expect(contrast(text, background)).toBeGreaterThanOrEqual(4.5);
    expect(background).toBe(`rgb(${[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)).join(', ')})`);
    await expectAccessible(frame);
    await window.close();
  }
});

test('a sent code can be requested again if the connector supports it', async () => {
  const { ctx } = fixture.product;
  const larkspur = ctx.connectors.get('larkspur');
  if (!larkspur) throw new Error('The Larkspur connector is missing.');
  // Tests run in the product's process and can change its connectors.
  (ctx.connectors as Map<string, typeof larkspur>).set('texting', { ...larkspur, name: 'texting', resend_code: true });
  const window = await fixture.openHosted(await fixture.steps.linkToken({ emr_name: 'texting' }));
  const frame = await window.frame();
  await focused(frame, 'username');
  await window.type(fixture.person(6).username, 'Tab');
  await window.type(fixture.person(6).password);
  await focused(frame, 'code');
  const again = frame.getByRole('button', { name: 'Send a new code' });
  await again.focus();
  await window.page.keyboard.press('Enter');
  await expect.poll(() => frame.innerText('[role="status"]')).toMatch(/new code was requested/);
  await expectAccessible(frame);
  await window.close();
});
