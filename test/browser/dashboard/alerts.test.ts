import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendMessages } from '../../../src/product/alerts/channels.ts';
import { evaluateAlerts } from '../../../src/product/alerts/evaluateAlerts.ts';
import { channelSettings } from '../../alerts/fixture.ts';
import { type MailServer, startMailServer } from '../../harness/servers/mailServer.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

const hourFromNow = (hours: number) => `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 13)}:00`;
/** Not now: the test expects a message. */
const quiet_hours = `${hourFromNow(12)}-${hourFromNow(13)} UTC`;

let fixture: DashboardFixture;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer();
  const webhook_url = 'http://127.0.0.1:9/hook';
  const env = { ...channelSettings({ smtp_url: mail.url, webhook_url }), ALERT_QUIET_HOURS: quiet_hours };
  fixture = await startDashboard({ env });
});
afterAll(async () => {
  await fixture?.close();
  await mail?.close();
});

test('the alerts page shows channels, open alerts and their messages, and sends a test message', async () => {
  const { ctx, owner } = fixture.product;
  await owner`UPDATE accounts SET status = 'login_required'`;
  // The service evaluates at its own times too, one process at a time.
  await expect
    .poll(async () => {
      await evaluateAlerts(ctx);
      await owner`UPDATE alerts SET opened_at = now() - interval '2 minutes' WHERE notified_at IS NULL`;
      await sendMessages(ctx);
      return (await owner`SELECT FROM alert_messages WHERE sent_at IS NOT NULL OR problem IS NOT NULL`).length;
    })
    .toBe(2);
  const page = await fixture.open('/settings/alerts');
  const open = page.getByRole('table', { name: 'Open alerts' });
  await open.getByRole('link', { name: 'Account needs re-linking' }).waitFor();
  await expect.poll(() => open.innerText()).toMatch(/Email: .*\d[\s\S]*Webhook: retrying/);
  await expect.poll(() => page.getByRole('table', { name: 'Channels' }).innerText()).toContain('127.0.0.1:9 ');
  await page.getByText(quiet_hours).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Send test message' }).click();
  await page.getByText('Email: sent to oncall@example.org').waitFor();
  await page.getByText('Webhook: not sent. 127.0.0.1:9 ').waitFor();
  expect(mail.received.at(-1)?.subject).toBe('[Chartwire] Test message');
  await expectAccessible(page);
  await open.getByRole('link', { name: 'Account needs re-linking' }).click();
  await page.waitForURL(/\/accounts\?account=[0-9a-f]{32}$/);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});
