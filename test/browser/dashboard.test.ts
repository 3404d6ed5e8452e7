import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

describe('dashboard', () => {
  test('signs an operator in and rejects a wrong password', async () => {
    const context = await fixture.browser.newContext();
    const page = await context.newPage();
    await page.goto(fixture.product.sandbox.dashboard.url);
    await expectAccessible(page);
    await page.getByLabel('Email').fill(fixture.product.sandbox.dashboard.email);
    await page.locator('input[name="password"]').fill('not this one');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('Incorrect email or password');
    await expectAccessible(page);
    await page.locator('input[name="password"]').fill(fixture.product.sandbox.dashboard.password);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.reload();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Email').waitFor();
    await context.close();
  });

  test('shows an account and starts a sync', async () => {
    const page = await fixture.open('/{client}/accounts');
    await page.getByRole('cell', { name: 'sandbox-user', exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await expect
      .poll(async () => (await fixture.product.owner`SELECT FROM jobs WHERE type = 'sync'`).length)
      .toBeGreaterThan(1);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    await page.close();
  });

  test.each(['More actions for sandbox-user', 'Sandbox owner'])(
    'opens the menu “%s” with the keyboard and closes it with Escape',
    async (name) => {
      const page = await fixture.open('/{client}/accounts');
      const opener = page.getByRole('button', { name, exact: true });
      const items = page.getByRole('menuitem');
      const focused = page.locator(':focus');
      await opener.press('Enter');
      await items.first().waitFor();
      const labels = await items.allInnerTexts();
      await expect.poll(() => focused.innerText()).toBe(labels[0]);
      await page.keyboard.press('ArrowDown');
      await expect.poll(() => focused.innerText()).toBe(labels[1]);
      await page.keyboard.press('Escape');
      await expect.poll(() => items.count()).toBe(0);
      await expect.poll(() => focused.getAttribute('aria-label')).toBe(name);
      await opener.click();
      await items.first().waitFor();
      await expectAccessible(page);
      expect(fixture.consoleErrors(page)).toStrictEqual([]);
      await page.close();
    },
  );

  test('returns the focus from a dialog to the menu that opened it', async () => {
    const page = await fixture.open('/{client}/accounts');
    const name = 'More actions for sandbox-user';
    await page.getByRole('button', { name }).click();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe(name);
    await page.close();
  });

  test('keeps its layout while pages load', async () => {
    const context = (await fixture.open('', {})).context();
    const { dashboard, client_id } = fixture.product.sandbox;
    const client = `/clients/${client_id}`;
    for (const path of ['overview', 'accounts', 'jobs', 'events', 'events/endpoints'].map(
      (name) => `${client}/${name}`,
    )) {
      const page = await context.newPage();
      await page.addInitScript(`
        globalThis.shifts = [];
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries())
            shifts.push({ value, moved: sources.map(({ node }) => node?.textContent?.slice(0, 40)) });
        }).observe({ type: 'layout-shift', buffered: true });`);
      // Responses about the client wait until the placeholders are shown.
      let show = () => {};
      const shown = new Promise<void>((resolve) => {
        show = resolve;
      });
      await page.route(`**/dashboard/api/clients/${client_id}/**`, async (route) => {
        await shown;
        await route.continue();
      });
      await page.goto(`${dashboard.url}${path}`);
      const placeholders = page.getByRole('status', { name: 'Loading' });
      await placeholders.first().waitFor();
      show();
      await expect.poll(() => placeholders.count()).toBe(0);
      // Shifts are reported with the frame after them.
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
      const shifts = await page.evaluate<{ value: number }[]>('shifts');
      // A tenth of what web.dev still calls good.
      expect(shifts.filter(({ value }) => value > 0.01)).toStrictEqual([]);
      await page.close();
    }
    await context.close();
  });
});
