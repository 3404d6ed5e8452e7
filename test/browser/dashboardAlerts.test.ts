import { afterAll, beforeAll, expect, test } from 'vitest';
import { evaluateAlerts } from '../../src/alerts/evaluateAlerts.ts';
import { sendMessages } from '../../src/alerts/sendMessages.ts';
import { channelSettings } from '../alerts/fixture.ts';
import { type MailServer, startMailServer } from '../harness/mailServer.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer();
  const webhook_url = 'http://127.0.0.1:9/hook';
  const env = {
    ...channelSettings({ smtp_url: mail.url, webhook_url }),
    ALERT_QUIET_HOURS: '22:00-07:00 Europe/Berlin',
  };
  fixture = await startDashboard({ env });
});
afterAll(async () => {
  await fixture?.close();
  await mail?.close();
});

test('the alerts page shows channels, open alerts and their messages, and sends a test message', async () => {
  const { ctx, owner } = fixture.product;
  await owner`UPDATE accounts SET status = 'login_required'`;
  // Not in the quiet hours, and before now, so that the scheduled evaluation adds nothing.
  const opened = new Date(Date.now() - 2 * 86_400_000).setUTCHours(12, 0, 0, 0);
  await evaluateAlerts(ctx, new Date(opened));
  await evaluateAlerts(ctx, new Date(opened + 60_000));
  await sendMessages(ctx);
  const page = await fixture.open('/settings/alerts');
  const open = page.getByRole('table', { name: 'Open alerts' });
  await open.getByRole('link', { name: 'Account needs re-linking' }).waitFor();
  expect(await open.innerText()).toMatch(/Email: .*\d[\s\S]*Webhook: retrying/);
  expect(await page.getByRole('table', { name: 'Channels' }).innerText()).toContain('127.0.0.1:9 ');
  await page.getByText('22:00-07:00 Europe/Berlin').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Send test message' }).click();
  await page.getByText('Email: sent to oncall@example.org').waitFor();
  await page.getByText('Webhook: not sent. 127.0.0.1:9 ').waitFor();
  expect(mail.received.at(-1)?.subject).toBe('[Chartwire] Test message');
  await expectAccessible(page);
  await open.getByRole('link', { name: 'Account needs re-linking' }).click();
  await page.waitForURL(/\/accounts$/);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
  await page.close();
});
