import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { verifyWebhook } from '../../sdk/src/webhooks.ts';
import { runCommand, spawnSandbox, startSandbox } from '../harness/sandbox.ts';
import { type Receiver, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { until } from '../journeys/support.ts';

const program = fileURLToPath(new URL('../../dist/bin/chartwire.js', import.meta.url));
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
});

/** `chartwire listen` as a process of its own, and what it has printed. */
function startListening(args: readonly string[], env: Record<string, string>) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [program, 'listen', ...args], {
    env: { PATH, XDG_CONFIG_HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const printed = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    printed.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    printed.stderr += chunk;
  });
  return { child, printed };
}

async function startTarget(): Promise<Receiver> {
  const target = await startReceiver(respondWith(204));
  onTestFinished(() => target.close());
  return target;
}

test('two commands lead from a running sandbox to a verified webhook on this machine', async () => {
  const fixture = await startSandbox({ small: true });
  onTestFinished(() => fixture.close());
  const target = await startTarget();
  const { child, printed } = startListening(['--forward-to', target.url], fixture.env);
  await until('the listener to connect', async () => printed.stderr.includes('Listening'));
  const triggered = await runCommand(['trigger', 'patient.created', '--json'], fixture.env);
  expect(triggered.code, triggered.stderr).toBe(0);
  await until('the event to be printed', async () => printed.stdout.includes('patient.created'));

  const [, secret = ''] = /^Signing secret: (whsec_\S+)$/m.exec(printed.stdout) ?? [];
  const [received] = target.received;
  const event = await verifyWebhook(received?.body ?? '', received?.headers ?? {}, secret);
  const { event: expected } = JSON.parse(triggered.stdout);
  expect(event).toMatchObject({ type: 'patient.created', id: expected.id });
  expect(received?.headers['webhook-id']).toBe(expected.id);
  expect(printed.stdout).toMatch(/patient\.created {2}\S+ {2}→ 204 \(\d+ ms\)\n/);
  expect(printed.stdout + printed.stderr).not.toContain(fixture.sandbox.client_secret);

  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

test('continues after a restart of the service, without losing or repeating an event', async () => {
  const fixture = await spawnSandbox({ small: true });
  onTestFinished(() => fixture.close());
  const first = await fixture.start();
  const target = await startTarget();
  const { printed } = startListening(['--forward-to', target.url, '--json'], fixture.env);
  await until('the listener to connect', async () => printed.stderr.includes('Listening'));
  const received = () => target.received.map(({ headers }) => headers['webhook-id']);
  const callIn = async () => {
    const { api } = await fixture.read();
    return (await api.untilEvent((await api.callIn()).body.job_id)).id;
  };
  const before = await callIn();
  await until('the first event', async () => received().includes(before));
  await first.stop('SIGTERM');
  await until('the listener to notice', async () => printed.stderr.includes('Reconnecting'));
  await fixture.start();
  const after = await callIn();
  await until('the second event to be printed', async () => printed.stdout.includes(after));
  expect(received()).toStrictEqual([before, after]);
  const lines = printed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { secret: expect.stringMatching(/^whsec_/) },
    { event_id: before },
    { event_id: after },
  ]);
});
