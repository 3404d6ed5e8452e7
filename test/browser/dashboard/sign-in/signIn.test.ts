import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../../scripts/freePort.ts';
import { resetOperator } from '../../../../src/product/operators/localAccounts.ts';
import { newOperator, outdateSignIns } from '../../../harness/operator.ts';
import { type DashboardFixture, expectAccessible, signIn, startDashboard } from '../fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  // The host that a sandbox listens on unless it is told otherwise: passkeys need a name.
  const env = { PORT: `${await freePort()}`, HOST: 'localhost', OPERATOR_SECOND_FACTOR: 'required' };
  fixture = await startDashboard({ env });
});
afterAll(() => fixture?.close());

test('an operator changes a temporary password, sets up the required second factor and signs in with it', async () => {
  const page = await openPage();
  const credentials = await temporaryOperator();
  await signIn(page, credentials);
  await page.getByText('You are using a temporary password').waitFor();
  await expectAccessible(page);
  const password = 'the shift starts at ten';
  await page.getByLabel('New password').fill('Sunshine2026!');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The new password is easy to guess').waitFor();
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Change password' }).click();

  await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
  await page.getByRole('button', { name: 'Set up' }).click();
  const secret = await page.locator('code').innerText();
  await expectAccessible(page);
  const code = (steps: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
  await page.getByLabel('Authenticator code').fill(code(0));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  const [recovery_code = ''] = await page.locator('code').allInnerTexts();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'I have saved them' }).click();

  await signOut(page, credentials.email);
  await signIn(page, { ...credentials, password });
  await page.getByLabel('Authenticator code').fill('000000');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('Incorrect code');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  await page.getByRole('button', { name: 'Use an authenticator code' }).click();
  await page.getByLabel('Authenticator code').fill(code(1));
  await page.keyboard.press('Enter');
  await signOut(page, credentials.email);
  await signIn(page, { ...credentials, password });
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').fill(recovery_code);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.goto(`${fixture.product.sandbox.dashboard.url}/settings/me`);
  await page.getByText('9 of 10 left').waitFor();
  await page.context().close();
});

test('an operator registers a passkey on the URL that the sandbox prints, signs in with it, confirms the identity with it and deletes it', async () => {
  const page = await openPage();
  expect(new URL(page.url()).hostname).toBe('localhost');
  await addAuthenticator(page);
  const operator = await newOperator(fixture.product, 'operator');
  await signIn(page, operator);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Chrome on Linux');
  await page.getByLabel('Name').fill('Test key');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await signOut(page, operator.email);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.goto(`${fixture.product.sandbox.dashboard.url}/settings/me`);
  await page.getByText('This device').waitFor();
  await expectAccessible(page);
  await outdateSignIns(fixture.product, operator.email);
  await page.getByRole('region', { name: 'Passkeys' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  const confirm = page.getByRole('dialog', { name: 'Confirm your identity' });
  await confirm.waitFor();
  await expectAccessible(page);
  await confirm.getByRole('button', { name: 'Use a passkey' }).click();
  // It was the only second factor.
  await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
  await page.context().close();
});

test('a right password asks for the only passkey at once, with the recovery code behind a link', async () => {
  const page = await openPage();
  await addAuthenticator(page);
  const operator = await newOperator(fixture.product, 'operator');
  await signIn(page, operator);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  const [recovery_code = ''] = await page.locator('code').allInnerTexts();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await signOut(page, operator.email);
  await signIn(page, operator);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();

  // The browser's dialog is closed without a passkey.
  await signOut(page, operator.email);
  await page.evaluate(`navigator.credentials.get = async () => {
    throw new DOMException('The operation was not allowed.', 'NotAllowedError');
  }`);
  await signIn(page, operator);
  await page.getByRole('alert').filter({ hasText: 'No passkey was used' }).waitFor();
  await page.getByRole('button', { name: 'Use your passkey' }).waitFor();
  expect(await page.getByLabel('Recovery code').isVisible()).toBe(false);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').fill(recovery_code);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.context().close();
});

test('offers passkeys among the suggestions of the email field', async () => {
  const page = await openPage({ suggestions: true });
  await addAuthenticator(page);
  const operator = await newOperator(fixture.product, 'operator');
  await signIn(page, operator);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('button', { name: operator.email }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  // The security key in software chooses the first suggestion by itself.
  await page.waitForResponse((response) => response.url().endsWith('/session/passkey') && response.ok());
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.context().close();
});

/** The sign-in page, in a browser without cookies. Passkeys are suggested only where a test is about that. */
async function openPage({ suggestions = false } = {}): Promise<Page> {
  const context = await fixture.browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  if (!suggestions) await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
  await page.goto(fixture.product.sandbox.dashboard.url);
  return page;
}

async function signOut(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

/** An operator whose password was reset. */
async function temporaryOperator(): Promise<{ email: string; password: string }> {
  const { id, email } = await newOperator(fixture.product, 'operator');
  const password = await resetOperator(fixture.product.ctx, id, async () => {});
  return { email, password: password ?? '' };
}

/** A security key in software, which is part of Chromium's remote interface. */
async function addAuthenticator(page: Page): Promise<void> {
  const remote = await page.context().newCDPSession(page);
  await remote.send('WebAuthn.enable');
  await remote.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
