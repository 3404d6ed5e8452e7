import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../journeys/journey.ts';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

const faults = async () => (await place.world.api.control('GET', '/control/faults')).body.faults;

/** One step of a sign-in at the clinic. */
async function signIn(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(place.world.sandbox.larkspur.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, unknown>;
}

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
  await page.getByRole('switch', { name: 'Refills rejected' }).check();
  expect(await until('the fault', async () => (await faults())[0])).toMatchObject({ kind: 'refill_fails' });
  await page.getByLabel('one time').check();
  await page.getByRole('switch', { name: 'Writes rejected' }).check();
  await page.getByText('Writes rejected (the next time)').waitFor();
  await expectSound(page);
  const { body } = await place.world.api.callIn();
  expect((await place.world.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.failed');
  await page.getByRole('switch', { name: 'Writes rejected', checked: false }).waitFor({ state: 'attached' });
  expect(await page.getByRole('switch', { name: 'Refills rejected' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Clear all faults' }).click();
  await page.getByRole('switch', { name: 'Refills rejected', checked: false }).waitFor({ state: 'attached' });
  expect(await faults()).toStrictEqual([]);
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
});

test('the code on the page signs a member of staff in at the clinic, who can be locked out and let in again', async () => {
  const page = await place.open('/sandbox');
  const avery = page.getByRole('row').filter({ hasText: 'avery' });
  await avery.getByRole('button', { name: 'Lock out' }).click();
  await avery.getByText('Until').waitFor();
  await expectSound(page);
  await avery.getByRole('button', { name: 'Let in' }).click();
  await avery.getByText('No', { exact: true }).waitFor();
  const person = place.world.sandbox.larkspur.staff.find(({ username }) => username === 'avery');
  const { challengeId } = await signIn('/api/login', { userName: 'avery', password: person?.password });
  const code = await avery.locator('code').innerText();
  const session = await signIn('/api/login/code', { challengeId, code, rememberDevice: 'N' });
  expect(session.sessionToken).toEqual(expect.any(String));
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
