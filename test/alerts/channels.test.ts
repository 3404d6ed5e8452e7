import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { checkEmailServer, sendEmail } from '../../src/product/alerts/channels.ts';
import { type MailServer, startMailServer } from '../harness/servers/mailServer.ts';
import { type Receiver, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { interceptTimers } from '../harness/timers.ts';
import { type AlertFixture, channelSettings, createFixture, webhook_secret } from './fixture.ts';

let fixture: AlertFixture;
let mail: MailServer;
let receiver: Receiver;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  [mail, receiver] = await Promise.all([startMailServer(), startReceiver()]);
});
afterEach(async () => {
  await Promise.all([mail.close(), receiver.close()]);
  await fixture.reset();
});

const startProcess = (env: Record<string, string> = {}) =>
  fixture.startProcess({ ...channelSettings({ smtp_url: mail.url, webhook_url: receiver.url }), ...env });
const messages = () =>
  fixture.owner<{ channel: string; attempts: number; sent: boolean; waiting: boolean; problem: string | null }[]>`
    SELECT channel, attempts, sent_at IS NOT NULL AS sent, ready_at IS NOT NULL AS waiting, problem
      FROM alert_messages ORDER BY channel`;
const email = {
  ...{ id: 'id-1', from: 'chartwire@example.org', to: ['oncall@example.org'] },
  ...{ subject: 'Subject', text: 'Text', html: '<p>Text</p>' },
};
const serverAt = (url: string) => {
  const { alert_smtp_url } = loadConfig({ SANDBOX: 'on', ...channelSettings({ smtp_url: url }) });
  if (!alert_smtp_url) throw new Error('The settings have no mail server.');
  return alert_smtp_url;
};

test('an alert is readable as plain text and as HTML, and says what to do and where', async () => {
  const rename = (org_id: string) => fixture.owner`UPDATE organizations SET org_id = ${org_id} RETURNING id`;
  await rename('Front <desk> & Co');
  onTestFinished(async () => {
    await rename('clinic-1');
  });
  await fixture.setLoginRequired();
  const { tick } = startProcess();
  await tick('2026-06-01T12:00:00Z');
  await tick('2026-06-01T12:01:00Z');
  const [{ public_id = '' } = {}] = await fixture.owner<{ public_id: string }[]>`SELECT public_id FROM clients`;
  const [{ account = '' } = {}] = await fixture.owner<{ account: string }[]>`
    SELECT replace(id::text, '-', '') AS account FROM accounts WHERE user_id = 'user-1'`;
  const page = `https://chartwire.example.org/dashboard/clients/${public_id}/accounts?account=${account}`;
  const [message] = mail.received;
  expect(message).toMatchObject({ from: 'chartwire@example.org', to: ['oncall@example.org', 'support@example.org'] });
  expect(message?.headers).toMatchObject({
    'auto-submitted': 'auto-generated',
    'message-id': expect.stringMatching(/^<[0-9a-f]{32}@example\.org>$/),
  });
  expect(message?.text).toBe(`1 new alert.

Warning: Account needs re-linking
Account user-1 of practice Front <desk> & Co.
Open since 2026-06-01 12:00 UTC
Cause: The EMR no longer accepts the sign-in of a linked account. Its jobs wait, and fail after 14 days.
What to do: Send the user through Link in update mode, or create a link for re-linking on the Accounts page.
${page}

All alerts: https://chartwire.example.org/dashboard/settings/alerts
`);
  expect(message?.html).toContain('Account user-1 of practice Front &lt;desk&gt; &amp; Co.');
  expect(message?.html).toContain(`href="${page}"`);
});

test('a webhook is signed, so that a receiver can verify it independently', async () => {
  await fixture.setReviews(2);
  const { tick } = startProcess();
  await tick('2026-06-01T12:00:00Z');
  await tick('2026-06-01T12:01:00Z');
  const [request] = receiver.received;
  const verified = new Webhook(webhook_secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
  expect(verified).toStrictEqual({
    type: 'alerts.changes',
    timestamp: expect.any(String),
    data: {
      alerts: [
        {
          ...{ id: expect.stringMatching(/^[0-9a-f]{32}$/), change: 'opened', code: 'jobs_need_review' },
          ...{ severity: 'critical', title: 'Jobs need review' },
          summary: '2 jobs have an unknown outcome.',
          remedy: 'Check in the EMR whether it was saved, then resolve the job.',
          client: { client_id: expect.stringMatching(/^ci_test_/), name: 'Test client' },
          ...{ opened_at: '2026-06-01T12:00:00.000Z', resolved_at: null },
          url: expect.stringMatching(/^https:\/\/chartwire\.example\.org\/dashboard\/clients\/ci_test_.*unresolved$/),
        },
      ],
    },
  });
});

test('a webhook to a private address is refused by the outbound rules, and the email is still sent', async () => {
  await fixture.setReviews(1);
  const { tick } = startProcess({ ALERT_WEBHOOK_URL: 'https://10.0.0.1/hook?token=secret' });
  await tick('2026-06-01T12:00:00Z');
  await tick('2026-06-01T12:01:00Z');
  expect(await messages()).toMatchObject([
    { channel: 'email', sent: true },
    { channel: 'webhook', sent: false, problem: expect.stringContaining('10.0.0.1') },
  ]);
  expect(fixture.lines.join('')).toContain('alert message not sent');
  expect(fixture.lines.join('')).not.toContain('secret');
});

describe('a message that cannot be sent', () => {
  test('is retried with the same id until it succeeds, and the reason is stored without what the server said', async () => {
    mail.behavior = 'refuse';
    receiver.respond = respondWith(500);
    await fixture.setReviews(1);
    const { tick, send } = startProcess();
    await tick('2026-06-01T12:00:00Z');
    await tick('2026-06-01T12:01:00Z');
    expect(await messages()).toMatchObject([
      {
        ...{ channel: 'email', attempts: 1, sent: false, waiting: true },
        problem: expect.stringMatching(/rejected the sender or all recipients \(550\)\.$/),
      },
      { channel: 'webhook', attempts: 1, sent: false, problem: 'The receiver responded with 500.' },
    ]);
    // Not before the pause is over.
    await send('2026-06-01T12:01:59Z');
    expect(receiver.received).toHaveLength(1);
    mail.behavior = 'accept';
    receiver.respond = respondWith(204);
    await send('2026-06-01T12:02:00Z');
    await send('2026-06-01T13:00:00Z');
    expect(await messages()).toMatchObject([
      { channel: 'email', attempts: 2, sent: true, waiting: false, problem: null },
      { channel: 'webhook', attempts: 2, sent: true, waiting: false, problem: null },
    ]);
    expect(mail.received).toHaveLength(1);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids).toStrictEqual([ids[0], ids[0]]);
    expect(receiver.received.map(({ headers }) => headers['webhook-attempt'])).toStrictEqual(['1', '2']);
  });

  test('is given up after a day', async () => {
    mail.behavior = 'refuse';
    await fixture.setReviews(1);
    const { tick, send } = startProcess();
    await tick('2026-06-01T12:00:00Z');
    await tick('2026-06-01T12:01:00Z');
    for (let hour = 0; hour < 60; hour++) {
      await send(new Date(Date.parse('2026-06-01T12:05:00Z') + hour * 3_600_000).toISOString());
    }
    expect((await messages())[0]).toMatchObject({ channel: 'email', attempts: 11, sent: false, waiting: false });
  });

  test('drops a message whose alerts were erased', async () => {
    await fixture.setReviews(1);
    const { evaluate, send } = startProcess();
    await evaluate('2026-06-01T12:00:00Z');
    await evaluate('2026-06-01T12:01:00Z');
    await fixture.owner`DELETE FROM alerts`;
    await send('2026-06-01T12:01:00Z');
    expect([mail.received, receiver.received]).toStrictEqual([[], []]);
    expect(await messages()).toMatchObject([{ waiting: false }, { waiting: false }]);
  });
});

describe('a mail server', () => {
  test('a mail server that never responds is given up in time, and the webhook is sent meanwhile', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const smtp_url = `smtp://127.0.0.1:${port}`;
    await expect(sendEmail(serverAt(smtp_url), email, { step_ms: 200 })).rejects.toThrow(
      `127.0.0.1:${port} did not respond in time.`,
    );
    await fixture.setReviews(1);
    const { evaluate, send } = startProcess(channelSettings({ smtp_url }));
    await evaluate('2026-06-01T12:00:00Z');
    await evaluate('2026-06-01T12:01:00Z');
    const sending = send('2026-06-01T12:01:00Z');
    await expect.poll(() => receiver.received.length).toBe(1);
    expect((await messages())[0]).toMatchObject({ channel: 'email', attempts: 1, sent: false, problem: null });
    // The rest of the timeout is not waited for.
    for (const socket of sockets) socket.destroy();
    await sending;
    expect((await messages())[0]).toMatchObject({ channel: 'email', sent: false, waiting: true });
  });

  test('a mail server that stores an email but never confirms it is given up in time', async () => {
    mail.behavior = 'hang';
    // The total timeout is intercepted, and expires once the email is stored.
    const total_ms = 12_345;
    const timeouts = interceptTimers((ms) => ms === total_ms);
    const sending = sendEmail(serverAt(mail.url), email, { step_ms: 60_000, total_ms });
    const given_up = expect(sending).rejects.toThrow('in time');
    await expect.poll(() => mail.received.length).toBe(1);
    expect(timeouts).toHaveLength(1);
    timeouts[0]?.();
    await given_up;
  });

  test('gets the password, and a wrong one is reported without it', async () => {
    const guarded = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        username === 'alerts@example.org' && password === 'p@ss:word/'
          ? done(null, { user: 'alerts' })
          : done(new Error('Wrong')),
    });
    onTestFinished(guarded.close);
    const at = (user: string) => serverAt(`smtp://${user}@127.0.0.1:${guarded.port}`);
    await sendEmail(at('alerts%40example.org:p%40ss%3Aword%2F'), email);
    expect(guarded.received).toHaveLength(1);
    await checkEmailServer(at('alerts%40example.org:p%40ss%3Aword%2F'));
    await expect(checkEmailServer(at('alerts%40example.org:wrong'))).rejects.toThrow(
      `127.0.0.1:${guarded.port} rejected the user name or password (535).`,
    );
  });

  test('a mail server with a certificate that is not trusted gets nothing', async () => {
    const secure = await startMailServer({ secure: true });
    onTestFinished(secure.close);
    await expect(sendEmail(serverAt(`smtps://localhost:${secure.port}`), email)).rejects.toThrow(
      `localhost:${secure.port} has no TLS with a trusted certificate.`,
    );
    expect(secure.received).toStrictEqual([]);
  });

  test('a mail server on another machine gets nothing without TLS', async () => {
    // 0.0.0.0 connects to this machine, but is not one of its loopback addresses.
    const server = serverAt(`smtp://user:secret@0.0.0.0:${mail.port}`);
    expect(server.require_tls).toBe(true);
    await expect(sendEmail(server, email)).rejects.toThrow('has no TLS with a trusted certificate.');
    expect(mail.received).toStrictEqual([]);
  });

  test('a mail server that accepts only some recipients is reported', async () => {
    const picky = await startMailServer({
      onRcptTo: ({ address }, _session, done) => (address.startsWith('gone') ? done(new Error('No')) : done()),
    });
    onTestFinished(picky.close);
    const to = ['gone@example.org', 'oncall@example.org'];
    expect(await sendEmail(serverAt(picky.url), { ...email, to })).toStrictEqual({
      problem: '127.0.0.1 rejected 1 of 2 recipients.',
    });
  });
});
