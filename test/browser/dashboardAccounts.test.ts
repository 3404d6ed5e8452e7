import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLinkWindow } from '../harness/linkHost.ts';
import { newOperator } from '../harness/operator.ts';
import { freePort } from '../harness/sandbox.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { type DashboardPlace, expectSound, signIn, startDashboardPlace } from './dashboardPlace.ts';
import { focused } from './linkPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  // Links name the address by which the service is known, so that must be known before it starts.
  place = await startDashboardPlace({ env: { PORT: String(await freePort()) } });
});
afterAll(() => place?.close());

const row = (page: Page, user_id: string) => page.getByRole('row').filter({ hasText: user_id });
const dialog = (page: Page) => page.getByRole('dialog');
const readLink = (page: Page) => dialog(page).locator('code').innerText();

/** What the clinic does with a link, in a window of its own: signs in with password and code. */
async function signInAtClinic(address: string, staff: number): Promise<void> {
  const window = await openLinkWindow(place.browser, address);
  const frame = window.page.mainFrame();
  const person = place.world.sandbox.larkspur.staff[staff];
  await focused(frame, 'username');
  await window.type(person?.username ?? '', 'Tab');
  await window.type(person?.password ?? '');
  await focused(frame, 'code');
  await window.type(place.world.api.code(staff));
  await window.page.waitForSelector('.badge.good');
  await window.page.context().close();
}

/** Opens the token's window, reads it and closes it again. */
async function revealToken(page: Page, user_id: string): Promise<string> {
  await row(page, user_id).getByRole('button', { name: 'Access token' }).click();
  await expectSound(page);
  await dialog(page).getByRole('button', { name: 'Show it' }).click();
  const token = await dialog(page).locator('code').innerText();
  await expectSound(page);
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(token);
  return token;
}

describe('the page of accounts', () => {
  test('makes a link that a clinic opens in another window; the account appears, and its token works', async () => {
    const { world } = place;
    const page = await place.open('/{client}/accounts');
    await page.getByRole('button', { name: 'Make a link' }).click();
    await expectSound(page);
    // A new organization asks for its EMR; one that is known does not.
    await dialog(page).getByLabel('Address of the EMR').waitFor();
    await dialog(page).getByLabel('Organization').fill(world.sandbox.org_id);
    await dialog(page).getByLabel('Address of the EMR').waitFor({ state: 'detached' });
    await dialog(page).getByLabel('User').fill('someone@example.org');
    await dialog(page).getByRole('button', { name: 'Make the link' }).click();
    await dialog(page).getByRole('alert').waitFor();
    expect(await dialog(page).getByRole('alert').innerText()).toContain('personal data');
    await dialog(page).getByLabel('User').fill('new-window-user');
    await dialog(page).getByRole('button', { name: 'Make the link' }).click();
    const address = await readLink(page);
    expect(address).toMatch(new RegExp(`^${world.sandbox.base_url}/link\\?token=lt_`));
    expect(await dialog(page).innerText()).toContain('30 minutes');
    const mail = await dialog(page).getByRole('link', { name: 'Write an e-mail with it' }).getAttribute('href');
    expect(decodeURIComponent(mail ?? '')).toContain(address);
    await expectSound(page);

    await signInAtClinic(address, 1);
    await dialog(page).getByText('The account of new-window-user is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'new-window-user').getByText('Active').waitFor();

    const access_token = await revealToken(page, 'new-window-user');
    expect((await world.api.call('GET', '/v1/providers', { headers: { access_token } })).status).toBe(200);
    expect(page.url()).not.toMatch(/lt_|token/);
    // A browser notes every refusal: the one above is all there is.
    expect(place.complaints(page).filter((each) => !each.includes('status of 400'))).toStrictEqual([]);
    await page.context().close();
  });

  test('links the first account of a new organization', async () => {
    const { world } = place;
    const page = await place.open('/{client}/accounts');
    await page.getByRole('button', { name: 'Make a link' }).click();
    await dialog(page).getByLabel('Organization').fill('second-clinic');
    await dialog(page).getByLabel('User').fill('first-of-second');
    await dialog(page).getByLabel('Address of the EMR').fill(world.sandbox.larkspur.url);
    await dialog(page).getByLabel('Language').selectOption('Spanish');
    await dialog(page).getByRole('button', { name: 'Make the link' }).click();
    const address = await readLink(page);
    const window = await openLinkWindow(place.browser, address);
    await window.page.waitForSelector('html[lang="es"]');
    await window.page.context().close();
    await signInAtClinic(address, 2);
    await dialog(page).getByText('The account of first-of-second is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'second-clinic' }).waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test('starts a sync, shows how far it is and what each kind of record came to', async () => {
    const page = await place.open('/{client}/accounts');
    const practice = page.getByRole('region', { name: place.world.sandbox.org_id, exact: true });
    const synced = async () =>
      (await place.world.owner`SELECT max(id) AS id FROM jobs WHERE type = 'sync'`)[0]?.id as number;
    const before = await synced();
    await row(page, 'sandbox-user').getByRole('button', { name: 'Sync now' }).click();
    await expect.poll(synced).toBeGreaterThan(before);
    await practice.getByText('Last sync of each kind').click();
    await expect.poll(() => practice.innerText()).toMatch(/Patients\s+\d+ ·/);
    await expect
      .poll(() => practice.getByRole('link', { name: 'Last sync' }).getAttribute('href'))
      .toContain(`/jobs/${await synced()}`);
    await practice.getByText('Succeeded').waitFor();
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('shows why an account needs a person and links it again, with the same token', async () => {
    const { world } = place;
    const { access_token, api } = await expireAccount(world, 'expired-user', 3);
    const page = await place.open('/{client}/accounts');
    await row(page, 'expired-user').getByText('Needs re-linking').waitFor();
    expect(await row(page, 'expired-user').innerText()).toContain('Larkspur asks for a new one-time code.');
    await row(page, 'expired-user')
      .getByText(/^\d+ jobs? waits?$/)
      .waitFor();
    await expectSound(page);
    await row(page, 'expired-user').getByRole('button', { name: 'Re-link' }).click();
    await dialog(page).getByRole('button', { name: 'Make the link' }).click();
    const address = await readLink(page);

    // Update mode asks for the code alone: nobody has typed a password or an access token.
    const window = await openLinkWindow(place.browser, address);
    await window.page.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await focused(window.page.mainFrame(), 'code');
    await window.type(world.api.code(3));
    await window.page.waitForSelector('.badge.good');
    await window.page.context().close();

    await dialog(page).getByText('The account of expired-user is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'expired-user').getByText('Active').waitFor();
    expect(await revealToken(page, 'expired-user')).toBe(access_token);
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status).toBe(200);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('revokes an account after it has said what that means', async () => {
    const { world } = place;
    const access_token = await world.api.link({ user_id: 'to-be-revoked', staff: 4 });
    const page = await place.open('/{client}/accounts');
    await row(page, 'to-be-revoked').getByRole('button', { name: 'Revoke' }).click();
    expect(await dialog(page).innerText()).toMatch(/stops working at once.*end as failed, each with its event/s);
    await expectSound(page);
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect((await world.api.call('GET', '/v1/staff', { headers: { access_token } })).status).toBe(200);
    await row(page, 'to-be-revoked').getByRole('button', { name: 'Revoke' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await row(page, 'to-be-revoked').getByText('Revoked', { exact: true }).waitFor();
    expect(await row(page, 'to-be-revoked').getByRole('button').allInnerTexts()).toStrictEqual(['Link again']);
    expect((await world.api.call('GET', '/v1/staff', { headers: { access_token } })).status).toBe(401);
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('offers nothing to do to those who may only look', async () => {
    const { email, password } = await newOperator(place.world, 'read_only');
    const context = await place.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${place.world.sandbox.dashboard.url}/clients/${place.world.sandbox.client_id}/accounts`);
    await signIn(page, { email, password });
    await row(page, 'sandbox-user').waitFor();
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    await context.close();
  });
});
