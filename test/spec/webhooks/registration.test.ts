import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { event_types } from '../../../src/model/events.ts';
import { expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
/** A client without webhooks. */
let client: OtherClient;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
beforeEach(async () => {
  client = await newClient(fixture);
});

const headers = { access_token: null };
const register = (body: Record<string, unknown>) => client.api.call('POST', '/v1/webhook', { body, headers });
const list = async () => (await client.api.call('GET', '/v1/webhook', { headers })).body;
const rotate = (id?: string) =>
  client.api.call('POST', id === undefined ? '/v1/webhook/rotate-secret' : `/v1/webhook/${id}/rotate-secret`, {
    headers,
  });
const remove = (id: string) => client.api.call('DELETE', `/v1/webhook/${id}`, { headers });

/** `whsec_` and 32 bytes in base64. */
const secret_form = /^whsec_[A-Za-z0-9+/]{43}=$/;

/** The other settings of an endpoint, as they are at first. */
const unfiltered = { org_ids: null, paused: false, sync_events: false };

describe('POST /v1/webhook', () => {
  test('returns the endpoint and its secret, under both names', async () => {
    const { status, body } = await register({ webhook_url: 'https://example.org/hook' });
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      message: expect.any(String),
      webhook_id: expect.stringMatching(/^wh_/),
      webhook_url: 'https://example.org/hook',
      webhook_secret: expect.stringMatching(secret_form),
      webhook_secret_key: body.webhook_secret,
    });
    expect(Buffer.from(body.webhook_secret.slice(6), 'base64')).toHaveLength(32);
  });

  test('accepts known event types only', async () => {
    const body = { webhook_url: 'https://example.org/hook', event_types: ['login_required', 'sync.completed'] };
    expect((await register(body)).status).toBe(200);
    expect((await list()).webhook_urls[0].event_types).toStrictEqual(body.event_types);
    expect((await register({ ...body, event_types: [...event_types] })).status).toBe(200);
    const response = await register({ ...body, event_types: ['sync.completed', 'sync.complete'] });
    expectApiError(response, 400, `event_types[1] must be one of: ${event_types.join(', ')}`, 'event_types[1]');
    // As if it was not sent.
    expect((await register({ ...body, event_types: null })).status).toBe(200);
  });

  test.each([
    ['http://example.org/hook', 'must use https.'],
    ['ftp://example.org/hook', 'must use https.'],
    ['https://10.0.0.1/hook', 'points to a private or local address.'],
    ['http://10.0.0.1/hook', 'must use https.'],
    ['https://172.16.0.1/', 'points to a private or local address.'],
    ['https://169.254.169.254/latest/meta-data', 'points to a private or local address.'],
    ['https://[::ffff:127.0.0.1]/', 'points to a private or local address.'],
    ['https://[fd00::1]/', 'points to a private or local address.'],
    ['https://3232235777/', 'points to a private or local address.'],
    ['https://0300.0250.1.1/', 'points to a private or local address.'],
    ['https://user:pass@example.org/', 'must not contain a user name or password.'],
    ['https://example.org/#x', 'must not have a fragment (#).'],
    ['example.org/hook', 'must be a full address, such as https://example.org/path.'],
    ['https://exa mple.org', 'must be a full address, such as https://example.org/path.'],
  ])('rejects %s', async (webhook_url, rule) => {
    expectApiError(await register({ webhook_url }), 400, `webhook_url ${rule}`, 'webhook_url');
    expect((await list()).webhook_urls).toStrictEqual([]);
  });

  test.each([
    'http://127.0.0.1:9/hook',
    'http://localhost:9/hook',
    'http://[::1]:9/',
    'https://example.org:8443/a?b=c',
  ])('accepts %s in the sandbox', async (webhook_url) => {
    expect((await register({ webhook_url })).body.webhook_url).toBe(webhook_url);
  });

  test('keeps the endpoint, secret and event types of a registered URL, and enables it', async () => {
    const webhook_url = 'https://example.org/hook';
    const first = await register({ webhook_url, event_types: ['sync.failed'] });
    await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${first.body.webhook_id}`;
    const again = await register({ webhook_url });
    expect(again.body).toStrictEqual(first.body);
    expect((await list()).webhook_urls).toStrictEqual([
      { id: first.body.webhook_id, url: webhook_url, status: 'enabled', event_types: ['sync.failed'], ...unfiltered },
    ]);
  });

  test('registers a URL once for concurrent requests', async () => {
    // Opens the connections first; otherwise the first transaction ends before the second starts.
    await Promise.all(Array.from({ length: 20 }, list));
    for (let round = 0; round < 5; round += 1) {
      const body = { webhook_url: `https://example.org/at-once/${round}` };
      const responses = await Promise.all(Array.from({ length: 8 }, () => register(body)));
      expect(responses.map((response) => response.status)).toStrictEqual(Array(8).fill(200));
      expect(new Set(responses.map((response) => response.body.webhook_secret)).size).toBe(1);
      expect((await list()).webhook_urls).toHaveLength(round + 1);
    }
  });
});

describe('GET /v1/webhook', () => {
  test('returns the URL and secret of the oldest enabled endpoint, and lists all of them, oldest first', async () => {
    const first = (await register({ webhook_url: 'https://example.org/1' })).body;
    const second = (await register({ webhook_url: 'https://example.org/2', event_types: ['login_required'] })).body;
    const urls = (status: string) => [
      { id: first.webhook_id, url: 'https://example.org/1', status, event_types: null, ...unfiltered },
      {
        id: second.webhook_id,
        url: 'https://example.org/2',
        status: 'enabled',
        event_types: ['login_required'],
        ...unfiltered,
      },
    ];
    expect(await list()).toStrictEqual({
      success: true,
      webhook_url: 'https://example.org/1',
      webhook_urls: urls('enabled'),
      webhook_secret_key: first.webhook_secret,
    });
    await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${first.webhook_id}`;
    expect(await list()).toStrictEqual({
      success: true,
      webhook_url: 'https://example.org/2',
      webhook_urls: urls('disabled'),
      webhook_secret_key: second.webhook_secret,
    });
  });
});

describe('secret rotation', () => {
  test('replaces the secret of the named or the oldest enabled endpoint; the old secret stays valid for 24 hours', async () => {
    const first = (await register({ webhook_url: 'https://example.org/1' })).body;
    const second = (await register({ webhook_url: 'https://example.org/2' })).body;
    const oldest = await rotate();
    expect(oldest.status).toBe(200);
    expect(oldest.body).toStrictEqual({
      success: true,
      message: expect.stringContaining('24 hours'),
      webhook_id: first.webhook_id,
      webhook_url: 'https://example.org/1',
      webhook_secret: expect.stringMatching(secret_form),
      webhook_secret_key: oldest.body.webhook_secret,
    });
    expect(oldest.body.webhook_secret).not.toBe(first.webhook_secret);
    expect((await list()).webhook_secret_key).toBe(oldest.body.webhook_secret);
    const named = await rotate(second.webhook_id);
    expect(named.body).toMatchObject({ webhook_id: second.webhook_id, webhook_url: 'https://example.org/2' });
    expect(named.body.webhook_secret).not.toBe(second.webhook_secret);
    const [row] = await fixture.owner`
      SELECT count(*) AS n, max(extract(epoch FROM expires_at - now()))::float8 / 3600 AS hours FROM webhook_secrets
       WHERE endpoint_id = ${first.webhook_id}`;
    expect(row?.n).toBe(2);
    expect(row?.hours).toBeCloseTo(24, 1);
  });

  test('returns 404 for an unknown endpoint, and without any endpoints', async () => {
    expectApiError(await rotate('wh_nobody'), 404, "Webhook with ID 'wh_nobody' not found.");
    const none = await rotate();
    expect(none.status).toBe(404);
    expect(none.body.code).toBe('record_not_found');
  });
});

describe('DELETE /v1/webhook/{id}', () => {
  test('removes the endpoint; a second request returns 404', async () => {
    const { webhook_id } = (await register({ webhook_url: 'https://example.org/hook' })).body;
    const response = await remove(webhook_id);
    expect(response.body).toStrictEqual({ success: true, message: expect.any(String), webhook_id });
    expect((await list()).webhook_urls).toStrictEqual([]);
    expectApiError(await remove(webhook_id), 404, `Webhook with ID '${webhook_id}' not found.`);
  });

  test("returns 404 for another client's endpoint and keeps it", async () => {
    const theirs = (
      await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: 'https://example.org/theirs' }, headers })
    ).body.webhook_id;
    for (const response of [await remove(theirs), await rotate(theirs)]) {
      expectApiError(response, 404, `Webhook with ID '${theirs}' not found.`);
    }
    const stored = await fixture.owner`SELECT FROM webhook_secrets WHERE endpoint_id = ${theirs}`;
    expect(stored).toHaveLength(1);
  });
});
