import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

describe('the dashboard', () => {
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
    },
  );

  test('returns the focus from a dialog to the menu that opened it', async () => {
    const page = await fixture.open('/{client}/accounts');
    const name = 'More actions for sandbox-user';
    await page.getByRole('button', { name }).press('Enter');
    const items = page.getByRole('menuitem');
    await items.first().waitFor();
    const labels = await items.allInnerTexts();
    await expect.poll(() => page.locator(':focus').innerText()).toBe(labels[0]);
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.locator(':focus').innerText()).toBe(labels[1]);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe(name);
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
