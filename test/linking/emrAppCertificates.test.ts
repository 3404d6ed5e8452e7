import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createOutbound, type OutboundRequest } from '../../src/platform/security/outbound.ts';
import { withCertificates } from '../../src/product/accounts/appCertificates.ts';
import { apiAs, newClient } from '../api/support.ts';
import { runHere } from '../cli/support.ts';
import type { Api } from '../harness/api.ts';
import { appFor } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { newFolder, startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { createAuthority, type Issued } from '../harness/servers/issuer.ts';
import { startTlsFront, type TlsFront } from '../harness/servers/tlsFront.ts';
import { startTlsReceiver } from '../harness/servers/tlsReceiver.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

const hospital = createAuthority('Hospital authority');
const clients = createAuthority('Client authority');
const [first, second] = [clients.issue({ name: 'first' }), clients.issue({ name: 'second' })];
const server_certificate = hospital.issue({ name: 'emr', hosts: ['localhost'], use: 'server' });

let fixture: TestSandbox;
let server: FhirServer;
let front: TlsFront;
let steps: LinkSteps;
let owner: TestOperator;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  front = await startTlsFront(server.url, { certificate: server_certificate, client_authority: clients.certificate });
  steps = linkSteps(fixture);
  owner = await signInOperator(fixture);
});
afterEach(async () => {
  server.reset();
  front.presented.length = 0;
  front.redirect = undefined;
  await fixture.owner`UPDATE accounts SET emr_app_id = NULL`;
  await fixture.owner`DELETE FROM emr_apps`;
});
afterAll(async () => {
  await fixture.close();
  await front.close();
  await server.close();
});

type Fields = { certificate?: string | null; certificate_key?: string | null; ca_certificates?: string | null };

const pair = ({ certificate, private_key }: Issued) => ({ certificate, certificate_key: private_key });
const trusted = { ca_certificates: hospital.certificate };
/** Each client needs a registration of its own at the EMR. */
let registrations = 0;
function register() {
  const { client_id, client_secret } = server.clients.confidential;
  registrations += 1;
  if (registrations > 1) server.register({ client_id: `${client_id}-${registrations}`, client_secret });
  return { client_id: registrations > 1 ? `${client_id}-${registrations}` : client_id, client_secret };
}

async function addApp(fields: Fields, client = '{client}', credentials = server.clients.confidential) {
  const body = appFor(front.url, { way: 'client_secret', ...credentials }, fields as Record<string, unknown>);
  return owner.post(`clients/${client}/emr-apps`, body);
}

async function attemptLink(api: Api = fixture.api, body: Record<string, unknown> = {}) {
  const token = await steps.linkToken({ emr_name: 'fhir', emr_instance_domain: front.url, ...body }, api);
  return steps.signIn(token, 0, { credentials: {}, one_time_code: undefined }, api);
}

const fingerprints = () => [...new Set(front.presented.map(({ fingerprint }) => fingerprint))];

describe('an EMR app with a certificate and a private authority', () => {
  test('links an account and reads, and presents the certificate with every request', async () => {
    expect((await addApp({ ...pair(first), ...trusted })).status).toBe(200);
    const linked = await attemptLink();
    expect(linked.status, JSON.stringify(linked.body)).toBe(200);
    const { token } = (await steps.exchange(linked.body.public_token)).body;
    const api = apiAs(fixture, { access_token: token });
    expect((await api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn: 'MB100001' } })).status).toBe(
      200,
    );
    await expect.poll(() => front.presented.some(({ url }) => url.includes('/Patient'))).toBe(true);
    expect(front.presented.some(({ url }) => url.startsWith('/auth/token'))).toBe(true);
    expect(fingerprints()).toStrictEqual([first.fingerprint]);
  });

  test('presents the new certificate after a rotation, without linking again', async () => {
    const { body } = await addApp({ ...pair(first), ...trusted });
    const linked = await attemptLink();
    const { token } = (await steps.exchange(linked.body.public_token)).body;
    const api = apiAs(fixture, { access_token: token });
    expect((await owner.patch(`clients/{client}/emr-apps/${body.id}`, pair(second))).status).toBe(200);
    front.presented.length = 0;
    await api.sync();
    expect(front.presented.length).toBeGreaterThan(10);
    expect(fingerprints()).toStrictEqual([second.fingerprint]);
  });

  test.each([
    ['no certificate', trusted, /cannot be reached/],
    [
      'a certificate that the EMR does not trust',
      { ...pair(createAuthority('Stranger').issue({ name: 'x' })), ...trusted },
      /cannot be reached/,
    ],
    ['no authority', pair(first), /cannot be reached/],
    [
      'another authority',
      { ...pair(first), ca_certificates: createAuthority('Hospital authority').certificate },
      /cannot be reached/,
    ],
  ])('links nothing with %s, because the connection fails', async (_, fields, message) => {
    expect((await addApp(fields)).status).toBe(200);
    const refused = await attemptLink();
    expect(refused).toMatchObject({ status: 503, body: { message: expect.stringMatching(message) } });
    expect(front.presented).toStrictEqual([]);
  });

  test('follows no redirect to another host, which is not shown the certificate', async () => {
    const elsewhere = await startTlsReceiver({ certificate: server_certificate });
    onTestFinished(elsewhere.close);
    await addApp({ ...pair(first), ...trusted });
    front.redirect = elsewhere.url;
    expect((await attemptLink()).status).not.toBe(200);
    expect(front.presented.length).toBeGreaterThan(0);
    expect(elsewhere.connections()).toBe(0);
  });

  test('shares neither certificate nor connections with the app of another client at the same EMR', async () => {
    const other = await newClient(fixture);
    const credentials = [register(), register()] as const;
    expect((await addApp({ ...pair(first), ...trusted }, '{client}', credentials[0])).status).toBe(200);
    expect((await addApp({ ...pair(second), ...trusted }, other.client_id, credentials[1])).status).toBe(200);
    await Promise.all([attemptLink(), attemptLink(other.api), attemptLink(), attemptLink(other.api)]);
    const by_connection = new Map<number, Set<string | undefined>>();
    for (const { connection, fingerprint } of front.presented) {
      by_connection.set(connection, (by_connection.get(connection) ?? new Set()).add(fingerprint));
    }
    expect([...by_connection.values()].every((each) => each.size === 1)).toBe(true);
    expect(new Set(fingerprints())).toStrictEqual(new Set([first.fingerprint, second.fingerprint]));
  });
});

describe('what an app presents', () => {
  const request: OutboundRequest = { method: 'GET', timeout_ms: 120_000, response_bytes_max: 1000 };
  const outbound = createOutbound({ sandbox: true, allow: [] });
  afterAll(outbound.close);
  /** Trusts the servers of the test wherever they are. */
  const base: typeof outbound = {
    ...outbound,
    fetch: (url, { identity = { owner: 'none' }, ...sent }) =>
      outbound.fetch(url, { ...sent, identity: { ...identity, ca_certificates: hospital.certificate } }),
  };
  const start = async () => {
    const receiver = await startTlsReceiver({ certificate: server_certificate });
    onTestFinished(receiver.close);
    return receiver;
  };
  const appAt = (hosts: string[], token_endpoint = 'same_host') => ({
    ...{ id: 'app', hosts, token_endpoint, authorization_endpoint: null, issuer: null, tenant_path: null },
    ...{ certificate: first.certificate, certificate_key: first.private_key, ca_certificates: null },
  });

  test('goes to the EMR’s own origin and to the token endpoint that the app allows, and nowhere else', async () => {
    const [emr, token, other] = [await start(), await start(), await start()];
    const [host, token_host] = [new URL(emr.url).host, new URL(token.url).host];
    const app = appAt([host], `https://${token_host}/oauth/token`);
    const guarded = withCertificates(base, `https://${host}/fhir`, app);
    for (const url of [
      `https://${host}/fhir/Patient`,
      `https://${token_host}/oauth/token`,
      `https://${token_host}/oauth/revoke`,
      other.url,
    ]) {
      expect((await guarded.fetch(url, request)).status).toBe(200);
    }
    const shown = [emr, token, other].map(({ presented }) => presented.map(({ fingerprint }) => fingerprint));
    expect(shown).toStrictEqual([[first.fingerprint], [first.fingerprint, first.fingerprint], [undefined]]);
  });

  test('goes nowhere if the address is not one of the app’s hosts', async () => {
    const emr = await start();
    const guarded = withCertificates(base, `https://${new URL(emr.url).host}/fhir`, appAt(['emr.example.org']));
    await guarded.fetch(emr.url, request);
    expect(emr.presented).toMatchObject([{ fingerprint: undefined }]);
  });
});

describe('the certificate of an app', () => {
  test('is shown by subject, issuer, fingerprint and expiry, and its key nowhere', async () => {
    const { body } = await addApp({ ...pair(first), ...trusted });
    const listed = await owner.get('clients/{client}/emr-apps');
    expect(listed.body.emr_apps).toMatchObject([
      {
        certificate: { subject: 'CN=first', issuer: 'CN=Client authority', fingerprint: first.fingerprint },
        authorities: [{ subject: 'CN=Hospital authority', fingerprint: hospital.fingerprint }],
      },
    ]);
    const [line = 'none'] = first.private_key.split('\n').slice(1);
    const rows = await fixture.owner<{ certificate_key_sealed: Buffer }[]>`SELECT * FROM emr_apps`;
    const records = await fixture.owner<
      { detail: unknown }[]
    >`SELECT detail FROM audit_records WHERE subject = ${body.id}`;
    expect(records).toMatchObject([{ detail: { certificate: { old: null, new: first.fingerprint } } }]);
    const sealed = rows[0]?.certificate_key_sealed.toString('latin1');
    expect([listed.body, rows, records, sealed].some((each) => JSON.stringify(each).includes(line))).toBe(false);
  });

  test.each<[string, Fields, string, RegExp]>([
    [
      'the key of another certificate',
      { ...pair(first), certificate_key: second.private_key },
      'certificate_key',
      /must be the key of/,
    ],
    [
      'an expired certificate',
      pair(clients.issue({ name: 'old', valid_to: new Date(Date.now() - 1000) })),
      'certificate',
      /expired on/,
    ],
    [
      'a certificate without a key',
      { certificate: first.certificate },
      'certificate_key',
      /must be sent with the certificate/,
    ],
    ['a key without a certificate', { certificate_key: first.private_key }, 'certificate', /must be sent with its key/],
    ['no PEM', { certificate: 'x', certificate_key: 'y' }, 'certificate', /in PEM form/],
    [
      'an authority that is none',
      { ca_certificates: first.certificate },
      'ca_certificates',
      /must be certificates of authorities/,
    ],
  ])('is not saved with %s', async (_, fields, field, message) => {
    const refused = await addApp(fields);
    expect(refused).toMatchObject({ status: 400, body: { field, message: expect.stringMatching(message) } });
    expect((await owner.get('clients/{client}/emr-apps')).body.emr_apps).toStrictEqual([]);
  });

  test('stays when other fields are changed, and is removed with null', async () => {
    const { body } = await addApp({ ...pair(first), ...trusted });
    const read = async () => (await owner.get('clients/{client}/emr-apps')).body.emr_apps[0];
    const change = (fields: object) => owner.patch(`clients/{client}/emr-apps/${body.id}`, fields);
    expect((await change({ name: 'Renamed' })).status).toBe(200);
    expect(await read()).toMatchObject({ name: 'Renamed', certificate: { subject: 'CN=first' } });
    // Also after what is stored has expired.
    const old = createAuthority('Old', { valid_to: new Date(Date.now() - 1000) });
    await fixture.owner`UPDATE emr_apps SET ca_certificates = ${old.certificate}, certificate = ${
      clients.issue({ name: 'old', valid_to: new Date(Date.now() - 1000) }).certificate
    }`;
    expect((await change({ name: 'Renamed again' })).status).toBe(200);
    expect((await change({ ca_certificates: old.certificate })).body).toMatchObject({ field: 'ca_certificates' });
    expect((await change({ ...pair(first), ...trusted })).status).toBe(200);
    expect((await change({ certificate: null })).status).toBe(200);
    expect(await read()).toMatchObject({ certificate: null, authorities: [{ subject: 'CN=Hospital authority' }] });
    expect((await change({ ca_certificates: null })).status).toBe(200);
    expect(await read()).toMatchObject({ certificate: null, authorities: [] });
    const [row] = await fixture.owner`SELECT certificate_key_sealed, certificate_expires_at FROM emr_apps`;
    expect(row).toStrictEqual({ certificate_key_sealed: null, certificate_expires_at: null });
  });

  test('is set and removed on the command line, from files', async () => {
    const { body } = await addApp({});
    const folder = await newFolder();
    const file = (name: string) => join(folder, name);
    await writeFile(file('client.pem'), first.certificate);
    await writeFile(file('client.key'), first.private_key);
    await writeFile(file('ca.pem'), hospital.certificate);
    const run = async (...args: string[]) => {
      const app = ['--client', fixture.sandbox.client_id, '--app', body.id];
      const { code, stderr, stdout } = await runHere(['emr-apps', 'change', ...app, ...args], fixture.env);
      return { code, text: stderr + stdout };
    };
    const list = async () => {
      const args = ['emr-apps', 'list', '--client', fixture.sandbox.client_id, '--json'];
      return JSON.parse((await runHere(args, fixture.env)).stdout).emr_apps[0];
    };
    const files = ['--certificate-file', file('client.pem'), '--certificate-key-file', file('client.key')];
    expect(await run(...files, '--ca-file', file('ca.pem'))).toMatchObject({ code: 0 });
    expect(await list()).toMatchObject({
      certificate: { fingerprint: first.fingerprint },
      authorities: [{ fingerprint: hospital.fingerprint }],
    });
    const missing = await run('--ca-file', file('missing.pem'));
    expect(missing).toMatchObject({ code: 1, text: expect.stringContaining('--ca-file: cannot read the file') });
    const mixed = await run('--certificate-file', file('client.pem'), '--certificate-key-file', file('ca.pem'));
    expect(mixed).toMatchObject({ code: 1, text: expect.stringContaining('must be a private key in PEM form') });
    expect(mixed.text).not.toContain((await readFile(file('ca.pem'), 'utf8')).split('\n')[1]);
    expect(await run('--no-certificate-file', '--no-ca-file')).toMatchObject({ code: 0 });
    expect(await list()).toMatchObject({ certificate: null, authorities: [] });
  });
});
