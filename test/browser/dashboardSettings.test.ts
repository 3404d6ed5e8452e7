import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

describe('settings page', () => {
  test('adds a client, shows its secret once and saves its Link settings', async () => {
    const page = await fixture.open('/settings/clients');
    await page.getByRole('button', { name: 'Add client' }).click();
    await page.getByLabel('Name').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name').fill('Front desk');
    await expect.poll(() => page.getByLabel('Mode').inputValue()).toBe('test');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Copy the secret now.').waitFor();
    await expect.poll(() => page.getByRole('dialog').innerText()).toMatch(/cs_test_/);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Front desk' }).click();
    await page.getByLabel('Allowed origins').fill('not an origin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').first().waitFor();
    // Messages do not contain the names that fields have in the API.
    await expect.poll(() => page.getByRole('main').innerText()).not.toMatch(/[a-z]_[a-z]+ must/);
    await expectAccessible(page);
    await page.getByLabel('Allowed origins').fill('https://app.example.org');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await fixture.product.owner`SELECT frame_origins FROM clients WHERE name = 'Front desk'`)[0])
      .toMatchObject({ frame_origins: ['https://app.example.org'] });
    await page.getByRole('button', { name: 'Create secret' }).click();
    await page.getByLabel('Label').fill('Build server');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    const last_four = (await page.getByRole('dialog').locator('code').innerText()).slice(-4);
    await page.keyboard.press('Escape');
    const secrets = page.getByRole('table', { name: 'Secrets' });
    await expect.poll(() => secrets.getByRole('row').count()).toBe(3);
    const created = secrets.getByRole('row').filter({ hasText: 'Build server' });
    await created.getByText(`…${last_four}`).waitFor();
    await expectAccessible(page);
    await chooseFromMenu(created, 'Revoke', `secret …${last_four}`);
    await page.getByLabel('Enter revoke to confirm').fill('revoke');
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await expect.poll(() => secrets.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Create secret' }).click();
    await page.getByLabel('Access', { exact: true }).selectOption('Read only');
    await page.getByLabel('Organization').fill('practice-7');
    await page.getByLabel('Expires').fill('2099-06-30T12:00');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    await page.keyboard.press('Escape');
    const limited = secrets.getByRole('row').filter({ hasText: 'Read only' });
    await limited.getByText('Organization practice-7').waitFor();
    await limited.getByText('Jun 30, 2099').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('says how to receive alerts if no channel is configured', async () => {
    const page = await fixture.open('/settings/alerts');
    await page.getByText('Email: ALERT_SMTP_URL').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Send test message' }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Guide: Alerts' }).click();
    await page.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor();
  });

  test('rotates the master key and shows the retention periods', async () => {
    const page = await fixture.open('/settings/encryption');
    await page.getByRole('button', { name: 'Rotate master key' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByText('data keys re-encrypted').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('tab', { name: 'Retention' }).click();
    await page.getByRole('cell', { name: 'Audit log' }).waitFor();
    await expectAccessible(page);
  });
});
