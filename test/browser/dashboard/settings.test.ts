import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

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
    // The picture follows what is typed.
    const preview = page.locator('.link-preview');
    await page.getByLabel('Name', { exact: true }).fill('Front desk, renamed');
    await preview.getByText('Front desk, renamed uses this connection').waitFor();
    await page.getByLabel('Color', { exact: true }).fill('#ffee00');
    const background = () =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('.link-preview-button')).backgroundColor`);
    await expect.poll(background).toBe('rgb(255, 238, 0)');
    await page.getByLabel('Color', { exact: true }).fill('');
    await page.getByLabel('Name', { exact: true }).fill('Front desk');
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

  test('shows what is in force for the sign-in of operators, and which setting changes it', async () => {
    const page = await fixture.open('/settings/sign-in');
    const rule = (setting: string) => page.getByRole('row').filter({ hasText: setting });
    await rule('OPERATOR_SESSION_IDLE_MINUTES').getByText('15', { exact: true }).waitFor();
    await rule('OIDC_ISSUER').getByText('Not set').waitFor();
    // What only matters with single sign-on is shown with it.
    expect(await rule('OIDC_ROLES').count()).toBe(0);
    await expectAccessible(page);
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
    await fixture.product
      .owner`INSERT INTO key_unwraps VALUES ((now() AT TIME ZONE 'UTC')::date, 'web-1', 'worker', 'access_token', 12345)`;
    const counts = page.getByRole('table', { name: 'Unwrapped keys' });
    await counts.getByRole('row', { name: 'Access tokens Worker, web-1 12,345 12,345' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('tab', { name: 'Retention' }).click();
    await page.getByRole('cell', { name: 'Audit log' }).waitFor();
    await expectAccessible(page);
  });

  test('changes how long the data of a client is kept, and reports what was deleted', async () => {
    const { owner, sandbox } = fixture.product;
    await owner`INSERT INTO disposals (client_id, client, day, data, rule, days, rows)
      SELECT id, public_id, '2031-03-03', 'events', 'setting', 30, 1234 FROM clients WHERE public_id = ${sandbox.client_id}`;
    const page = await fixture.open(`/settings/clients/${sandbox.client_id}`);
    const periods = page.getByRole('region', { name: 'Retention' });
    await periods.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Request log').fill('8');
    await page.getByLabel('Events, payloads and delivery attempts').fill('14');
    await expectAccessible(page);
    await page.getByLabel('Request log').fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).last().click();
    await periods.getByText('this client, instead of 30 days').waitFor();
    await expectAccessible(page);
    await page.getByRole('tab', { name: 'Retention' }).click();
    const report = page.getByRole('table', { name: 'Disposal report' });
    await report.getByText('1234').waitFor();
    await expectAccessible(page);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    expect((await download).suggestedFilename()).toBe('disposals.csv');
    await page.getByLabel('From').fill('2031-03-04');
    await page.getByText('Nothing was deleted in this period.').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('places and lifts legal holds, which only operators with the permission can', async () => {
    const { owner, sandbox } = fixture.product;
    const path = `/settings/clients/${sandbox.client_id}`;
    const before = await fixture.open(path);
    const section = before.getByRole('region', { name: 'Legal holds' });
    await section.getByText('No legal holds.').waitFor();
    expect(await section.getByRole('button').count()).toBe(0);
    await owner`UPDATE operators SET may_hold = true`;
    await owner`SELECT pg_notify('chartwire_operators', '')`;
    const page = await fixture.open(path);
    const holds = page.getByRole('region', { name: 'Legal holds' });
    await holds.getByRole('button', { name: 'Place hold' }).click();
    await page.getByLabel('Reference').fill('Case 17');
    await page.getByLabel('Covers').selectOption('A patient of a practice');
    await page.getByLabel('Practice').fill('unknown-practice');
    await page.getByLabel('Patient', { exact: true }).fill('LK100001');
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Place hold' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    const [practice] = await owner<{ org_id: string }[]>`SELECT org_id FROM organizations LIMIT 1`;
    await page.getByLabel('Practice').fill(practice?.org_id ?? '');
    await page.getByRole('dialog').getByRole('button', { name: 'Place hold' }).click();
    await holds.getByText(`Patient LK100001 of practice ${practice?.org_id}`).waitFor();
    await holds.getByRole('cell', { name: 'In force' }).waitFor();
    await expectAccessible(page);
    await holds.getByRole('button', { name: 'Lift' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Lift' }).click();
    await expect.poll(() => holds.getByRole('cell', { name: 'In force' }).count()).toBe(0);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });
});
