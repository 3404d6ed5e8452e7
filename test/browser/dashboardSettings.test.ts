import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardFixture, expectAccessible, signIn, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

describe('settings page', () => {
  test('adds a client, shows its secret once and saves its Link settings', async () => {
    const page = await fixture.open('/settings/clients');
    await page.getByRole('button', { name: 'Add client' }).click();
    await expectAccessible(page);
    await page.getByLabel('Name').fill('Front desk');
    expect(await page.getByLabel('Mode').inputValue()).toBe('test');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Copy the secret now.').waitFor();
    expect(await page.getByRole('dialog').innerText()).toMatch(/cs_test_/);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Front desk' }).click();
    await page.getByLabel('Allowed origins').fill('not an origin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').first().waitFor();
    // Messages do not contain the names that fields have in the API.
    expect(await page.getByRole('main').innerText()).not.toMatch(/[a-z]_[a-z]+ must/);
    await expectAccessible(page);
    await page.getByLabel('Allowed origins').fill('https://app.example.org');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await fixture.product.owner`SELECT frame_origins FROM clients WHERE name = 'Front desk'`)[0])
      .toMatchObject({ frame_origins: ['https://app.example.org'] });
    await page.getByRole('button', { name: 'Create secret' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('button', { name: 'Revoke' }).count()).toBe(2);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    await page.close();
  });

  test('adds an operator, who turns on two-factor authentication and signs in with it', async () => {
    const page = await fixture.open('/settings/operators');
    await page.getByRole('button', { name: 'Add operator' }).click();
    await page.getByLabel('Name').fill('Night shift');
    await page.getByLabel('Email').fill('night@example.org');
    await page.getByLabel('Role', { exact: true }).selectOption('read_only');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    const temporary = await page.getByRole('dialog').locator('code').innerText();
    await page.close();

    const context = await fixture.browser.newContext();
    const operator_page = await context.newPage();
    await operator_page.goto(`${fixture.product.sandbox.dashboard.url}/settings/me`);
    await signIn(operator_page, { email: 'night@example.org', password: temporary });
    await operator_page.getByText('Your password is temporary').waitFor();
    await expectAccessible(operator_page);
    const password = 'the shift begins at ten';
    await operator_page.locator('input[name="password"]').fill(temporary);
    await operator_page.locator('input[name="new_password"]').fill('Sunshine2026!');
    await operator_page.getByRole('button', { name: 'Change password' }).click();
    await operator_page.getByText('The new password is easy to guess').waitFor();
    await operator_page.locator('input[name="new_password"]').fill(password);
    await operator_page.getByRole('button', { name: 'Change password' }).click();
    await operator_page.getByRole('button', { name: 'Set up' }).click();
    const secret = await operator_page.locator('code').innerText();
    await expectAccessible(operator_page);
    const code = (steps: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
    await operator_page.getByLabel('Authenticator code').fill(code(0));
    await operator_page
      .getByRole('region', { name: 'Two-factor authentication' })
      .getByLabel('Password', { exact: true })
      .fill(password);
    await operator_page.getByRole('button', { name: 'Turn on' }).click();
    await operator_page.getByText('On. Signing in requires a code').waitFor();
    await expectAccessible(operator_page);
    await operator_page.getByRole('button', { name: 'Night shift' }).click();
    await operator_page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn(operator_page, { email: 'night@example.org', password });
    const field = operator_page.getByLabel('Authenticator code');
    await field.waitFor();
    await expectAccessible(operator_page);
    await field.fill('000000');
    await operator_page.keyboard.press('Enter');
    await expect.poll(() => operator_page.getByRole('alert').innerText()).toContain('Incorrect code');
    await field.fill(code(1));
    await operator_page.keyboard.press('Enter');
    await operator_page.getByRole('navigation', { name: 'Pages' }).waitFor();
    // Actions of other roles are hidden.
    await operator_page.getByRole('tab', { name: 'Operators' }).click();
    await operator_page.getByRole('cell', { name: 'night@example.org' }).waitFor();
    expect(await operator_page.getByRole('button', { name: 'Add operator' }).count()).toBe(0);
    await context.close();
  });

  test('rotates the master key and shows the retention periods', async () => {
    const page = await fixture.open('/settings/encryption');
    await page.getByRole('button', { name: 'Rotate master key' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText('data keys re-encrypted').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('tab', { name: 'Retention' }).click();
    await page.getByRole('cell', { name: 'Audit log' }).waitFor();
    await expectAccessible(page);
    await page.close();
  });
});
