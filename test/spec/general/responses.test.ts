import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

type Sent = { method?: string; headers?: Record<string, string>; body?: string };
type Received = { status: number; headers: Headers; bytes: Buffer };

/** `fetch` decompresses by itself, and adds headers to conditional requests. */
async function send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Received> {
  const { client_id, client_secret, access_token, base_url } = fixture.sandbox;
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const sent = request(
      `${base_url}${path}`,
      { method, headers: { client_id, client_secret, access_token, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const received = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            `${value}`,
          ]);
          resolve({ status: response.statusCode ?? 0, headers: new Headers(received), bytes: Buffer.concat(chunks) });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const list = '/v1/patients?page_size=20';

test(row('RSP-01'), async () => {
  const plain = await send(list);
  expect(plain.headers.has('content-encoding')).toBe(false);
  expect(plain.bytes.length).toBeGreaterThan(1024);
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
    ['zstd', null],
  ] as const) {
    const { headers, bytes } = await send(list, { headers: { 'accept-encoding': accepted } });
    expect(headers.get('content-encoding'), accepted).toBe(encoding);
    expect(headers.get('content-length'), accepted).toBe(`${bytes.length}`);
    const text = encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes;
    expect(text.equals(plain.bytes), accepted).toBe(true);
    if (encoding) expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
  }
  const small = await send('/v1/patients?mrn=NOBODY', { headers: { 'accept-encoding': 'br' } });
  expect(small.bytes.length).toBeLessThan(1024);
  expect(small.headers.has('content-encoding')).toBe(false);
  const search = await send('/v1/patients/search', {
    method: 'POST',
    headers: { 'accept-encoding': 'gzip', 'content-type': 'application/json' },
    body: JSON.stringify({ page_size: 20 }),
  });
  expect(gunzipSync(search.bytes).equals(plain.bytes)).toBe(true);
});

test(row('RSP-02'), async () => {
  const [patient] = JSON.parse((await send(list)).bytes.toString()).patients;
  for (const path of [list, `/v1/patients/${patient.id}`, '/v1/providers', '/v1/settings', '/v1/jobs']) {
    const first = await send(path);
    const etag = first.headers.get('etag') ?? '';
    expect(etag, path).toMatch(/^W\/"[\w-]{20,}"$/);
    expect((await send(path, { headers: { 'accept-encoding': 'br' } })).headers.get('etag'), path).toBe(etag);
    for (const sent of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
      const again = await send(path, { headers: { 'if-none-match': sent, 'accept-encoding': 'br' } });
      expect([again.status, again.bytes.length, again.headers.get('etag')], path).toStrictEqual([304, 0, etag]);
      expect(again.headers.has('content-encoding')).toBe(false);
    }
    expect((await send(path, { headers: { 'if-none-match': 'W/"other"' } })).status).toBe(200);
    const head = await send(path, { method: 'HEAD', headers: { 'if-none-match': etag } });
    expect([head.status, head.bytes.length]).toStrictEqual([304, 0]);
  }
  const before = (await send('/v1/jobs')).headers.get('etag') ?? '';
  await fixture.api.callIn({});
  expect((await send('/v1/jobs', { headers: { 'if-none-match': before } })).status).toBe(200);
});

test(row('RSP-03'), async () => {
  const access_token = await fixture.api.link({ user_id: 'etags', staff: 2 });
  const first = await send('/v1/providers');
  const other = await send('/v1/providers', { headers: { access_token } });
  expect(other.bytes.equals(first.bytes)).toBe(true);
  const etag = first.headers.get('etag') ?? '';
  expect(other.headers.get('etag')).not.toBe(etag);
  const conditional = await send('/v1/providers', { headers: { access_token, 'if-none-match': etag } });
  expect(conditional.status).toBe(200);
});

test(row('RSP-04'), async () => {
  for (const path of [list, '/v1/providers', '/link/emrs']) {
    const { headers } = await send(path);
    expect(headers.get('cache-control')).toBe('private, no-cache');
    const varies = (headers.get('vary') ?? '').split(', ');
    for (const name of ['accept-encoding', 'access_token', 'access-token']) expect(varies).toContain(name);
  }
  const json = { 'content-type': 'application/json' };
  for (const [path, sent, status] of [
    ['/v1/patients?page=0', {}, 400],
    ['/v1/jobs/999999', { headers: { 'if-none-match': '*' } }, 404],
    ['/v1/sync', { method: 'POST', headers: json, body: '{}' }, 200],
  ] as const) {
    const response = await send(path, sent);
    expect([response.status, response.headers.get('cache-control')], path).toStrictEqual([status, 'no-store']);
    expect(response.headers.has('etag'), path).toBe(false);
  }
});

test(row('RSP-05'), async () => {
  // Long enough to be compressed.
  for (let n = 0; n < 8; n++) {
    const webhook_url = `http://127.0.0.1:9/${n}/${'x'.repeat(200)}`;
    await fixture.api.call('POST', '/v1/webhook', { headers: { access_token: null }, body: { webhook_url } });
  }
  const response = await send('/v1/webhook', { headers: { 'accept-encoding': 'br', 'if-none-match': '*' } });
  expect(response.status).toBe(200);
  expect(response.bytes.length).toBeGreaterThan(1024);
  expect(response.headers.get('cache-control')).toBe('no-store');
  for (const name of ['content-encoding', 'etag']) expect(response.headers.has(name)).toBe(false);
  // A read that returns one says so.
  const secret_fields = /"(token|access_token|public_token|link_token|\w*secret(_key)?)":\{(?!"type":"boolean")/;
  const reads = endpoints.filter((each) => each.method === 'GET' && !each.stream);
  const undeclared = reads.filter((each) => secret_fields.test(JSON.stringify(each.response)) && !each.returns_secret);
  expect(undeclared.map(({ id }) => id)).toStrictEqual([]);
  expect(reads.filter((each) => each.returns_secret).map(({ id }) => id)).toStrictEqual([
    'link.token.exchange',
    'webhook.list',
  ]);
});

test(row('RSP-06'), async () => {
  const first = await send(list);
  const again = await send(list, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
  const read = async ({ headers }: Received) => {
    const [record] = await fixture.owner<{ action: string; outcome: string; patients: string[] }[]>`
      SELECT action, outcome, patients::text[] AS patients FROM audit_records
       WHERE request_id = ${headers.get('x-request-id') ?? ''}`;
    return record;
  };
  const [full, unchanged] = [await read(first), await read(again)];
  expect(unchanged).toStrictEqual({ ...full, outcome: '304' });
  expect(unchanged?.patients).toHaveLength(20);
});
