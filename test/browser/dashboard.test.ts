import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

describe('the dashboard', () => {
  test('lets an operator in with the right password and says what is wrong otherwise', async () => {
    const context = await place.browser.newContext();
    const page = await context.newPage();
    await page.goto(place.world.sandbox.dashboard.url);
    await expectSound(page);
    await page.getByLabel('E-mail').fill(place.world.sandbox.dashboard.email);
    await page.locator('input[name="password"]').fill('not this one');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('Incorrect email or password');
    await expectSound(page);
    await page.locator('input[name="password"]').fill(place.world.sandbox.dashboard.password);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.reload();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.getByRole('button', { name: 'Sandbox owner' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    await context.close();
  });

  test('shows an account and starts its sync', async () => {
    const page = await place.open('/{client}/accounts');
    await page.getByRole('cell', { name: 'sandbox-user' }).waitFor();
    await expectSound(page);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await expect
      .poll(async () => (await place.world.owner`SELECT FROM jobs WHERE type = 'sync'`).length)
      .toBeGreaterThan(1);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });
});
