import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

const faults = async () => (await place.world.api.control('GET', '/control/faults')).body.faults;

test('a newcomer makes a first write and looks at its job', async () => {
  const page = await place.open('/sandbox');
  await page.getByRole('button', { name: 'Make a first write' }).click();
  await page.getByRole('link', { name: /^See job \d+$/ }).click();
  await page.getByText('everything that was asked for is done').waitFor();
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});

test('faults are switched on, strike, and are cleared', async () => {
  const page = await place.open('/sandbox');
  await page.getByRole('switch', { name: 'Slow writes' }).waitFor({ state: 'attached' });
  await expectSound(page);
  await page.getByRole('switch', { name: 'Refills are refused' }).check();
  await expect.poll(faults).toMatchObject([{ operation: 'add_refill', kind: 'refill_fails' }]);
  await page.getByLabel('one time').check();
  await page.getByRole('switch', { name: 'Writes are refused' }).check();
  await page.getByText('Writes are refused (the next time)').waitFor();
  await expectSound(page);
  const { body } = await place.world.api.callIn();
  expect((await place.world.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.failed');
  await expect.poll(() => page.getByRole('switch', { name: /^Writes are refused/ }).isChecked()).toBe(false);
  expect(await page.getByRole('switch', { name: 'Refills are refused' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Clear all faults' }).click();
  await expect.poll(faults).toStrictEqual([]);
  await expect.poll(() => page.getByRole('switch', { name: 'Refills are refused' }).isChecked()).toBe(false);
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});

test('the code on the page signs a member of staff in at the clinic screens, unless locked out', async () => {
  const page = await place.open('/sandbox');
  const avery = page.getByRole('row').filter({ hasText: 'avery' });
  await avery.getByRole('button', { name: 'Lock out' }).click();
  await avery.getByText('Until').waitFor();
  await expectSound(page);
  await avery.getByRole('button', { name: 'Let in' }).click();
  await avery.getByText('No', { exact: true }).waitFor();
  const shown = await avery.locator('code').innerText();
  expect([place.world.api.code(), shown]).toContain(shown);
  expect(shown).toMatch(/^\d{6}$/);
  const clinic = page.getByRole('link', { name: 'Open the clinic screens' });
  expect(await clinic.getAttribute('href')).toBe(place.world.sandbox.larkspur.url);
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});

test('links are expired and the practice is reset only after the person was asked', async () => {
  const page = await place.open('/sandbox');
  await page.getByRole('button', { name: 'Reset the practice' }).click();
  const dialog = page.getByRole('dialog', { name: 'Reset the practice' });
  await dialog.waitFor();
  await expectSound(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect((await place.world.api.ledger()).length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Reset the practice' }).click();
  await dialog.getByRole('button', { name: 'Reset' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(await place.world.api.ledger()).toStrictEqual([]);
  await page.getByRole('button', { name: 'Expire all links' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Expire' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Make a first write' }).click();
  await page.getByRole('link', { name: /^See job \d+$/ }).click();
  await page.getByText('Waits for the account to be linked again').waitFor();
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});
