import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newFolder, startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { createAuthority } from '../harness/servers/issuer.ts';
import { runHere } from './support.ts';

const certificate = createAuthority('Application authority').issue({ name: 'application' });

let fixture: TestSandbox;
beforeAll(async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_CERTIFICATE_HEADER: 'x-client-certificate' };
  fixture = await startSandbox({ small: true, env });
});
afterAll(() => fixture?.close());

const run = (...args: string[]) => runHere(['clients', ...args], fixture.env);
async function json(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

test('clients change sets where requests may come from, which the running service applies at once', async () => {
  const { client_id } = fixture.sandbox;
  const send = async () => {
    const headers = { 'x-forwarded-for': '198.51.100.9' };
    return (await fixture.api.call('GET', '/v1/settings', { headers })).body.code ?? 'accepted';
  };
  const file = join(await newFolder(), 'application.pem');
  await writeFile(file, certificate.certificate);
  expect(await send()).toBe('accepted');
  expect(
    await json('change', '--client', client_id, '--network', '203.0.113.0/24', '--network', '10.0.0.1'),
  ).toStrictEqual({
    client_id,
    allowed_networks: ['203.0.113.0/24', '10.0.0.1'],
    certificate_fingerprints: [],
  });
  await expect.poll(send).toBe('client_network_refused');
  await json('change', '--client', client_id, '--any-network', '--certificate', file);
  await expect.poll(send).toBe('client_certificate_required');
  const { clients } = await json('list');
  expect(clients).toContainEqual(
    expect.objectContaining({ client_id, allowed_networks: [], certificate_fingerprints: [certificate.fingerprint] }),
  );
  const removed = await run('change', '--client', client_id, '--no-certificates');
  expect(removed).toMatchObject({ code: 0, stdout: `${client_id}  from anywhere\n` });
  await expect.poll(send).toBe('accepted');
  const records = await fixture.owner<{ actor: string; detail: unknown }[]>`
    SELECT actor, detail FROM audit_records WHERE action = 'client.change' ORDER BY id`;
  expect(records).toMatchObject([
    { actor: 'command line', detail: { allowed_networks: { old: [], new: ['203.0.113.0/24', '10.0.0.1'] } } },
    { detail: { certificate_fingerprints: { old: [], new: [certificate.fingerprint] } } },
    { detail: { certificate_fingerprints: { old: [certificate.fingerprint], new: [] } } },
  ]);
});

test('clients create takes networks and certificates', async () => {
  const limits = ['--network', '203.0.113.0/24', '--certificate', certificate.fingerprint];
  const { client_id } = await json('create', '--name', 'Limited', ...limits);
  const { clients } = await json('list');
  expect(clients).toContainEqual(
    expect.objectContaining({
      ...{ client_id, name: 'Limited', allowed_networks: ['203.0.113.0/24'] },
      certificate_fingerprints: [certificate.fingerprint],
    }),
  );
});

test.each([
  [['--network', '10.1.2.3/8'], /^--network must not have bits after the prefix: write 10\.0\.0\.0\/8/],
  [['--network', 'office'], /^--network must be addresses or networks such as/],
  [['--network', '10.0.0.0/8', '--any-network'], /^--network and --any-network exclude each other\./],
  [['--certificate', '/missing.pem'], /^--certificate must be a SHA-256 fingerprint, or a file with a certificate/],
  [['--certificate', 'ab'.repeat(32), '--no-certificates'], /exclude each other\./],
  [[], /^Specify what to change, such as --network 10\.0\.0\.0\/8\./],
])('clients change with %j says what is wrong and changes nothing', async (args, message) => {
  const before = await json('list');
  const { code, stderr } = await run('change', '--client', fixture.sandbox.client_id, ...args);
  expect({ code, stderr }).toStrictEqual({ code: 1, stderr: expect.stringMatching(message) });
  expect(await json('list')).toStrictEqual(before);
});
