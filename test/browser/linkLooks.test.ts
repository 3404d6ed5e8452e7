import type { Frame } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults } from '../harness/browser.ts';
import { focused, type LinkPlace, startLinkPlace, untilAlert } from './linkPlace.ts';

let place: LinkPlace;
beforeAll(async () => {
  place = await startLinkPlace();
});
afterAll(() => place.close());

const views = {
  light: { colorScheme: 'light', viewport: { width: 1100, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1100, height: 800 } },
  'light at 320 pixels': { colorScheme: 'light', viewport: { width: 320, height: 640 } },
  'dark at 400 % of a 1280 by 1024 screen': { colorScheme: 'dark', viewport: { width: 320, height: 256 } },
} as const;

/** Contrast as WCAG defines it, of two colours as CSS writes them. */
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

/** What axe finds, and whether anything is cut off at the side. */
async function look(frame: Frame): Promise<void> {
  expect(await accessibilityFaults(frame)).toStrictEqual([]);
  const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
  expect(await frame.evaluate(wide)).toBe(false);
}

describe.each(Object.entries(views))('in %s', (_name, view) => {
  test('every step of a link is whole and accessible', async () => {
    const window = await place.openHosted(
      await place.steps.linkToken({ org_id: 'a-practice-with-a-rather-long-name' }),
      view,
    );
    const frame = await window.frame();
    await focused(frame, 'username');
    await look(frame);
    await window.type(place.person(1).username, 'Tab');
    await window.type('wrong');
    await untilAlert(frame, /did not accept/);
    await look(frame);
    // However small the screen, it is seen; the field that is typed into comes into view by itself.
    expect((await frame.locator('[role="alert"]').boundingBox())?.y).toBeGreaterThan(0);
    await window.type(place.person(1).password);
    await focused(frame, 'code');
    await look(frame);
    await window.type('000000');
    await untilAlert(frame, /wrong or too old/);
    await look(frame);
    await window.type(place.world.api.code(1));
    await frame.waitForSelector('.badge.good');
    await look(frame);
    await window.page.context().close();
  });

  test('the overlay, and a link that is no good, are too', async () => {
    const window = await place.open(view);
    const frame = await window.start('lt_nonsense');
    await frame.waitForSelector('.badge');
    await look(frame);
    await look(window.page.mainFrame());
    const [box, size] = [await window.page.locator('dialog iframe').boundingBox(), view.viewport];
    expect(box).toStrictEqual({ x: 0, y: 0, ...size });
    await window.page.context().close();
  });
});

test('while it signs in, the form is busy, says so, and takes no second press', async () => {
  const window = await place.openHosted(await place.steps.linkToken());
  const frame = await window.frame();
  await focused(frame, 'username');
  let go: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  await window.page.route('**/sign-in', (route) => held.then(() => route.continue()));
  await window.type(place.person(1).username, 'Tab');
  await window.type(place.person(1).password);
  await frame.waitForSelector('form[aria-busy="true"]');
  expect(await frame.innerText('button[type="submit"]')).toBe('Signing in to Larkspur…');
  expect(await frame.textContent('[role="status"]')).toBe('Signing in to Larkspur…');
  await look(frame);
  await window.page.keyboard.press('Enter');
  go?.();
  await focused(frame, 'code');
  expect(window.sent.filter(({ url }) => url.endsWith('/sign-in'))).toHaveLength(1);
  await window.page.context().close();
});

test('fields carry the standard autocomplete tokens, and their labels', async () => {
  const window = await place.openHosted(await place.steps.linkToken());
  const frame = await window.frame();
  await focused(frame, 'username');
  expect(await frame.getByLabel('User name', { exact: true }).getAttribute('autocomplete')).toBe('username');
  expect(await frame.getByLabel('Password', { exact: true }).getAttribute('autocomplete')).toBe('current-password');
  await frame.getByRole('button', { name: 'Show password' }).click();
  expect(await frame.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('text');
  await frame.getByRole('button', { name: 'Hide password' }).click();
  await frame.fill('input[name="username"]', place.person(1).username);
  await frame.focus('input[name="password"]');
  await window.type(place.person(1).password);
  await focused(frame, 'code');
  expect(await frame.getByLabel('One-time code').getAttribute('autocomplete')).toBe('one-time-code');
  await window.page.context().close();
});

test('nothing moves for a person who wants no motion', async () => {
  const window = await place.openHosted(await place.steps.linkToken(), { reducedMotion: 'reduce' });
  const frame = await window.frame();
  await focused(frame, 'username');
  await frame.evaluate(`document.querySelector('form').setAttribute('aria-busy', 'true')`);
  expect(await frame.evaluate('document.getAnimations().length')).toBe(0);
  await window.page.context().close();
});

test('the client’s name, logo and colour are shown, and can be read whatever the colour', async () => {
  const { owner } = place.world;
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="24"><rect width="90" height="24"/></svg>').toString('base64')}`;
  for (const colour of ['#ffd400', '#101010', '#7f7f7f']) {
    await owner`UPDATE clients SET logo = ${logo}, colour = ${colour}`;
    await owner`SELECT pg_notify('chartwire_access', '')`;
    place.world.ctx.lookups.clear();
    const window = await place.openHosted(await place.steps.linkToken());
    const frame = await window.frame();
    await focused(frame, 'username');
    expect(await frame.getByAltText('Sandbox').evaluate((image) => Object(image).naturalWidth)).toBe(90);
    const [text, ground] = await frame.evaluate<[string, string]>(
      `(() => { const { color, backgroundColor } = getComputedStyle(document.querySelector('.primary')); return [color, backgroundColor]; })()`,
    );
    expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
    expect(ground).toBe(`rgb(${[1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)).join(', ')})`);
    await look(frame);
    await window.page.context().close();
  }
});

test('a code that the EMR sends can be asked for again, where the connector says so', async () => {
  const { ctx } = place.world;
  const larkspur = ctx.connectors.get('larkspur');
  if (!larkspur) throw new Error('There is no such connector.');
  // The product's own table of connectors is open to whoever runs it in this process.
  (ctx.connectors as Map<string, typeof larkspur>).set('texting', { ...larkspur, name: 'texting', resend_code: true });
  const window = await place.openHosted(await place.steps.linkToken({ emr_name: 'texting' }));
  const frame = await window.frame();
  await focused(frame, 'username');
  await window.type(place.person(6).username, 'Tab');
  await window.type(place.person(6).password);
  await focused(frame, 'code');
  const again = frame.getByRole('button', { name: 'Send a new code' });
  await again.focus();
  await window.page.keyboard.press('Enter');
  await expect.poll(() => frame.innerText('[role="status"]')).toMatch(/asked to send a new code/);
  await look(frame);
  await window.page.context().close();
});
