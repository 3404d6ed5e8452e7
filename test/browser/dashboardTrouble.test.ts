import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endedCall, lostCall } from '../dashboard/badEndings.ts';
import { freePort } from '../harness/sandbox.ts';
import { type DashboardPlace, expectSound, signIn, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  // A port that is known beforehand: it stands in the address of the built-in receiver.
  place = await startDashboardPlace({ env: { PORT: `${await freePort()}` } });
});
afterAll(() => place?.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const gone = (route: Route) => route.abort('connectionrefused');

describe('a window of the dashboard', () => {
  test('says that a page cannot be loaded where it would be, and leaves the menu', async () => {
    const page = await place.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    // As after an update: the files of the version that the window runs are not there any more.
    await page.route('**/dashboard/files/chunks/*', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('alert').getByText('This page cannot be shown').waitFor();
    await expectSound(page);
    await page.getByRole('link', { name: 'Jobs' }).click();
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await page.context().close();
  });

  test('shows what changed while its stream was down, once it is up again', async () => {
    const context = (await place.open()).context();
    const page = await context.newPage();
    // A proxy whose service is away.
    await page.route('**/dashboard/api/live', (route) => route.fulfill({ status: 502 }));
    await page.goto(`${place.world.sandbox.dashboard.url}/clients/${place.world.sandbox.client_id}/jobs`);
    await page.getByText('Not live').waitFor();
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    const { job_id } = await endedCall(place.world);
    await page.unroute('**/dashboard/api/live');
    await page.getByRole('link', { name: String(job_id), exact: true }).waitFor();
    await page.getByText('Not live').waitFor({ state: 'detached' });
    await context.close();
  });

  test('keeps what was typed when the service cannot be reached, and says so there', async () => {
    const { job_id } = await lostCall(place.world);
    await place.world.api.control('DELETE', '/control/faults');
    const page = await place.open(`/{client}/jobs/${job_id}`);
    await button(page, 'Resolve').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note').fill('Looked into the chart: it is there.');
    await dialog.getByRole('radio').first().check();
    // Beside the dialog.
    await page.mouse.click(5, 400);
    await page.route('**/dashboard/api/**', gone);
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await dialog.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    expect(await dialog.getByLabel('Note').inputValue()).toBe('Looked into the chart: it is there.');
    await page.unroute('**/dashboard/api/**');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('Resolved: ').first().waitFor();
    await page.context().close();
  });

  test('does not pass an earlier answer off as the one that is awaited', async () => {
    const page = await place.open('/{client}/jobs');
    const list = page.locator('.answer').filter({ has: page.getByRole('table', { name: 'Jobs' }) });
    await list.waitFor();
    let answer = () => {};
    const awaited = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/jobs/search', async (route) => {
      await awaited;
      await route.continue();
    });
    await page.getByLabel('Patient (exact MRN)').fill('LK100199');
    await page.keyboard.press('Enter');
    await expect.poll(() => list.getAttribute('aria-busy')).toBe('true');
    answer();
    await page.getByText('No job fits these filters.').waitFor();
    await page.context().close();
  });

  test('shows a job that had ended and whose event is on its way again', async () => {
    const { job_id } = await endedCall(place.world);
    const page = await place.open(`/{client}/jobs/${job_id}`);
    await page.getByText('telephone_encounter.created').waitFor();
    await page.getByRole('link', { name: 'Events & webhooks' }).click();
    await page.getByRole('tab', { name: 'Built-in receiver' }).click();
    await button(page, 'Use the built-in receiver').click();
    await page.getByLabel('Answer', { exact: true }).selectOption('500');
    await button(page, 'Answer so').click();
    await page.getByText('500, until it is told otherwise.').waitFor();
    await page.getByRole('tab', { name: 'Events', exact: true }).click();
    const event = page.getByRole('row').filter({ has: page.getByRole('cell', { name: String(job_id), exact: true }) });
    await event.getByRole('link').click();
    await button(page, 'Resend').click();
    await page.getByText('On its way to 1 endpoint.').waitFor();
    await page.getByRole('link', { name: `Job ${job_id}` }).click();
    await page.getByText('Pending').waitFor();
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });
});

describe('a session', () => {
  const seen = (sql = place.world.owner) => sql<{ ago_s: number }[]>`
    SELECT extract(epoch FROM now() - max(seen_at))::int AS ago_s FROM operator_sessions`;
  const idle = (minutes: number, sql = place.world.owner) =>
    sql`UPDATE operator_sessions SET seen_at = now() - make_interval(mins => ${minutes})`;

  test('is kept by typing, also where nothing is asked of the service', async () => {
    const page = await place.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    await idle(14);
    await page.getByLabel('Patient (exact MRN)').pressSequentially('L');
    await expect.poll(async () => (await seen())[0]?.ago_s).toBeLessThan(60);
    await page.context().close();
  });

  test('is not kept by a page that is left open at something that is refused', async () => {
    const page = await place.open('/{client}/jobs/999999');
    await page.getByText('not found').waitFor();
    await idle(14);
    const again = page.waitForResponse((response) => response.url().endsWith('/jobs/999999'));
    await endedCall(place.world);
    await again;
    expect((await seen())[0]?.ago_s).toBeGreaterThan(13 * 60);
    await idle(0);
    await page.context().close();
  });

  test('that another window replaced is taken up with the next try', async () => {
    const page = await place.open('/{client}/jobs');
    await page.getByRole('cell', { name: 'Sync' }).first().waitFor();
    const other = await page.context().newPage();
    await page.context().clearCookies();
    await other.goto(place.world.sandbox.dashboard.url);
    await signIn(other, place.world.sandbox.dashboard);
    await other.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.getByLabel('Patient (exact MRN)').fill('LK100199');
    const told = page.waitForResponse(
      (response) => response.url().endsWith('/api/session') && response.request().method() === 'GET',
    );
    await page.keyboard.press('Enter');
    await told;
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No job fits these filters.').waitFor();
    await page.context().close();
  });

  test('that could not be ended is said to be open still', async () => {
    const page = await place.open('/{client}/jobs');
    await page.route('**/dashboard/api/session', gone);
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    const dialog = page.getByRole('dialog', { name: 'You are still signed in' });
    await dialog.getByText('The service cannot be reached.').waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test('that ended by itself is said to have, and the page comes back where it was', async () => {
    const page = await place.open('/{client}/jobs?state=failed');
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
    await idle(16);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('Your session has ended.').waitFor();
    await expectSound(page);
    await signIn(page, place.world.sandbox.dashboard);
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(await page.getByText('Your session has ended.').count()).toBe(0);
    // The other windows' session is theirs again.
    await idle(0);
    await page.context().close();
  });
});

describe('by keyboard', () => {
  const focused = (page: Page) =>
    page.evaluate<string>('document.activeElement.id || document.activeElement.innerText');

  test('the closed menu of a narrow window is no stop, and choosing from it leads into the page', async () => {
    const page = await place.open('/{client}/jobs');
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
    expect(await page.getByRole('link', { name: 'Audit' }).isVisible()).toBe(false);
    await page.context().close();
  });

  test('following a link out of a list goes on where the new page begins', async () => {
    const page = await place.open('/{client}/jobs');
    await page.getByRole('table', { name: 'Jobs' }).getByRole('link').first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Timeline' }).waitFor();
    expect(await focused(page)).toBe('content');
    await page.context().close();
  });
});

test('a password that somebody else has seen is told of on every page until another is chosen', async () => {
  const { owner } = place.world;
  await owner`UPDATE operators SET password_temporary = true`;
  const page = await place.open('/{client}/jobs');
  await page.getByText('Somebody else has seen your password.').waitFor();
  await expectSound(page);
  await page.getByRole('link', { name: 'Choose your own' }).click();
  await page.getByRole('heading', { name: 'Password' }).waitFor();
  await owner`UPDATE operators SET password_temporary = false`;
  await page.context().close();
});

test('a moment of another year is shown with its year', async () => {
  const { owner } = place.world;
  const { job_id } = await endedCall(place.world);
  await owner`UPDATE jobs SET created_at = '2024-03-05T12:00:00Z' WHERE id = ${job_id}`;
  const page = await place.open(`/{client}/jobs/${job_id}`);
  const accepted = page.locator('time[datetime^="2024-03-05"]').first();
  await expect.poll(() => accepted.innerText()).toContain('2024');
  await page.context().close();
});
