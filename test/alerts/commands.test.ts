import { afterAll, beforeAll, expect, test } from 'vitest';
import { evaluateAlerts } from '../../src/alerts/evaluateAlerts.ts';
import { runHere } from '../cli/support.ts';
import { type MailServer, startMailServer } from '../harness/mailServer.ts';
import { type Receiver, respondWith, startReceiver } from '../harness/receiver.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { channelSettings } from './fixture.ts';

let fixture: TestSandbox;
let mail: MailServer;
let receiver: Receiver;
beforeAll(async () => {
  [fixture, mail, receiver] = await Promise.all([startSandbox({ small: true }), startMailServer(), startReceiver()]);
});
afterAll(() => Promise.all([fixture.close(), mail.close(), receiver.close()]));

const settings = () => ({
  ...fixture.env,
  ...channelSettings({ smtp_url: mail.url, webhook_url: receiver.url }),
});

test('alerts list prints the open alerts', async () => {
  expect((await runHere(['alerts', 'list'], fixture.env)).stdout).toBe('No open alerts.\n');
  await fixture.owner`UPDATE accounts SET status = 'login_required'`;
  // The service evaluates at its own times too, one process at a time.
  await until('the alert', async () => {
    await evaluateAlerts(fixture.ctx);
    return (await fixture.owner`SELECT FROM alerts`).length === 1;
  });
  const { stdout } = await runHere(['alerts', 'list'], fixture.env);
  expect(stdout).toMatch(/^SEVERITY +ALERT +SINCE \(UTC\) +SUMMARY\nwarning +Account needs re-linking +2/);
  const { alerts } = JSON.parse((await runHere(['alerts', 'list', '--json'], fixture.env)).stdout);
  expect(alerts).toMatchObject([{ code: 'account_login_required', client_id: fixture.sandbox.client_id }]);
});

test('alerts test sends a message through every channel, and fails if one fails', async () => {
  const sent = await runHere(['alerts', 'test'], settings());
  expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('email: sent to oncall@example.org') });
  expect(mail.received.at(-1)).toMatchObject({ subject: '[Chartwire] Test message' });
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toMatchObject({ type: 'alerts.test', data: { alerts: [] } });
  receiver.respond = respondWith(503);
  const failed = await runHere(['alerts', 'test', '--json'], settings());
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout).results).toMatchObject([
    { channel: 'email', sent: true, problem: null },
    { channel: 'webhook', sent: false, problem: 'The receiver responded with 503.' },
  ]);
  expect(await runHere(['alerts', 'test'], fixture.env)).toMatchObject({
    code: 1,
    stdout: 'No channel is configured. Set ALERT_SMTP_URL or ALERT_WEBHOOK_URL.\n',
  });
});

test('doctor checks the mail server if there is one', async () => {
  const check = async (env: Record<string, string>) => {
    const { checks } = JSON.parse((await runHere(['doctor', '--json'], env)).stdout);
    return checks.find(({ name }: { name: string }) => name === 'email');
  };
  expect(await check(fixture.env)).toBeUndefined();
  expect(await check(settings())).toStrictEqual({ name: 'email', status: 'ok', message: '127.0.0.1 accepts alerts' });
  expect(await check({ ...settings(), ALERT_SMTP_URL: 'smtp://127.0.0.1:9' })).toMatchObject({
    status: 'problem',
    message: '127.0.0.1:9 cannot be reached (ECONNREFUSED).',
  });
});
