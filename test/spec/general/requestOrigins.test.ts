import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startService } from '../../../src/main.ts';
import { newClient } from '../../api/support.ts';
import { type Api, type ApiResponse, createApi } from '../../harness/api.ts';
import { signInOperator, type TestOperator } from '../../harness/operator.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { createAuthority } from '../../harness/servers/issuer.ts';
import { getOverTls, startTerminator, type Terminator } from '../../harness/servers/tlsTerminator.ts';
import { until } from '../../journeys/support.ts';
import { linkSteps } from '../../linking/linkSteps.ts';
import { countAcceptedWork } from '../support/databaseState.ts';

const header = 'x-client-certificate';
const authority = createAuthority('Proxy authority');
const [own, next, other] = ['own', 'next', 'other'].map((name) => authority.issue({ name })) as [
  Issued,
  Issued,
  Issued,
];
type Issued = ReturnType<typeof authority.issue>;

let fixture: TestSandbox;
/** Another process of the installation. */
let second: Api;
let owner: TestOperator;
let proxy: Terminator;
beforeAll(async () => {
  fixture = await startSandbox({
    small: true,
    env: { TRUSTED_PROXIES: '127.0.0.1', CLIENT_CERTIFICATE_HEADER: header },
  });
  const service = await startService(loadConfig(fixture.env), { role: 'api', print: () => {} });
  second = createApi({ ...fixture.sandbox, base_url: service.ctx.base_url });
  owner = await signInOperator(fixture);
  const server = authority.issue({ name: 'proxy', hosts: ['localhost'], use: 'server' });
  proxy = await startTerminator(fixture.sandbox.base_url, server, header);
  return service.close;
});
afterAll(async () => {
  await proxy.close();
  await fixture.close();
});
afterEach(() => limit({ allowed_networks: [], certificate_fingerprints: [] }));

const from = (address: string) => ({ 'x-forwarded-for': address });
const send = (api: Api, headers: Record<string, string | null> = {}) => api.call('GET', '/v1/settings', { headers });

async function limit(changes: { allowed_networks?: string[]; certificate_fingerprints?: string[] }): Promise<void> {
  const { status, body } = await owner.patch('clients/{client}', changes);
  expect(status, JSON.stringify(body)).toBe(200);
  await until('the change in the other process', async () => {
    const { body } = await owner.get('clients/{client}');
    return Object.entries(changes).every(([name, value]) => String(body.client[name]) === String(value));
  });
}

/** The response without what differs between requests. */
const comparable = ({ status, body: { request_id: _, ...body } }: ApiResponse) => ({ status, body });

describe('a client with allowed networks', () => {
  test(row('NET-01'), async () => {
    await limit({ allowed_networks: ['203.0.113.0/24', '2001:db8::/32'] });
    for (const address of ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8::7']) {
      expect((await send(fixture.api, from(address))).status, address).toBe(200);
    }
    const before = await countAcceptedWork(fixture);
    const refused = await fixture.api.callIn({}, from('::ffff:198.51.100.9'));
    expect(comparable(refused)).toMatchObject({
      status: 403,
      body: {
        code: 'client_network_refused',
        message:
          'Requests of this application are not accepted from 198.51.100.9. An owner can add the address to its allowed networks.',
      },
    });
    const headers = { ...from('198.51.100.9'), client_secret: `cs_test_${'x'.repeat(43)}` };
    expect(comparable(await fixture.api.callIn({}, headers))).toStrictEqual(comparable(refused));
    expect(comparable(await fixture.api.callIn({}, { ...from('198.51.100.9'), access_token: 'x' }))).toStrictEqual(
      comparable(refused),
    );
    expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  });

  test(row('NET-02'), async () => {
    const steps = linkSteps(fixture);
    await limit({ allowed_networks: ['127.0.0.1'], certificate_fingerprints: [] });
    const link_token = await steps.linkToken({});
    await limit({ allowed_networks: ['127.0.0.1'], certificate_fingerprints: [own.fingerprint] });
    const clinic = { ...from('198.51.100.9'), client_id: null, client_secret: null, access_token: null };
    const headers = { ...clinic, 'link-token': link_token };
    const session = await fixture.api.call('GET', '/link/v1/session', { headers });
    expect(session).toMatchObject({ status: 200, body: { success: true } });
    expect((await fixture.api.call('GET', '/link', { headers: clinic })).status).toBe(200);
    expect((await fixture.api.call('POST', '/link/token/create', { headers: from('198.51.100.9') })).status).toBe(403);
  });

  test('is refused by its own list only: another client is not limited by it', async () => {
    await limit({ allowed_networks: ['203.0.113.0/24'] });
    const free = await newClient(fixture);
    const headers = { ...from('198.51.100.9'), access_token: null };
    expect((await free.api.call('GET', '/v1/accounts', { headers })).status).toBe(200);
  });

  test('is audited with the address if the secret was valid, and counted in any case', async () => {
    await limit({ allowed_networks: ['203.0.113.0/24'] });
    const read = async () =>
      (await fixture.ctx.metrics.refused_origins.get()).values.find(
        ({ labels }) => labels.code === 'client_network_refused',
      )?.value ?? 0;
    const before = await read();
    await send(fixture.api, { ...from('198.51.100.40'), client_secret: `cs_test_${'x'.repeat(43)}` });
    await send(fixture.api, from('198.51.100.41'));
    expect(await read()).toBe(before + 2);
    const records = () => fixture.owner<{ address: string; action: string; outcome: string; detail: unknown }[]>`
      SELECT address, action, outcome, detail FROM audit_records WHERE address LIKE '198.51.100.4_'`;
    await expect.poll(records).toHaveLength(1);
    expect(await records()).toMatchObject([
      {
        address: '198.51.100.41',
        action: 'settings.get',
        outcome: '403',
        detail: { refused: 'client_network_refused' },
      },
    ]);
  });

  test('does not fill the audit log: a client has 20 records of refused requests, and one more each minute', async () => {
    await limit({ allowed_networks: ['203.0.113.0/24'] });
    const flooded = await newClient(fixture);
    await fixture.owner`UPDATE clients SET allowed_networks = '{203.0.113.0/24}' WHERE public_id = ${flooded.client_id}`;
    const records = () => fixture.owner<{ detail: unknown }[]>`
      SELECT detail FROM audit_records WHERE outcome = '403' AND detail ->> 'refused' = 'client_network_refused'
         AND actor = ${flooded.client_id} ORDER BY id`;
    await until('the limit in force', async () => {
      const { status } = await flooded.api.call('GET', '/v1/accounts', { headers: from('198.51.100.60') });
      return status === 403;
    });
    for (let n = 0; n < 40; n++) {
      await flooded.api.call('GET', '/v1/accounts', { headers: from(`198.51.100.${n}`) });
    }
    await expect.poll(records).toHaveLength(20);
  });

  test('is not refused in the dashboard, which needs no address of the list', async () => {
    await limit({ allowed_networks: ['203.0.113.0/24'] });
    expect((await owner.get('clients/{client}', from('198.51.100.9'))).status).toBe(200);
  });

  test('believes only trusted proxies which address a request came from', async () => {
    const { env } = fixture;
    const direct = await startService(loadConfig({ ...env, TRUSTED_PROXIES: '192.0.2.1' }), {
      role: 'api',
      print: () => {},
    });
    try {
      await limit({ allowed_networks: ['203.0.113.0/24'] });
      const api = createApi({ ...fixture.sandbox, base_url: direct.ctx.base_url });
      const forged = await send(api, from('203.0.113.7'));
      expect(forged).toMatchObject({ status: 403, body: { message: expect.stringContaining('from 127.0.0.1.') } });
    } finally {
      await direct.close();
    }
  });

  test.each([
    [['10.1.2.3/8'], /^allowed_networks must not have bits after the prefix: write 10\.0\.0\.0\/8/],
    [['10.0.0.0/8', 'office'], /^allowed_networks must be addresses or networks such as .*; not 'office'$/],
  ])('is not changed to %j', async (allowed_networks, message) => {
    const refused = await owner.patch('clients/{client}', { allowed_networks });
    expect(refused).toMatchObject({
      status: 400,
      body: { field: 'allowed_networks', message: expect.stringMatching(message) },
    });
    expect((await send(fixture.api, from('198.51.100.9'))).status).toBe(200);
  });

  test('keeps its list in one spelling, and the audit log has the old and the new one', async () => {
    await limit({ allowed_networks: ['10.0.0.0/8'] });
    const { body } = await owner.patch('clients/{client}', {
      allowed_networks: ['::ffff:192.0.2.1', '2001:DB8:0::/32', '192.0.2.1'],
    });
    expect(body.client.allowed_networks).toStrictEqual(['192.0.2.1', '2001:db8::/32']);
    const [last] = await fixture.owner<{ detail: unknown }[]>`
      SELECT detail FROM audit_records WHERE action = 'dashboard.clients.update' ORDER BY id DESC LIMIT 1`;
    expect(last?.detail).toMatchObject({
      allowed_networks: { old: ['10.0.0.0/8'], new: ['192.0.2.1', '2001:db8::/32'] },
    });
  });
});

describe('a client with registered certificates', () => {
  /** Through the proxy, with a TLS handshake. */
  const sendWith = (client: Issued | undefined, more: Record<string, string> = {}) => {
    const { client_id, client_secret, access_token } = fixture.sandbox;
    return getOverTls(`${proxy.url}/v1/settings`, {
      ca: authority.certificate,
      client,
      headers: { client_id, client_secret, access_token, ...more },
    });
  };
  const wrong = { client_secret: `cs_test_${'x'.repeat(43)}` };

  test(row('NET-03'), async () => {
    expect((await sendWith(undefined)).status).toBe(200);
    const expired = authority.issue({ name: 'expired', valid_to: new Date(Date.now() - 1000) });
    const early = authority.issue({ name: 'early', valid_from: new Date(Date.now() + 86_400_000) });
    await limit({ certificate_fingerprints: [own, expired, early].map(({ fingerprint }) => fingerprint) });
    for (const secret of [{}, wrong]) {
      expect(await sendWith(undefined, secret)).toMatchObject({
        status: 403,
        body: { code: 'client_certificate_required' },
      });
      for (const [certificate, reason] of [
        [other, 'it is not registered for this application'],
        [expired, 'it expired at'],
        [early, 'it is not valid before'],
      ] as const) {
        expect(await sendWith(certificate, secret)).toMatchObject({
          status: 403,
          body: { code: 'client_certificate_refused', message: expect.stringContaining(reason) },
        });
      }
      const unreadable = await send(fixture.api, { [header]: 'x', ...secret });
      expect(unreadable).toMatchObject({ status: 403, body: { code: 'client_certificate_refused' } });
    }
    expect((await sendWith(own)).status).toBe(200);
    expect(await sendWith(own, wrong)).toMatchObject({ status: 401, body: { code: 'client_credentials_invalid' } });
  });

  test('accepts the old and the new one during a rotation, and then only the new one', async () => {
    await limit({ certificate_fingerprints: [own.fingerprint] });
    await limit({ certificate_fingerprints: [own.fingerprint, next.fingerprint] });
    expect([(await sendWith(own)).status, (await sendWith(next)).status]).toStrictEqual([200, 200]);
    await limit({ certificate_fingerprints: [next.fingerprint] });
    expect([(await sendWith(own)).status, (await sendWith(next)).status]).toStrictEqual([403, 200]);
  });

  test('ignores a header that the caller sent through the proxy', async () => {
    await limit({ certificate_fingerprints: [own.fingerprint] });
    const forged = { [header]: encodeURIComponent(own.certificate) };
    expect(await sendWith(undefined, forged)).toMatchObject({
      status: 403,
      body: { code: 'client_certificate_required' },
    });
    expect(await sendWith(other, forged)).toMatchObject({ status: 403, body: { code: 'client_certificate_refused' } });
  });

  test('ignores the header of a caller that is no trusted proxy', async () => {
    const config = loadConfig({ ...fixture.env, TRUSTED_PROXIES: '192.0.2.1' });
    const direct = await startService(config, { role: 'api', print: () => {} });
    try {
      await limit({ certificate_fingerprints: [own.fingerprint] });
      const api = createApi({ ...fixture.sandbox, base_url: direct.ctx.base_url });
      const forged = await send(api, { [header]: encodeURIComponent(own.certificate) });
      expect(forged).toMatchObject({ status: 403, body: { code: 'client_certificate_required' } });
    } finally {
      await direct.close();
    }
  });

  test('takes fingerprints as they are copied, and certificates, and refuses anything else', async () => {
    const colons = own.fingerprint.toUpperCase().match(/../g)?.join(':') ?? '';
    const { body } = await owner.patch('clients/{client}', {
      certificate_fingerprints: [colons, own.certificate, next.certificate],
    });
    expect(body.client.certificate_fingerprints).toStrictEqual([own.fingerprint, next.fingerprint]);
    const refused = await owner.patch('clients/{client}', { certificate_fingerprints: ['abc'] });
    expect(refused).toMatchObject({ status: 400, body: { field: 'certificate_fingerprints' } });
  });
});

describe('a change', () => {
  test(row('NET-04'), async () => {
    const { client_id, client_secret } = fixture.sandbox;
    expect((await send(second, from('198.51.100.9'))).status).toBe(200);
    const stream = await fetch(`${fixture.sandbox.base_url}/v1/webhook-events/stream`, {
      headers: { client_id, client_secret, ...from('198.51.100.9') },
    });
    expect(stream.status).toBe(200);
    await limit({ allowed_networks: ['203.0.113.0/24', '127.0.0.1'] });
    const statuses = async () => [
      (await send(second, from('198.51.100.9'))).status,
      (await send(fixture.api, from('198.51.100.9'))).status,
    ];
    await expect.poll(statuses).toStrictEqual([403, 403]);
    // The stream ends before the next event, of which it sends nothing.
    await fixture.api.callIn();
    const text = await stream.text();
    expect(text).not.toContain('event:');
  });

  test('is refused if it needs the header of a proxy that is not set', async () => {
    const config = loadConfig({ ...fixture.env, CLIENT_CERTIFICATE_HEADER: '' });
    const without = await startService(config, { role: 'api', print: () => {} });
    try {
      const at = { sandbox: { ...fixture.sandbox, base_url: without.ctx.base_url } };
      const operator = await signInOperator(at);
      const refused = await operator.patch('clients/{client}', { certificate_fingerprints: [own.fingerprint] });
      expect(refused).toMatchObject({
        status: 400,
        body: {
          message: 'certificate_fingerprints can be used only if CLIENT_CERTIFICATE_HEADER is set on the server',
        },
      });
      // A process without the setting accepts no request of a client that needs one.
      await limit({ certificate_fingerprints: [own.fingerprint] });
      const api = createApi(at.sandbox);
      await expect.poll(async () => (await send(api)).body.code).toBe('client_certificate_required');
    } finally {
      await without.close();
    }
  });
});
