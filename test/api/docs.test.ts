import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { startService } from '../../src/main.ts';
import { examples } from '../../src/model/examples.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { isOwnPage } from '../../src/surfaces/docs/layout.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { sendWrite } from '../spec/support/writeRequests.ts';

describe('the sandbox’s credentials', () => {
  const page = { host: '127.0.0.1:4000', 'sec-fetch-site': 'same-origin' };

  test.each([
    ['the page on this machine', '127.0.0.1', page],
    ['the page by its host name', '127.0.0.1', { ...page, host: 'localhost:4000' }],
    ['the page over IPv6', '::1', { ...page, host: '[::1]:4000' }],
    ['an IPv4 peer on an IPv6 socket', '::ffff:127.0.0.1', page],
    ['a request with an Origin header', '127.0.0.1', { ...page, origin: 'http://127.0.0.1:4000' }],
  ])('are sent to %s', (_who, peer, headers) => {
    expect(isOwnPage(peer, headers)).toBe(true);
  });

  test.each([
    ['another machine', '192.168.1.20', page],
    ['another machine over IPv6', '2001:db8::1', page],
    ['an unknown peer', undefined, page],
    ['a rebound DNS name', '127.0.0.1', { ...page, host: 'rebound.example.org:4000' }],
    ['a host name that starts with the address', '127.0.0.1', { ...page, host: '127.0.0.1.example.org' }],
    ['a request without a host', '127.0.0.1', { 'sec-fetch-site': 'same-origin' }],
    ['a script of another site', '127.0.0.1', { ...page, 'sec-fetch-site': 'cross-site' }],
    ['a script of another port', '127.0.0.1', { ...page, 'sec-fetch-site': 'same-site' }],
    ['another origin', '127.0.0.1', { ...page, origin: 'https://elsewhere.example.org' }],
    ['an opaque origin', '127.0.0.1', { ...page, origin: 'null' }],
    ['a top-level navigation', '127.0.0.1', { ...page, 'sec-fetch-site': 'none' }],
    ['a client that is not a browser', '127.0.0.1', { host: '127.0.0.1:4000' }],
    ['a proxy’s client', '127.0.0.1', { ...page, 'x-forwarded-for': '203.0.113.9' }],
    ['a standard proxy’s client', '127.0.0.1', { ...page, forwarded: 'for=203.0.113.9' }],
  ])('are not sent to %s', (_who, peer, headers) => {
    expect(isOwnPage(peer, headers)).toBe(false);
  });
});

describe('/docs/sandbox.json', () => {
  let fixture: TestSandbox;
  beforeAll(async () => {
    fixture = await startSandbox({ small: true });
  });
  afterAll(() => fixture.close());

  test('returns the values for the forms, uncached', async () => {
    const { status, headers, body } = await get(fixture.sandbox.base_url, { 'sec-fetch-site': 'same-origin' });
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    expect(headers['access-control-allow-origin']).toBeUndefined();
    const { client_id, client_secret, access_token } = fixture.sandbox;
    expect(body).toMatchObject({
      client_id,
      client_secret,
      access_token,
      one_time_code: expect.stringMatching(/^\d{6}$/),
    });
    expect(body.appointment_id).toMatch(/^[0-9a-f]{32}$/);
    // Every ID in the samples is one that exists.
    const listed = await fixture.api.call('GET', '/v1/patients?mrn=LK100001');
    const found_in = body.found as Record<string, string>;
    expect(listed.body.patients[0].id).toBe(found_in['GET /v1/patients?mrn=LK100001#/patients/0/id']);
    const sources = endpoints.flatMap((each) => Object.values(each.found_in ?? {}));
    for (const source of Object.keys(found_in)) expect(sources).toContain(source);
    expect(JSON.stringify(body)).not.toContain(fixture.sandbox.larkspur.control_token);
    expect(JSON.stringify(body)).not.toContain(fixture.sandbox.dashboard.password);
  });

  test('includes a job that can be retrieved, even if the latest event has none', async () => {
    await sendDocument(fixture);
    await until('the document’s event', async () => {
      const { body } = await fixture.api.call('GET', '/v1/webhook-events');
      return body.webhook_events[0]?.type === 'document.uploaded';
    });
    const { body } = await get(fixture.sandbox.base_url, { 'sec-fetch-site': 'same-origin' });
    expect((await fixture.api.call('GET', `/v1/jobs/${body.job_id}`)).body.type).toBe('document.upload');
    const listed = await fixture.api.call('GET', `/v1/webhook-events?job_id=${body.job_id}`);
    expect(listed.body.webhook_events).toHaveLength(1);
  });

  test('rejects all other callers without revealing values', async () => {
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin', host: 'x.example.org' },
    ]) {
      const { status, body } = await get(fixture.sandbox.base_url, headers);
      expect([status, body.code]).toStrictEqual([403, 'sandbox_values_refused']);
      expect(JSON.stringify(body)).not.toContain(fixture.sandbox.client_secret);
    }
  });

  test('does not exist outside sandbox mode, and the page does not request it', async () => {
    const MASTER_KEY = (await readFile(join(fixture.env.DATA_DIR ?? '', 'master.key'), 'utf8')).trim();
    const config = loadConfig({ ...fixture.env, SANDBOX: 'off', MASTER_KEY });
    const service = await startService(config, { role: 'api', print: () => {} });
    try {
      const { status, body } = await get(service.base_url, { 'sec-fetch-site': 'same-origin' });
      expect([status, body.code]).toStrictEqual([404, 'route_not_found']);
      for (const path of ['/docs', '/docs/reference', '/docs/reference/link', '/docs/search.json', '/']) {
        const page = await fetch(service.base_url + path);
        expect(page.status, path).toBe(200);
        expect((await page.text()).match(/data-sandbox|"\/sandbox|#sandbox\./g), path).toBeNull();
      }
    } finally {
      await service.close();
    }
  });

  // Without uploads, which the browser tests cover, and without sync, which has no fields.
  const writes = endpoints.filter((each) => each.events && each.file_field === undefined && each.id !== 'sync.create');
  test.each(writes.map((each) => [each.id, each] as const))(
    '%s succeeds with the example request',
    async (_id, endpoint) => {
      const accepted = await sendWrite(fixture, endpoint);
      expect([accepted.status, accepted.body.message]).toStrictEqual([
        endpoint.accepted_status ?? 200,
        expect.any(String),
      ]);
      const event = await fixture.api.untilEvent(accepted.body.job_id);
      expect(endpoint.events, JSON.stringify(event.data)).toContain(event.type);
      expect(event.type, JSON.stringify(event.data)).not.toMatch(/failed$/);
    },
  );

  test('examples refer to records of the sandbox', () => {
    for (const [name, value] of Object.entries(fixture.sandbox.example))
      expect([name, examples[name]?.[0]]).toStrictEqual([name, value]);
  });
});

/** Uses node:http, because fetch does not allow setting Host or Sec-Fetch-Site. */
function get(base_url: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Record<string, unknown> }>(
    (resolve, reject) => {
      const sent = request(`${base_url}/docs/sandbox.json`, { headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) }),
        );
      });
      sent.on('error', reject).end();
    },
  );
}
