import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { keepMessages } from '../../harness/browser.ts';
import { newOperator } from '../../harness/operator.ts';
import { openLinkWindow } from '../../harness/servers/linkHost.ts';
import { expireAccount } from '../../spec/support/expireAccount.ts';
import { agree, focused } from '../link/linkFixture.ts';
import { chooseFromMenu, type DashboardFixture, expectAccessible, signIn, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  // Links contain the service's URL, so its port must be known before it starts.
  fixture = await startDashboard({ env: { PORT: String(await freePort()) } });
});
afterAll(() => fixture?.close());

const row = (page: Page, user_id: string) => page.getByRole('row').filter({ hasText: user_id });
const dialog = (page: Page) => page.getByRole('dialog');
/** For dialogs: the page behind them is checked elsewhere in this file. */
const in_dialog = { within: '[role="dialog"]' };
const readLink = (page: Page) => dialog(page).locator('code').innerText();

/** Opens a link in a new window and signs in with password and code. */
async function signInAtClinic(address: string, staff: number): Promise<void> {
  const window = await openLinkWindow(fixture.browser, address);
  const frame = window.page.mainFrame();
  const person = fixture.product.sandbox.larkspur.staff[staff];
  await focused(frame, 'username');
  await window.type(person?.username ?? '', 'Tab');
  await window.type(person?.password ?? '');
  await focused(frame, 'code');
  await window.type(fixture.product.api.code(staff));
  await window.page.waitForSelector('.badge.good');
  await window.close();
}

/** Reveals the access token and closes the dialog; `check` runs before and after it is shown. */
async function revealToken(page: Page, user_id: string, check = async () => {}): Promise<string> {
  await chooseFromMenu(row(page, user_id), 'Access token');
  await dialog(page).getByRole('button', { name: 'Reveal' }).waitFor();
  await check();
  await dialog(page).getByRole('button', { name: 'Reveal' }).click();
  const token = await dialog(page).locator('code').innerText();
  await check();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(token);
  return token;
}

describe('accounts page', () => {
  test('creates a link; after the clinic signs in, the account appears and its token works', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/accounts');
    await page.getByRole('button', { name: 'Create link' }).click();
    await dialog(page).getByLabel('Organization').waitFor();
    await expectAccessible(page, in_dialog);
    // Only a new organization needs its EMR.
    await dialog(page).getByLabel('EMR address').waitFor();
    await dialog(page).getByLabel('Organization').fill(product.sandbox.org_id);
    await dialog(page).getByLabel('EMR address').waitFor({ state: 'detached' });
    await dialog(page).getByLabel('User').fill('someone@example.org');
    await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
    await dialog(page).getByRole('alert').waitFor();
    await expect.poll(() => dialog(page).getByRole('alert').innerText()).toContain('personal data');
    await dialog(page).getByLabel('User').fill('new-window-user');
    await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
    const address = await readLink(page);
    expect(address).toMatch(new RegExp(`^${product.sandbox.base_url}/link#token=lt_`));
    await expect.poll(() => dialog(page).innerText()).toContain('7 days');
    const mail = await dialog(page).getByRole('link', { name: 'Send by email' }).getAttribute('href');
    expect(decodeURIComponent(mail ?? '')).toContain(address);
    await expectAccessible(page, in_dialog);

    await signInAtClinic(address, 1);
    await dialog(page).getByText('new-window-user is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'new-window-user').getByText('Active').waitFor();

    const access_token = await revealToken(page, 'new-window-user', () => expectAccessible(page, in_dialog));
    expect((await product.api.call('GET', '/v1/providers', { headers: { access_token } })).status).toBe(200);
    expect(page.url()).not.toMatch(/lt_|token/);
    // The browser logs every error response, here the one above.
    expect(fixture.consoleErrors(page).filter((each) => !each.includes('status of 400'))).toStrictEqual([]);
  });

  test('links the first account of a new organization', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/accounts');
    await page.getByRole('button', { name: 'Create link' }).click();
    await dialog(page).getByLabel('Organization').fill('second-clinic');
    await dialog(page).getByLabel('User').fill('first-of-second');
    await dialog(page).getByLabel('EMR address').fill(product.sandbox.larkspur.url);
    await dialog(page).getByLabel('Language').selectOption('Spanish');
    await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
    const address = await readLink(page);
    const window = await openLinkWindow(fixture.browser, address);
    await window.page.waitForSelector('html[lang="es"]');
    await window.close();
    await signInAtClinic(address, 2);
    await dialog(page).getByText('first-of-second is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'second-clinic' }).waitFor();
    await expectAccessible(page);
  });

  test('starts a sync and shows the result by record type', async () => {
    const page = await fixture.open('/{client}/accounts');
    const practice = page.getByRole('region', { name: fixture.product.sandbox.org_id, exact: true });
    const synced = async () =>
      (await fixture.product.owner`SELECT max(id) AS id FROM jobs WHERE type = 'sync'`)[0]?.id as number;
    const before = await synced();
    await page.getByRole('cell', { name: 'sandbox-user', exact: true }).waitFor();
    await row(page, 'sandbox-user').getByRole('button', { name: 'Sync now' }).click();
    await expect.poll(synced).toBeGreaterThan(before);
    await practice.getByText('Last sync by record type').click();
    await expect.poll(() => practice.innerText()).toMatch(/Patients\s+\d+ ·/);
    // Linking in the tests above started syncs too, so the last one may change meanwhile.
    const last = async () => (await practice.getByRole('link', { name: 'Last sync' }).getAttribute('href')) ?? '';
    await expect.poll(async () => (await last()).endsWith(`/jobs/${await synced()}`)).toBe(true);
    await practice.getByText('Succeeded').waitFor();
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('shows how each capability is known, and checks again', async () => {
    const { sandbox, owner } = fixture.product;
    await owner`UPDATE account_capabilities SET state = 'refused', detail = 'The server refuses documents.',
        refused_in_use = true, at = '2026-11-15T12:00:00Z'
      WHERE capability = 'uploadDocument' AND account_id = (SELECT id FROM accounts WHERE user_id = ${sandbox.user_id})`;
    const page = await fixture.open('/{client}/accounts');
    const opener = page.getByRole('button', { name: `: capabilities of ${sandbox.user_id}` });
    await expect.poll(() => opener.innerText()).toMatch(/^\d+ of \d+, 1 refused/);
    await opener.click();
    const group = (name: string) => dialog(page).getByRole('region', { name, exact: true });
    await group('Works')
      .getByText(/^Claims: [\d,]+ readable$/)
      .waitFor();
    await group('Not used yet').getByText('Create patient', { exact: true }).waitFor();
    await group('Refused').getByText('Upload document: on Nov 15. The server refuses documents.').waitFor();
    await expectAccessible(page, in_dialog);
    await keepMessages(page);
    await dialog(page).getByRole('button', { name: 'Check again' }).click();
    await page.getByRole('alert').filter({ hasText: 'Checked.' }).waitFor();
    await expectAccessible(page, { within: '.mantine-Notifications-root' });
    await group('Not used yet').getByText('Upload document', { exact: true }).waitFor();
    await group('Refused').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  });

  test('shows the address, the cause and the remedy of links that failed, also in their report', async () => {
    const { owner, api, sandbox } = fixture.product;
    const address = 'http://nowhere.localhost:9/fhir';
    const note = 'nowhere.localhost:9 could not be found';
    const body = { org_id: 'nowhere', user_id: 'front-desk', emr_name: 'fhir', emr_instance_domain: address };
    const created = await api.call('POST', '/link/token/create', { body, headers: { access_token: null } });
    // The practice opens the link, and gets no further.
    const link = await fixture.open('', {});
    await link.goto(`${sandbox.base_url}/link#token=${created.body.token}`);
    await link.getByText('The host nowhere.localhost could not be found').waitFor();
    await link.context().close();
    const page = await fixture.open('/{client}/overview');
    const problem = page.getByRole('article', { name: 'Link failed' });
    await problem.getByText(note).waitFor();
    await problem.getByText(address).waitFor();
    await problem.getByRole('link', { name: 'View Link failed' }).click();
    await page.getByRole('alert').getByText('Check the address: no server has this name.').waitFor();
    await page.getByRole('alert').getByText(note).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'All accounts' }).click();
    const failed = page
      .getByRole('table', { name: 'Failed link attempts' })
      .getByRole('row')
      .filter({ hasText: address });
    await failed.getByText('Check the address: no server has this name.').waitFor();
    // In the sandbox, the address of a new link is that of the test EMR.
    await page.getByRole('button', { name: 'Create link' }).click();
    expect(await dialog(page).getByLabel('EMR address').inputValue()).toBe(sandbox.larkspur.url);
    await page.keyboard.press('Escape');
    await owner`DELETE FROM link_tokens WHERE user_id = 'front-desk'`;
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('shows why an account needs re-linking and re-links it with the same token', async () => {
    const { product } = fixture;
    const { access_token, api } = await expireAccount(product, 'expired-user', 3);
    const page = await fixture.open('/{client}/accounts');
    await row(page, 'expired-user').getByText('Needs re-linking').waitFor();
    await expect.poll(() => row(page, 'expired-user').innerText()).toContain('Larkspur requires a new one-time code.');
    await row(page, 'expired-user')
      .getByText(/^\d+ waiting jobs?$/)
      .waitFor();
    await expectAccessible(page);
    await row(page, 'expired-user').getByRole('button', { name: 'Re-link' }).click();
    await dialog(page).getByRole('button', { name: 'Create link' }).click();
    const address = await readLink(page);

    // During an outage, the page says so before anybody signs in.
    await product.owner`INSERT INTO emr_outages (account_id, client_id, since)
      SELECT id, client_id, now() - interval '10 minutes' FROM accounts WHERE user_id = 'expired-user'
      ON CONFLICT (account_id) DO UPDATE SET since = excluded.since, last_failure_at = now()`;

    // Update mode asks only for the code, and for consent: this account was linked without a page.
    const window = await openLinkWindow(fixture.browser, address);
    await agree(window.page.mainFrame());
    await window.page.getByText(/Larkspur has not been responding since \d+:\d\d/).waitFor();
    await window.page.waitForSelector('button[type="submit"]:focus');
    await window.page.keyboard.press('Enter');
    await focused(window.page.mainFrame(), 'code');
    await window.type(product.api.code(3));
    await window.page.waitForSelector('.badge.good');
    await window.close();

    await dialog(page).getByText('expired-user is linked.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await row(page, 'expired-user').getByText('Active').waitFor();
    expect(await revealToken(page, 'expired-user')).toBe(access_token);
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status).toBe(200);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('explains the consequences, then unlinks an account', async () => {
    const { product } = fixture;
    const access_token = await product.api.link({ user_id: 'to-be-revoked', staff: 4 });
    const page = await fixture.open('/{client}/accounts');
    await chooseFromMenu(row(page, 'to-be-revoked'), 'Unlink');
    await expect
      .poll(() => dialog(page).innerText())
      .toMatch(/stops working immediately.*fail, and each sends its event/s);
    await expectAccessible(page, in_dialog);
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect((await product.api.call('GET', '/v1/staff', { headers: { access_token } })).status).toBe(200);
    await chooseFromMenu(row(page, 'to-be-revoked'), 'Unlink');
    await dialog(page).getByLabel('Enter unlink to confirm').fill('unlink');
    await dialog(page).getByRole('button', { name: 'Unlink' }).click();
    await row(page, 'to-be-revoked').getByText('Revoked', { exact: true }).waitFor();
    await expect
      .poll(() => row(page, 'to-be-revoked').getByRole('button').allInnerTexts())
      .toStrictEqual([expect.stringContaining('capabilities'), 'Re-link']);
    expect((await product.api.call('GET', '/v1/staff', { headers: { access_token } })).status).toBe(401);
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('shows no actions to a read-only operator', async () => {
    const { email, password } = await newOperator(fixture.product, 'read_only');
    const context = await fixture.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${fixture.product.sandbox.dashboard.url}/clients/${fixture.product.sandbox.client_id}/accounts`);
    await signIn(page, { email, password });
    // The actions would appear together with the row.
    await row(page, 'sandbox-user').getByText('Active').waitFor();
    const actions = page.getByRole('main').getByRole('button').filter({ hasNotText: 'capabilities of' });
    await expect.poll(() => actions.count()).toBe(0);
    await context.close();
  });
});
