import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { finishedCall, lostCall } from '../../dashboard/finishedCalls.ts';
import { type DashboardFixture, expectAccessible, signIn, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  // The built-in receiver's URL contains the port, so it must be known before the service starts.
  fixture = await startDashboard({ env: { PORT: `${await freePort()}` } });
});
afterAll(() => fixture?.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const unreachable = (route: Route) => route.abort('connectionrefused');

describe('dashboard page', () => {
  test('shows an error in place of a page that cannot be loaded, and keeps the menu', async () => {
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    // After an update, the files of the old version no longer exist.
    await page.route('**/dashboard/files/chunks/*', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('alert').getByText('This page could not be loaded').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
  });

  test('shows changes from while its live stream was disconnected', async () => {
    const page = await fixture.open();
    // A proxy in front of a stopped service.
    await page.route('**/dashboard/api/live', (route) => route.fulfill({ status: 502 }));
    await page.goto(`${fixture.product.sandbox.dashboard.url}/clients/${fixture.product.sandbox.client_id}/jobs`);
    await page.getByText('Disconnected').waitFor();
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    const { job_id } = await finishedCall(fixture.product);
    await page.unroute('**/dashboard/api/live');
    await page.getByRole('link', { name: String(job_id), exact: true }).waitFor();
    await page.getByText('Disconnected').waitFor({ state: 'detached' });
  });

  test('keeps input and shows an error if the service is unreachable', async () => {
    const { job_id } = await lostCall(fixture.product);
    await fixture.product.api.control('DELETE', '/control/faults');
    const page = await fixture.open(`/{client}/jobs/${job_id}`);
    await button(page, 'Resolve').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note').fill('Looked into the chart: it is there.');
    await dialog.getByRole('radio').first().check();
    // Outside the dialog.
    await page.mouse.click(5, 400);
    await page.route('**/dashboard/api/**', unreachable);
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await dialog.getByRole('alert').getByText('Cannot reach the service.').waitFor();
    await expect.poll(() => dialog.getByLabel('Note').inputValue()).toBe('Looked into the chart: it is there.');
    await page.unroute('**/dashboard/api/**');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('Resolved: ').first().waitFor();
  });

  test('marks previous results as busy until the new ones arrive', async () => {
    const page = await fixture.open('/{client}/jobs');
    const list = page.locator('.result').filter({ has: page.getByRole('table', { name: 'Jobs' }) });
    await list.waitFor();
    let respond = () => {};
    const released = new Promise<void>((resolve) => {
      respond = resolve;
    });
    await page.route('**/jobs/search', async (route) => {
      await released;
      await route.continue();
    });
    await page.getByRole('textbox', { name: 'Patient MRN' }).fill('LK100199');
    await page.keyboard.press('Enter');
    await expect.poll(() => list.getAttribute('aria-busy')).toBe('true');
    respond();
    await page.getByText('No matching jobs.').waitFor();
  });

  test('updates a finished job whose event is being resent', async () => {
    const { job_id } = await finishedCall(fixture.product);
    const page = await fixture.open(`/{client}/jobs/${job_id}`);
    await page.getByText('telephone_encounter.created').waitFor();
    await page.getByRole('link', { name: 'Events & webhooks' }).click();
    await page.getByRole('tab', { name: 'Built-in receiver' }).click();
    await button(page, 'Set up receiver').click();
    await page.getByLabel('Respond with', { exact: true }).selectOption('500');
    await button(page, 'Apply').click();
    await page.getByText('500, until changed.').waitFor();
    await page.getByRole('tab', { name: 'Events', exact: true }).click();
    const event = page.getByRole('row').filter({ has: page.getByRole('cell', { name: String(job_id), exact: true }) });
    await event.getByRole('link').click();
    await button(page, 'Resend').click();
    await page.getByText('Resending to 1 endpoint.').waitFor();
    await page.getByRole('link', { name: `Job ${job_id}` }).click();
    await page.getByText('Retrying').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    // Its retries would update the pages of the following tests.
    await fixture.product.owner`DELETE FROM webhook_endpoints`;
  });
});

describe('session', () => {
  const lastActivity = (sql = fixture.product.owner) => sql<{ ago_s: number }[]>`
    SELECT extract(epoch FROM now() - max(seen_at))::int AS ago_s FROM operator_sessions`;
  const idle = (minutes: number, sql = fixture.product.owner) =>
    sql`UPDATE operator_sessions SET seen_at = now() - make_interval(mins => ${minutes})`;

  /** The page's own requests count as activity, and one after the session has expired would end it at once. */
  const untilQuiet = (page: Page) => expect.poll(() => fixture.pendingRequests(page)).toStrictEqual([]);

  test('is extended by typing', async () => {
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await idle(14);
    await page.getByRole('textbox', { name: 'Patient MRN' }).pressSequentially('L');
    await expect.poll(async () => (await lastActivity())[0]?.ago_s).toBeLessThan(60);
  });

  test('is not extended by automatic retries of a failed request', async () => {
    const page = await fixture.open('/{client}/jobs/999999');
    await page.getByText('not found').waitFor();
    await untilQuiet(page);
    await idle(14);
    const again = page.waitForResponse((response) => response.url().endsWith('/jobs/999999'));
    await finishedCall(fixture.product);
    await again;
    expect((await lastActivity())[0]?.ago_s).toBeGreaterThan(13 * 60);
    await idle(0);
  });

  test('is picked up from another window with the next attempt', async () => {
    const page = await fixture.open('/{client}/jobs', {});
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    const other = await page.context().newPage();
    await untilQuiet(page);
    await page.context().clearCookies();
    await other.goto(fixture.product.sandbox.dashboard.url);
    await signIn(other, fixture.product.sandbox.dashboard);
    await other.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.getByRole('textbox', { name: 'Patient MRN' }).fill('LK100199');
    const session = page.waitForResponse(
      (response) => response.url().endsWith('/api/session') && response.request().method() === 'GET',
    );
    await page.keyboard.press('Enter');
    await session;
    await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click();
    await page.getByText('No matching jobs.').waitFor();
    await page.context().close();
  });

  test('reports a failed sign-out', async () => {
    const page = await fixture.open('/{client}/jobs');
    await page.route('**/dashboard/api/session', unreachable);
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign-out failed' });
    await dialog.getByText('Cannot reach the service.').waitFor();
    await expectAccessible(page);
  });

  test('shows that it expired, and returns to the same page after signing in', async () => {
    const page = await fixture.open('/{client}/jobs', {});
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await untilQuiet(page);
    await idle(16);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('Your session has expired.').waitFor();
    await expectAccessible(page);
    await signIn(page, fixture.product.sandbox.dashboard);
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Email').waitFor();
    await expect.poll(() => page.getByText('Your session has expired.').count()).toBe(0);
    // Restore the session of the other tests.
    await idle(0);
    await page.context().close();
  });
});

describe('keyboard navigation', () => {
  const focused = (page: Page) =>
    page.evaluate<string>('document.activeElement.id || document.activeElement.innerText');

  test('skips the closed menu of a narrow window, and moves into the page after a menu choice', async () => {
    const page = await fixture.open('/{client}/jobs');
    const size = page.viewportSize();
    await page.setViewportSize({ width: 320, height: 640 });
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await page.getByRole('button', { name: 'Sandbox owner' }).focus();
    await page.keyboard.press('Tab');
    await expect.poll(() => page.locator('#content :focus').count()).toBe(1);
    await button(page, 'Menu').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Audit' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    await expect.poll(() => focused(page)).toBe('content');
    await expect.poll(() => page.getByRole('link', { name: 'Audit' }).isVisible()).toBe(false);
    if (size) await page.setViewportSize(size);
  });

  test('moves to the start of the new page after following a link', async () => {
    const page = await fixture.open('/{client}/jobs');
    await page.getByRole('table', { name: 'Jobs' }).getByRole('link').first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('list', { name: 'Timeline' }).waitFor();
    await expect.poll(() => focused(page)).toBe('content');
  });
});

test('shows the year of a timestamp in another year', async () => {
  const { owner } = fixture.product;
  const { job_id } = await finishedCall(fixture.product);
  await owner`UPDATE jobs SET created_at = '2024-03-05T12:00:00Z' WHERE id = ${job_id}`;
  const page = await fixture.open(`/{client}/jobs/${job_id}`);
  const accepted = page.locator('time[datetime^="2024-03-05"]').first();
  await expect.poll(() => accepted.innerText()).toContain('2024');
});
