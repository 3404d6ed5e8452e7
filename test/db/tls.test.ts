import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type DatabaseAddress, parseAddress } from '../../sql/address.ts';
import { connect } from '../../sql/connect.ts';
import { StartFailure } from '../../src/catalog/errors.ts';
import { databaseFailure } from '../../src/platform/db/migrate.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { test_authority } from '../harness/servers/certificates.ts';
import { startTlsProxy, type TlsProxy } from './tlsProxy.ts';

const parseSsl = (url: string) => parseAddress(url).ssl;

test.each([
  ['postgres://u:p@db.example.org/d', 'verify'],
  ['postgres://u:p@10.0.0.5/d', 'verify'],
  ['postgres://u:p@[fd00::5]/d', 'verify'],
  ['postgres://u:p@127.evil.example/d', 'verify'],
  ['postgres://u:p@db/d?sslmode=require', 'verify'],
  ['postgres://u:p@db/d?sslmode=verify-ca', 'verify'],
  ['postgres://u:p@db/d?sslmode=verify-full', 'verify'],
  ['postgres://u:p@localhost/d?sslmode=require', 'verify'],
  ['postgres://u:p@db/d?sslmode=disable', false],
  ['postgres://u:p@localhost/d', false],
  ['postgres://u:p@127.0.0.1/d', false],
  ['postgres://u:p@[::1]/d', false],
  ['postgres://u:p@localhost/d?host=/var/run/postgresql', false],
  ['postgres:///d', false],
])('%s: TLS is %s', (url, ssl) => {
  expect(parseSsl(url)).toBe(ssl);
});

test.each(['prefer', 'allow', 'yes', 'constructor'])(
  'sslmode=%s is rejected, because it could mean plain text',
  (mode) => {
    const url = `postgres://u:p@db.example.org/d?sslmode=${mode}`;
    const sentence = 'DATABASE_URL must have an sslmode of disable, require, verify-ca or verify-full.';
    expect(() => parseDatabaseUrl('DATABASE_URL', url)).toThrow(new StartFailure(sentence));
  },
);

let folder: string;
let authority: string;
let proxy: TlsProxy;
beforeAll(async () => {
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'tls-'));
  authority = join(folder, 'authority.pem');
  await writeFile(authority, test_authority);
  const { host, port } = inject('postgres');
  proxy = await startTlsProxy(join(host, `.s.PGSQL.${port}`));
});
afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true });
});

/** The row of a query, or the sentence that the operator sees. */
async function tryConnecting(host: string, port: number, query: string): Promise<unknown> {
  const { user, password } = inject('postgres');
  const address: DatabaseAddress = parseAddress(`postgres://${user}:${password}@${host}:${port}/postgres?${query}`);
  const sql = connect(address, { max: 1 });
  try {
    return (await sql`SELECT 1 AS one`)[0];
  } catch (error) {
    return databaseFailure('DATABASE_URL', address, error).message;
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}

test('connects with TLS if the certificate is of a known authority and names the host', async () => {
  for (const host of ['localhost', '127.0.0.1']) {
    const row = await tryConnecting(host, proxy.port, `sslmode=require&sslrootcert=${authority}`);
    expect(row, host).toEqual({ one: 1 });
  }
});

test.each([
  ['an unknown authority', '127.0.0.1', 'sslmode=require', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['another host in the certificate', '127.0.0.2', 'sslmode=require&sslrootcert=', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])('does not connect with %s, and says so', async (_name, host, query, code) => {
  const message = await tryConnecting(host, proxy.port, query.replace(/sslrootcert=$/, `sslrootcert=${authority}`));
  expect(message).toBe(
    `DATABASE_URL cannot be used: the certificate of ${host}:${proxy.port} cannot be verified (${code}). Connect using the name in its certificate, and name its CA file with sslrootcert=/path.`,
  );
});

test('does not fall back to plain text if the server offers no TLS', async () => {
  const plain = await startTlsProxy('', { offers_tls: false });
  const message = await tryConnecting('127.0.0.1', plain.port, 'sslmode=require');
  await plain.close();
  expect(message).toContain(`127.0.0.1:${plain.port} does not offer TLS. Turn TLS on there, or add sslmode=disable`);
});
