import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../../scripts/freePort.ts';
import { newOperator, outdateSignIns } from '../../../harness/operator.ts';
import { providerSettings, startProvider, type TestProvider } from '../../../harness/servers/identityProvider.ts';
import { type DashboardFixture, expectAccessible, signIn, startDashboard } from '../fixture.ts';

let provider: TestProvider;
let fixture: DashboardFixture;
beforeAll(async () => {
  provider = await startProvider();
  // Passkeys need a host name.
  const port = `${await freePort()}`;
  const env = {
    ...providerSettings(provider, 'owners=owner'),
    PORT: port,
    BASE_URL: `http://localhost:${port}`,
    OIDC_LABEL: 'Sign in with Example ID',
  };
  fixture = await startDashboard({ env });
  await provider.allowRedirect(fixture.product.sandbox.base_url);
});
afterAll(async () => {
  await fixture?.close();
  await provider?.close();
});

/** A page of its own, so that the owner of the other tests stays signed in. */
async function openPage(path: string): Promise<Page> {
  const context = await fixture.browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(fixture.product.sandbox.dashboard.url + path);
  return page;
}

async function invite(page: Page, email: string): Promise<void> {
  await page.getByRole('button', { name: 'Invite operator' }).click();
  await page.getByLabel('Email').fill(email);
  await page.getByRole('button', { name: 'Create invitation' }).click();
}

const confirmation = (page: Page) => page.getByRole('dialog', { name: 'Confirm your identity' });

test('an action that needs a fresh sign-in asks for the password in place, and then continues', async () => {
  const owner = await newOperator(fixture.product, 'owner');
  const page = await openPage('/settings/operators');
  await signIn(page, owner);
  await page.getByRole('button', { name: 'Invite operator' }).waitFor();
  await outdateSignIns(fixture.product, owner.email);
  await invite(page, 'by-password@example.test');
  await confirmation(page).waitFor();
  await expectAccessible(page);
  await confirmation(page).getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Nothing was changed.').waitFor();
  // What was entered is still there.
  await page.getByRole('button', { name: 'Create invitation' }).click();
  await confirmation(page).locator('input[name="password"]').fill('not the password');
  await confirmation(page).getByRole('button', { name: 'Confirm' }).click();
  await confirmation(page).getByText('Incorrect email or password.').waitFor();
  await confirmation(page).locator('input[name="password"]').fill(owner.password);
  await confirmation(page).getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('Send this link to the operator').waitFor();
  await page.context().close();
});

test('enabling a webhook endpoint asks for the password, and then enables it', async () => {
  const { product } = fixture;
  const owner = await newOperator(product, 'owner');
  const webhook = { webhook_url: `${product.sandbox.base_url}/nothing-here` };
  const { webhook_id: id } = (await owner.post('clients/{client}/webhooks', webhook)).body;
  await owner.post(`clients/{client}/webhooks/${id}/disable`);
  const page = await openPage(`/clients/${product.sandbox.client_id}/events/endpoints/${id}`);
  await signIn(page, owner);
  const enable = page.getByRole('button', { name: 'Enable' });
  await enable.waitFor();
  await outdateSignIns(product, owner.email);
  await enable.click();
  await confirmation(page).locator('input[name="password"]').fill(owner.password);
  await confirmation(page).getByRole('button', { name: 'Confirm' }).click();
  await enable.waitFor({ state: 'detached' });
  const { webhooks } = (await owner.get('clients/{client}/webhooks')).body;
  expect(webhooks).toMatchObject([{ id, status: 'enabled' }]);
  await page.context().close();
});

test('a passkey confirms the identity', async () => {
  const owner = await newOperator(fixture.product, 'owner');
  const page = await openPage('/settings/me');
  const remote = await page.context().newCDPSession(page);
  await remote.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
  } as const;
  await remote.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await signIn(page, owner);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('tab', { name: 'Operators' }).click();
  await page.getByRole('button', { name: 'Invite operator' }).waitFor();
  await outdateSignIns(fixture.product, owner.email);
  await invite(page, 'by-passkey@example.test');
  await confirmation(page).getByLabel('Recovery code').waitFor();
  await expectAccessible(page);
  await confirmation(page).getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('Send this link to the operator').waitFor();
  await page.context().close();
});

test('single sign-on confirms the identity in another window, and the page continues', async () => {
  const person = { sub: 'sso-owner', email: 'sso-owner@example.test', name: 'Synthetic Owner', roles: ['owners'] };
  provider.current = person;
  const page = await openPage('/settings/operators');
  await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
  await page.getByRole('button', { name: 'Invite operator' }).waitFor();
  await page.getByRole('button', { name: 'Invite operator' }).click();
  await page.getByLabel('Email').fill('by-sso@example.test');
  await page.getByRole('button', { name: 'Create invitation' }).click();
  await confirmation(page).waitFor();
  await expectAccessible(page);
  // Someone else signs in first.
  provider.current = { ...person, sub: 'sso-other', email: 'sso-other@example.test' };
  const first = page.waitForEvent('popup');
  await confirmation(page).getByRole('button', { name: 'Sign in with Example ID' }).click();
  const refused = await first;
  await refused.getByRole('alert').waitFor();
  await expectAccessible(refused);
  await confirmation(page).getByText('You signed in at the identity provider as someone else.').waitFor();
  await refused.close();

  provider.current = person;
  const second = page.waitForEvent('popup');
  await confirmation(page).getByRole('button', { name: 'Sign in with Example ID' }).click();
  await second;
  await page.getByText('Send this link to the operator').waitFor();
  await page.context().close();
});
