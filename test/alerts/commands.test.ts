import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { evaluateAlerts } from '../../src/product/alerts/evaluateAlerts.ts';
import { runHere } from '../cli/support.ts';
import { runCommand, startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { test_authority, test_certificate } from '../harness/servers/certificates.ts';
import { type MailServer, startMailServer } from '../harness/servers/mailServer.ts';
import { type Receiver, respondWith, startReceiver } from '../harness/servers/receiver.ts';
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

test('a mail server gets messages over TLS only if an authority that the process trusts issued its certificate', async () => {
  const secure = await startMailServer({ secure: true, ...test_certificate });
  onTestFinished(secure.close);
  const env = { ...fixture.env, ...channelSettings({ smtp_url: `smtps://localhost:${secure.port}` }) };
  const send = async (more: Record<string, string>) => {
    const { code, stdout } = await runCommand(['alerts', 'test', '--json'], { ...env, ...more });
    return { code, ...JSON.parse(stdout).results[0] };
  };
  expect(await send({})).toMatchObject({
    ...{ code: 1, sent: false },
    problem: `localhost:${secure.port} has no TLS with a trusted certificate.`,
  });
  expect(secure.received).toStrictEqual([]);
  expect(await send(await trustedAuthority())).toMatchObject({ code: 0, sent: true, problem: null });
  expect(secure.received).toMatchObject([{ subject: '[Chartwire] Test message' }]);
});

test('a mail server that upgrades to TLS gets the password and messages only if its certificate is trusted', async () => {
  const encrypted: boolean[] = [];
  const mail_server = await startMailServer({
    ...test_certificate,
    ...{ disabledCommands: [], authOptional: false },
    onAuth: (_credentials, session, done) => {
      encrypted.push(session.secure);
      done(null, { user: 'alerts' });
    },
  });
  onTestFinished(mail_server.close);
  // Not from ALERT_SMTP_URL, which does not require TLS of a server on this machine.
  const server = {
    ...{ host: 'localhost', port: mail_server.port, secure: false, require_tls: true },
    auth: { user: 'alerts', pass: 'secret' },
  };
  const send = (env: Record<string, string>) =>
    runScript(
      `import { sendEmail } from './dist/src/product/alerts/channels.js';
       const email = { id: 'id-1', from: 'chartwire@example.org', to: ['oncall@example.org'] };
       const content = { subject: 'Over STARTTLS', text: 'Text', html: '<p>Text</p>' };
       const sent = sendEmail(${JSON.stringify(server)}, { ...email, ...content });
       console.log(await sent.then(() => 'sent', ({ message }) => message));`,
      env,
    );
  expect(await send({})).toBe(`localhost:${mail_server.port} has no TLS with a trusted certificate.\n`);
  expect([encrypted, mail_server.received]).toStrictEqual([[], []]);
  expect(await send(await trustedAuthority())).toBe('sent\n');
  expect(encrypted).toStrictEqual([true]);
  expect(mail_server.received).toMatchObject([{ subject: 'Over STARTTLS' }]);
});

/** The setting that makes a new process trust the authority of the tests. Node.js reads it when a process starts. */
async function trustedAuthority(): Promise<{ NODE_EXTRA_CA_CERTS: string }> {
  const file = join(fixture.env.DATA_DIR ?? '', 'mail-authority.pem');
  await writeFile(file, test_authority);
  return { NODE_EXTRA_CA_CERTS: file };
}

/** What a module prints that runs in a process of its own. */
async function runScript(source: string, env: Record<string, string>): Promise<string> {
  const options = { env: { PATH: process.env.PATH ?? '', ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], options);
  return stdout;
}

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
