import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { finishedCall, rejectedCall } from '../../dashboard/finishedCalls.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

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

  test('shows relative times, the exact ones on hover and focus, and closes their tooltip when the page changes', async () => {
    const { job_id } = await finishedCall(fixture.product);
    await fixture.product.owner`UPDATE jobs SET created_at = now() - interval '125 minutes' WHERE id = ${job_id}`;
    const page = await fixture.open('/{client}/jobs');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: String(job_id), exact: true }) });
    const accepted = row.locator('time');
    await expect.poll(() => accepted.innerText()).toBe('2 h ago');
    const exact = page.getByRole('tooltip').filter({ hasText: /\d+:\d\d:\d\d .M (UTC|GMT)/ });
    await accepted.hover();
    await accepted.hover({ position: { x: 3, y: 3 } });
    await exact.waitFor();
    await row.click();
    await page.getByRole('list', { name: 'Timeline' }).waitFor();
    await expect.poll(() => page.getByRole('tooltip').count()).toBe(0);
    await expect.poll(() => page.locator('#content time').first().getAttribute('datetime')).toMatch(/^\d{4}-.*Z$/);
    await page.getByText('2 h ago').focus();
    await exact.waitFor();
    // Everything is from this server, under the strict policy.
    expect(await page.evaluate(`document.fonts.check('16px "Inter Variable"')`)).toBe(true);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('moves through a list with j and k, selects with x and opens with Enter, but not while somebody types', async () => {
    const first = await rejectedCall(fixture.product);
    const second = await rejectedCall(fixture.product);
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('link', { name: String(first.job_id), exact: true }).waitFor();
    const focused = () => page.evaluate<string>(`document.activeElement.querySelector('td a')?.innerText ?? ''`);
    await page.keyboard.press('j');
    await expect.poll(focused).toBe(String(second.job_id));
    await page.keyboard.press('j');
    await expect.poll(focused).toBe(String(first.job_id));
    await page.keyboard.press('k');
    await page.keyboard.press('x');
    await page.getByRole('region', { name: 'Selected jobs' }).getByText('1 selected').waitFor();
    await expectAccessible(page);
    const mrn = page.getByRole('textbox', { name: 'Patient MRN' });
    await mrn.pressSequentially('jx');
    await expect.poll(() => mrn.inputValue()).toBe('jx');
    await mrn.fill('');
    await mrn.blur();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/jobs/${second.job_id}$`));
  });

  test('has its filters behind one button on a phone, which says how many are used', async () => {
    const page = await fixture.open('/{client}/jobs', {});
    await page.setViewportSize({ width: 375, height: 780 });
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByRole('textbox', { name: 'Reference' }).fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No matching jobs.').waitFor();
    await page.getByRole('combobox', { name: 'Status' }).click();
    await page.getByRole('option', { name: 'Waiting for re-linking' }).click();
    const opener = page.getByRole('button', { name: 'Filter · 2' });
    await expectAccessible(page);
    await opener.click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Reference' }).isVisible()).toBe(false);
    await opener.click();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('button', { name: 'Filter', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Job 1' }).waitFor();
    await page.context().close();
  });

  test.each([
    ['/audit', ['What', 'Who', 'About', 'Outcome', 'Time']],
    ['/requests', ['Time', 'Status', 'Request', 'Client', 'Duration', 'Response', 'Request ID']],
    ['/settings/operators', ['Operator', 'Access', 'Status', 'Last active', 'Actions']],
    ['/{client}/events/endpoints', ['URL', 'Status', 'Reason', 'Attempts (24 h)', 'Pending', 'Last success']],
  ])('shows the title and the columns of the list at %s while it is being loaded', async (path, columns) => {
    const page = await fixture.open('/{client}/overview', {});
    const { dashboard, client_id } = fixture.product.sandbox;
    // Without a response, until the window is closed.
    await page.route(/\/dashboard\/api\/(audit|requests|operators|clients\/[^/]+\/webhooks)(\?|$)/, () => {});
    await page.goto(`${dashboard.url}${path.replace('{client}', `clients/${client_id}`)}`);
    const placeholder = page.getByRole('status', { name: 'Loading' }).locator('th');
    await expect.poll(() => placeholder.allInnerTexts()).toStrictEqual(columns);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.context().close();
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
      await page.getByRole('heading', { level: 1 }).waitFor();
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
