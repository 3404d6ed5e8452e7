import { afterEach, describe, expect, test } from 'vitest';
import {
  createOutbound,
  type Outbound,
  OutboundFailure,
  type OutboundRequest,
} from '../../src/platform/security/outbound.ts';
import type { TlsIdentity } from '../../src/platform/security/tlsIdentity.ts';
import { newFolder } from '../harness/sandbox.ts';
import { createAuthority, type Issued } from '../harness/servers/issuer.ts';
import { startStrictTlsServer } from '../harness/servers/strictTlsServer.ts';
import { startTlsReceiver, type TlsOptions, type TlsReceiver } from '../harness/servers/tlsReceiver.ts';

const private_authority = createAuthority('Hospital authority');
const clients = createAuthority('Client authority');
const server_certificate = private_authority.issue({ name: 'emr', hosts: ['localhost'], use: 'server' });
const [first, second] = [clients.issue({ name: 'first' }), clients.issue({ name: 'second' })];
const request: OutboundRequest = { method: 'POST', body: '{}', timeout_ms: 120_000, response_bytes_max: 1000 };

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function open(): Outbound {
  const outbound = createOutbound({ sandbox: true, allow: [] });
  closers.unshift(outbound.close);
  return outbound;
}

async function serve(options: Partial<TlsOptions> = {}): Promise<TlsReceiver> {
  const receiver = await startTlsReceiver({
    certificate: server_certificate,
    client_authority: clients.certificate,
    ...options,
  });
  closers.push(receiver.close);
  return receiver;
}

function createIdentity(
  owner: string,
  issued: Issued | undefined,
  trusted = private_authority.certificate,
): TlsIdentity {
  return {
    owner,
    certificate: issued?.certificate,
    private_key: issued?.private_key,
    ...(trusted !== '' && { ca_certificates: trusted }),
  };
}

async function failure(sent: Promise<unknown>): Promise<OutboundFailure> {
  const outcome = await sent.catch((error: unknown) => error);
  if (outcome instanceof OutboundFailure) return outcome;
  throw new Error('The request should have failed.', { cause: outcome });
}

describe('a request with a certificate', () => {
  test.each(['TLSv1.2', 'TLSv1.3'] as const)('presents it in the handshake (%s)', async (versions) => {
    const server = await serve({ versions });
    const response = await open().fetch(server.url, { ...request, identity: createIdentity('a', first) });
    expect(response.status).toBe(200);
    expect(server.presented.map(({ fingerprint }) => fingerprint)).toStrictEqual([first.fingerprint]);
  });

  test('presents the certificates that it was issued by, too', async () => {
    const below = clients.issueAuthority('Issuing authority');
    const issued = below.issue({ name: 'third' });
    const server = await serve();
    const chain = { ...issued, certificate: `${issued.certificate}${below.certificate}` };
    const { status } = await open().fetch(server.url, { ...request, identity: createIdentity('a', chain) });
    expect(status).toBe(200);
  });

  test.each(['TLSv1_2', 'TLSv1_3'])(
    'fails before it was received, and says why, if the server refuses the certificate (%s)',
    async (version) => {
      const folder = await newFolder();
      const server = await startStrictTlsServer(folder, {
        certificate: server_certificate,
        client_authority: clients.certificate,
        version,
      });
      closers.push(server.close);
      const strange = createAuthority('Stranger').issue({ name: 'stranger' });
      const old = clients.issue({ name: 'old', valid_to: new Date(Date.now() - 1000) });
      const outbound = open();
      for (const issued of [strange, old]) {
        const refused = await failure(
          outbound.fetch(server.url, { ...request, identity: createIdentity('a', issued) }),
        );
        expect(refused.message).toMatch(/^localhost:\d+ did not accept the client certificate \(ERR_SSL_\w+\)\.$/);
        expect(summarize(refused)).toStrictEqual({
          kind: 'unreachable',
          sent: false,
          tls_problem: 'client_certificate',
        });
      }
      // Without one, TLS 1.2 ends with an alert that can mean anything.
      const without = failure(outbound.fetch(server.url, { ...request, identity: createIdentity('a', undefined) }));
      expect(await without).toMatchObject({ kind: 'unreachable', sent: false });
      expect(server.requests()).toBe(0);
      const accepted = await outbound.fetch(server.url, { ...request, identity: createIdentity('a', first) });
      expect(accepted.status).toBe(200);
      await expect.poll(server.requests).toBe(1);
    },
  );
});

function summarize({ kind, sent, tls_problem }: OutboundFailure) {
  return { kind, sent, tls_problem };
}

describe('connections', () => {
  test('are reused by the same owner with the same certificate, and by nobody else', async () => {
    const server = await serve({ client_authority: undefined });
    const outbound = open();
    const send = async (identity: TlsIdentity) => {
      await outbound.fetch(server.url, { ...request, identity });
      return server.presented.at(-1);
    };
    const own = await send(createIdentity('webhook a', first));
    const others = [
      // Another endpoint, perhaps of another client, with the same certificate; and the same one after a rotation.
      await send(createIdentity('webhook b', first)),
      await send(createIdentity('webhook a', second)),
      await send(createIdentity('webhook a', undefined)),
    ];
    const connections = [own, ...others].map((each) => each?.connection);
    expect(new Set(connections).size).toBe(4);
    expect(others.map((each) => each?.fingerprint)).toStrictEqual([first.fingerprint, second.fingerprint, undefined]);
    const before = server.connections();
    for (let n = 0; n < 20; n++) {
      expect(await send(createIdentity('webhook a', first))).toMatchObject({ fingerprint: first.fingerprint });
    }
    // undici frees a connection shortly after it returns the response.
    expect(server.connections()).toBeLessThanOrEqual(before + 1);
  });

  test('stay apart when requests with different certificates are sent at the same time', async () => {
    const server = await serve({ client_authority: undefined });
    const outbound = open();
    const issued = Array.from({ length: 8 }, (_, n) => clients.issue({ name: `client ${n}` }));
    await Promise.all(
      Array.from({ length: 80 }, (_, n) => {
        const at = n % 8;
        const identity = createIdentity(`owner ${at}`, issued[at]);
        return outbound.fetch(`${server.url}?${at}`, { ...request, identity });
      }),
    );
    expect(server.presented).toHaveLength(80);
    for (const { url, fingerprint } of server.presented) {
      expect(fingerprint).toBe(issued[Number(url.split('?')[1])]?.fingerprint);
    }
    const owners = new Map<number, Set<string | undefined>>();
    for (const { connection, fingerprint } of server.presented) {
      owners.set(connection, (owners.get(connection) ?? new Set()).add(fingerprint));
    }
    expect([...owners.values()].every((each) => each.size === 1)).toBe(true);
  });

  test('a request without a certificate never uses one of another request', async () => {
    const server = await serve({
      client_authority: undefined,
      certificate: private_authority.issue({ name: 'emr', hosts: ['localhost'], use: 'server' }),
    });
    const outbound = open();
    await outbound.fetch(server.url, { ...request, identity: createIdentity('a', first) });
    const untrusted = await failure(outbound.fetch(server.url, request));
    expect(untrusted).toMatchObject({ kind: 'unreachable', sent: false, tls_problem: 'server_certificate' });
    expect(server.presented).toHaveLength(1);
  });
});

describe('a private authority', () => {
  test('is trusted by the requests that name it, and the host name is checked nevertheless', async () => {
    const server = await serve({ client_authority: undefined });
    const outbound = open();
    const identity = createIdentity('a', undefined);
    expect((await outbound.fetch(server.url, { ...request, identity })).status).toBe(200);
    const by_address = `https://127.0.0.1:${server.port}/`;
    expect(summarize(await failure(outbound.fetch(by_address, { ...request, identity })))).toMatchObject({
      kind: 'unreachable',
      sent: false,
    });
    const other = createIdentity('a', first, createAuthority('Hospital authority').certificate);
    expect(await failure(outbound.fetch(server.url, { ...request, identity: other }))).toMatchObject({
      tls_problem: 'server_certificate',
      message: expect.stringContaining('has a certificate that is not trusted'),
    });
    // Nobody was shown our certificate.
    expect(server.presented).toMatchObject([{ fingerprint: undefined }]);
  });

  test('is refused when the server’s certificate has expired', async () => {
    const expired = private_authority.issue({
      name: 'emr',
      hosts: ['localhost'],
      use: 'server',
      valid_to: new Date(Date.now() - 1000),
    });
    const server = await serve({ client_authority: undefined, certificate: expired });
    expect(await failure(open().fetch(server.url, { ...request, identity: createIdentity('a', first) }))).toMatchObject(
      {
        kind: 'unreachable',
        sent: false,
        tls_problem: 'server_certificate',
        message: expect.stringContaining('CERT_HAS_EXPIRED'),
      },
    );
    expect(server.presented).toStrictEqual([]);
  });
});

test('a key that OpenSSL no longer accepts is a failure before sending that does not quote it', async () => {
  const server = await serve();
  const identity = { ...createIdentity('a', first), private_key: 'secret words' };
  const refused = await failure(open().fetch(server.url, { ...request, identity }));
  expect(refused).toMatchObject({ kind: 'unreachable', sent: false, tls_problem: 'client_certificate' });
  expect(`${refused.message} ${String(refused.cause)}`).not.toContain('secret words');
});

test('an outbound client closes the connections of every identity', async () => {
  const server = await serve({ client_authority: undefined });
  const outbound = createOutbound({ sandbox: true, allow: [] });
  for (const owner of ['a', 'b'])
    await outbound.fetch(server.url, { ...request, identity: createIdentity(owner, first) });
  await outbound.close();
  expect(await failure(outbound.fetch(server.url, request))).toMatchObject({ sent: false });
});
