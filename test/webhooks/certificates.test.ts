import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { removeCertificate, saveCertificate } from '../../src/product/webhooks/certificates.ts';
import { describeChange, findEndpoint } from '../../src/product/webhooks/endpoints.ts';
import { addEndpoint, changeEndpoint } from '../../src/product/webhooks/registration.ts';
import { testEndpoint } from '../../src/product/webhooks/sendWebhook.ts';
import { createAuthority, type Issued } from '../harness/servers/issuer.ts';
import { startTlsReceiver, type TlsOptions, type TlsReceiver } from '../harness/servers/tlsReceiver.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { createFixture, deliverDue, emit, type Fixture, makeDue, readDeliveries, synced } from './fixture.ts';

const authority = createAuthority('Receiver authority');
const [first, second] = [authority.issue({ name: 'first' }), authority.issue({ name: 'second' })];

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
  const { webhook_outbound: outbound } = fixture.ctx;
  // Trusts the receivers' authority, as NODE_EXTRA_CA_CERTS would.
  fixture.ctx.webhook_outbound = {
    ...outbound,
    fetch: (url, { identity = { owner: 'none' }, ...request }) =>
      outbound.fetch(url, { ...request, identity: { ...identity, ca_certificates: authority.certificate } }),
  };
});
afterAll(() => fixture?.close());
afterEach(() => fixture.owner`DELETE FROM webhook_endpoints`);

async function startReceiver(options: Partial<TlsOptions> = {}): Promise<TlsReceiver> {
  const certificate = authority.issue({ name: 'receiver', hosts: ['localhost'], use: 'server' });
  const receiver = await startTlsReceiver({ certificate, ...options });
  onTestFinished(receiver.close);
  return receiver;
}

/** Registers an endpoint, with a certificate or without one. */
async function register(url: string, certificate?: Issued, { client_id }: Tenant = fixture.tenant): Promise<string> {
  return fixture.db.tenant(client_id, async (tx) => {
    const { id } = await addEndpoint(fixture.ctx, tx, client_id, { url });
    if (certificate) await saveCertificate(fixture.ctx, tx, { id, url, client_id }, certificate);
    return id;
  });
}

const change = (id: string, work: Parameters<typeof fixture.db.tenant<void>>[1]) =>
  fixture.db.tenant(fixture.tenant.client_id, work).then(() => id);
const fingerprints = ({ presented }: TlsReceiver) => presented.map(({ fingerprint }) => fingerprint);

test('a delivery presents the certificate of its endpoint, whose key is stored encrypted', async () => {
  const receiver = await startReceiver({ client_authority: authority.certificate });
  const id = await register(receiver.url, first);
  const event = await emit(fixture);
  await deliverDue(fixture);
  expect(await readDeliveries(fixture, event)).toMatchObject([{ status: 'success' }]);
  expect(fingerprints(receiver)).toStrictEqual([first.fingerprint]);
  const [row] = await fixture.owner`SELECT * FROM webhook_endpoints WHERE id = ${id}`;
  expect(JSON.stringify(row)).toContain('BEGIN CERTIFICATE');
  const [line = 'none'] = first.private_key.split('\n').slice(1);
  const stored = row?.certificate_key_sealed as Buffer;
  expect([JSON.stringify(row), stored.toString('latin1')].some((text) => text.includes(line))).toBe(false);
  expect(fixture.lines.join('')).not.toContain(line);
});

test('a replaced certificate is used by the next delivery, and a removed one by none', async () => {
  const receiver = await startReceiver();
  const id = await register(receiver.url, first);
  const { client_id } = fixture.tenant;
  const send = async () => {
    await emit(fixture);
    await deliverDue(fixture);
  };
  await send();
  await change(id, (tx) => saveCertificate(fixture.ctx, tx, { id, url: receiver.url, client_id }, second));
  await send();
  await change(id, (tx) => removeCertificate(tx, id));
  await send();
  expect(fingerprints(receiver)).toStrictEqual([first.fingerprint, second.fingerprint, undefined]);
  expect(new Set(receiver.presented.map(({ connection }) => connection)).size).toBe(3);
});

test('endpoints of one receiver, also of two clients, each use their own certificate and connections', async () => {
  const receiver = await startReceiver();
  const other = await createTenant(fixture.owner);
  await register(`${receiver.url}/a`, first);
  await register(`${receiver.url}/b`, second);
  await register(`${receiver.url}/c`);
  // The same certificate, and even the same URL, for another client.
  await register(`${receiver.url}/a`, first, other);
  for (let n = 0; n < 3; n++) {
    await emit(fixture);
    await emit(fixture, synced, other);
    await deliverDue(fixture);
  }
  expect(receiver.presented).toHaveLength(12);
  const connections = new Map<string, Set<number>>();
  for (const { url, fingerprint, connection } of receiver.presented) {
    const expected = { '/hook/a': first.fingerprint, '/hook/b': second.fingerprint, '/hook/c': undefined }[url];
    expect(fingerprint).toBe(expected);
    connections.set(url, (connections.get(url) ?? new Set()).add(connection));
  }
  const all = [...connections.values()].flatMap((each) => [...each]);
  // No connection was used for two URLs, and /a was requested by two clients.
  expect(new Set(all).size).toBe(all.length);
  expect(connections.get('/hook/a')?.size).toBeGreaterThanOrEqual(2);
});

test('a receiver that refuses the certificate gets the event after it was replaced', async () => {
  const receiver = await startReceiver({ client_authority: authority.certificate });
  const id = await register(receiver.url, createAuthority('Stranger').issue({ name: 'stranger' }));
  const event = await emit(fixture);
  await deliverDue(fixture);
  expect(await readDeliveries(fixture, event)).toMatchObject([{ status: 'pending', attempts: 1 }]);
  expect(receiver.presented).toStrictEqual([]);
  const { client_id } = fixture.tenant;
  await change(id, (tx) => saveCertificate(fixture.ctx, tx, { id, url: receiver.url, client_id }, first));
  await makeDue(fixture);
  await deliverDue(fixture);
  expect(await readDeliveries(fixture, event)).toMatchObject([{ status: 'success', attempts: 2 }]);
  expect(fingerprints(receiver)).toStrictEqual([first.fingerprint]);
});

test('a certificate is refused for an endpoint without TLS', async () => {
  const { client_id } = fixture.tenant;
  const url = 'http://localhost:9/hook';
  const id = await register(url);
  const saved = change(id, (tx) => saveCertificate(fixture.ctx, tx, { id, url, client_id }, first));
  await expect(saved).rejects.toMatchObject({ code: 'invalid_field', field: 'certificate' });
});

test('a test event presents it, and a redirect to another host is not followed', async () => {
  const elsewhere = await startReceiver();
  const receiver = await startReceiver();
  receiver.respond = (response) => response.writeHead(302, { location: elsewhere.url }).end();
  const id = await register(receiver.url, first);
  const result = await testEndpoint(fixture.ctx, fixture.tenant.client_id, id);
  expect(result).toMatchObject({ delivered: false, status_code: 302 });
  expect(fingerprints(receiver)).toStrictEqual([first.fingerprint]);
  expect(elsewhere.connections()).toBe(0);
});

test('an endpoint that moves to another host leaves its certificate behind, on another path it keeps it', async () => {
  const [receiver, elsewhere] = [await startReceiver(), await startReceiver()];
  const id = await register(receiver.url, first);
  const { client_id } = fixture.tenant;
  const move = (url: string) =>
    fixture.db.tenant(client_id, async (tx) => {
      const before = await findEndpoint(tx, id);
      if (!before) throw new Error('The endpoint does not exist.');
      await changeEndpoint(fixture.ctx, tx, before, { url });
      return describeChange(before, await findEndpoint(tx, id));
    });
  expect(await move(`${receiver.url}/v2`)).not.toHaveProperty('certificate');
  await emit(fixture);
  await deliverDue(fixture);
  expect(fingerprints(receiver)).toStrictEqual([first.fingerprint]);
  expect(await move(elsewhere.url)).toMatchObject({ certificate: { old: first.fingerprint, new: null } });
  const [row] = await fixture.owner`SELECT certificate, certificate_key_sealed, certificate_expires_at
    FROM webhook_endpoints WHERE id = ${id}`;
  expect(row).toStrictEqual({ certificate: null, certificate_key_sealed: null, certificate_expires_at: null });
  await emit(fixture);
  await deliverDue(fixture);
  expect(fingerprints(elsewhere)).toStrictEqual([undefined]);
});
