import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../journeys/support.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

const faults = async () => (await fixture.product.api.control('GET', '/control/faults')).body.faults;

/** One step of a sign-in to Larkspur. */
async function signIn(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(fixture.product.sandbox.larkspur.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>;
}

test('sends a first write and links to its job', async () => {
  const page = await fixture.open('/sandbox');
  await page.getByRole('button', { name: 'Send first write' }).click();
  await page.getByRole('link', { name: /^View job \d+$/ }).click();
  await page.getByText('Completed', { exact: true }).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('switches faults on, applies them and clears them', async () => {
  const page = await fixture.open('/sandbox');
  await page.getByRole('switch', { name: 'Slow writes' }).waitFor({ state: 'attached' });
  await expectAccessible(page);
  await page.getByRole('switch', { name: 'Refills rejected' }).check();
  expect(await until('the fault', async () => (await faults())[0])).toMatchObject({ kind: 'refill_fails' });
  await page.getByLabel('Once', { exact: true }).check();
  await page.getByRole('switch', { name: 'Writes rejected' }).check();
  await page.getByText('Writes rejected (once)').waitFor();
  // Active faults are together on top, and in the header of every page.
  const active = page.getByRole('region', { name: '2 faults are on' });
  await expect.poll(() => active.getByRole('switch', { includeHidden: true }).count()).toBe(2);
  await page.getByRole('link', { name: '2 faults on' }).waitFor();
  await expectAccessible(page);
  const { body } = await fixture.product.api.callIn();
  expect((await fixture.product.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.failed');
  await page.getByRole('switch', { name: 'Writes rejected', checked: false }).waitFor({ state: 'attached' });
  await expect.poll(() => page.getByRole('switch', { name: 'Refills rejected' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Clear all faults' }).click();
  await page.getByRole('switch', { name: 'Refills rejected', checked: false }).waitFor({ state: 'attached' });
  await expect.poll(faults).toStrictEqual([]);
  await page.getByRole('link', { name: /faults? on$/ }).waitFor({ state: 'detached' });
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('shows working passwords and one-time codes, and locks and unlocks a user', async () => {
  const page = await fixture.open('/sandbox');
  const avery = page.getByRole('row').filter({ hasText: 'avery' });
  await avery.getByRole('button', { name: 'Lock', exact: true }).click();
  await avery.getByText('Until').waitFor();
  await expectAccessible(page);
  await avery.getByRole('button', { name: 'Unlock' }).click();
  await avery.getByText('No', { exact: true }).waitFor();
  const [password, code] = await avery.locator('code').allInnerTexts();
  const { challengeId } = await signIn('/api/login', { userName: 'avery', password });
  const session = await signIn('/api/login/code', { challengeId, code, rememberDevice: 'N' });
  expect(session.sessionToken).toEqual(expect.any(String));
  const clinic = page.getByRole('link', { name: 'Open practice' });
  await expect.poll(() => clinic.getAttribute('href')).toBe(fixture.product.sandbox.larkspur.url);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('expires links and resets the clinic data only after confirmation', async () => {
  const page = await fixture.open('/sandbox');
  await page.getByRole('button', { name: 'Reset practice data' }).click();
  const dialog = page.getByRole('dialog', { name: 'Reset practice data' });
  await dialog.waitFor();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect((await fixture.product.api.ledger()).length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Reset practice data' }).click();
  await dialog.getByRole('button', { name: 'Reset' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await expect.poll(() => fixture.product.api.ledger()).toStrictEqual([]);
  await page.getByRole('button', { name: 'Expire all links' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Expire' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Send first write' }).click();
  await page.getByRole('link', { name: /^View job \d+$/ }).click();
  await page.getByText('The job resumes after re-linking').waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});
