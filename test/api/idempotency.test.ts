import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { holdKey } from './holdKey.ts';
import { apiAs, expectApiError, newClient } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
  // Opens the database connections: otherwise the first of many concurrent requests ends before the second starts.
  await Promise.all(Array.from({ length: 20 }, () => fixture.api.call('GET', '/v1/webhook')));
});

const keyed = (key: string) => ({ 'idempotency-key': key });
const sync = (key: string, headers: Record<string, string | null> = {}) =>
  fixture.api.call('POST', '/v1/sync', { body: {}, headers: { ...keyed(key), ...headers } });
const jobs = async () => Number((await fixture.owner`SELECT count(*) AS n FROM jobs`)[0]?.n);
const age = (hours: number) =>
  fixture.owner`UPDATE idempotency_keys SET created_at = created_at - make_interval(hours => ${hours})`;

describe('the same key with the same request', () => {
  test('replays the response and queues one job', async () => {
    const key = randomUUID();
    const before = await jobs();
    const first = await fixture.api.callIn({ reason: 'Once' }, keyed(key));
    expect([first.status, first.headers.get('idempotency-replayed')]).toStrictEqual([200, null]);
    for (let n = 0; n < 3; n += 1) {
      const replay = await fixture.api.callIn({ reason: 'Once' }, keyed(key));
      expect(replay.status).toBe(200);
      expect(replay.body).toStrictEqual(first.body);
      expect(replay.headers.get('idempotency-replayed')).toBe('true');
    }
    expect(await jobs()).toBe(before + 1);
    await fixture.api.untilEvent(first.body.job_id);
    expect((await fixture.api.callIn({ reason: 'Once' }, keyed(key))).body).toStrictEqual(first.body);
    const marked = (await fixture.api.ledger()).filter((entry) =>
      entry.marker.startsWith(first.body.telephone_encounter_id),
    );
    expect(marked).toHaveLength(1);
  });

  test('replays the response even if a referenced record is gone', async () => {
    const key = randomUUID();
    const first = await fixture.api.callIn({}, keyed(key));
    await fixture.owner`UPDATE providers SET ehr_id = 'gone' WHERE ehr_id = ${fixture.sandbox.example.provider_id}`;
    try {
      expect((await fixture.api.callIn()).status).toBe(404);
      const replay = await fixture.api.callIn({}, keyed(key));
      expect([replay.status, replay.body]).toStrictEqual([200, first.body]);
    } finally {
      await fixture.owner`UPDATE providers SET ehr_id = ${fixture.sandbox.example.provider_id} WHERE ehr_id = 'gone'`;
    }
  });

  test('a request sent 30 times concurrently with the same key queues one job and returns 30 equal responses', async () => {
    const key = randomUUID();
    const before = await jobs();
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => fixture.api.callIn({ reason: 'At once' }, keyed(key))),
    );
    expect(responses.map(({ status }) => status)).toStrictEqual(Array(30).fill(200));
    expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(responses.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
    expect(await jobs()).toBe(before + 1);
  });

  test('a registration sent 30 times concurrently with the same key registers one webhook', async () => {
    const key = randomUUID();
    const body = { webhook_url: `http://127.0.0.1:9/${key}` };
    const post = () => fixture.api.call('POST', '/v1/webhook', { body, headers: keyed(key) });
    const responses = await Promise.all(Array.from({ length: 30 }, post));
    expect(responses.map(({ status }) => status)).toStrictEqual(Array(30).fill(200));
    expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const rows = await fixture.owner`SELECT id FROM webhook_endpoints WHERE url = ${body.webhook_url}`;
    expect(rows).toHaveLength(1);
  });

  test('a sync requested twice with the same key runs once', async () => {
    const key = randomUUID();
    const first = await sync(key);
    const replay = await sync(key);
    expect(replay.body).toStrictEqual(first.body);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
  });

  test('returns the same secret, which is stored encrypted', async () => {
    const no_token = { access_token: null };
    const link = { body: { user_id: 'keyed', org_id: fixture.sandbox.org_id } };
    const hook = { body: { webhook_url: 'http://127.0.0.1:9/keyed' } };
    const rotation = { body: {} };
    for (const [path, sent, readSecret] of [
      ['/link/token/create', link, (body: Record<string, string>) => body.token],
      ['/v1/webhook', hook, (body: Record<string, string>) => body.webhook_secret],
      ['/v1/webhook/rotate-secret', rotation, (body: Record<string, string>) => body.webhook_secret],
    ] as const) {
      const headers = { ...no_token, ...keyed(randomUUID()) };
      const first = await fixture.api.call('POST', path, { ...sent, headers });
      const replay = await fixture.api.call('POST', path, { ...sent, headers });
      expect(first.status).toBe(200);
      expect(replay.body).toStrictEqual(first.body);
      expect(replay.headers.get('idempotency-replayed')).toBe('true');
      const secret = readSecret(first.body) ?? '';
      expect(secret.length).toBeGreaterThan(30);
      const [row] = await fixture.owner<{ response_sealed: Buffer }[]>`
        SELECT response_sealed FROM idempotency_keys WHERE response_sealed IS NOT NULL ORDER BY created_at DESC LIMIT 1`;
      expect(row?.response_sealed.includes(secret)).toBe(false);
      expect(row?.response_sealed.includes('success')).toBe(false);
    }
  });
});

describe('the same key with a different request', () => {
  test('is rejected with 422 if a field, the endpoint or the path differs', async () => {
    const message = 'This Idempotency-Key was already used with a different request. Use a new key for each request.';
    const key = randomUUID();
    expect((await fixture.api.callIn({ reason: 'One' }, keyed(key))).status).toBe(200);
    expectApiError(await fixture.api.callIn({ reason: 'Two' }, keyed(key)), 422, message);
    expectApiError(await fixture.api.callIn({}, keyed(key)), 422, message);
    expectApiError(await sync(key), 422, message);
    const hook = { body: { webhook_url: 'http://127.0.0.1:9/other' }, headers: keyed(key) };
    expectApiError(await fixture.api.call('POST', '/v1/webhook', hook), 422, message);
    const rotation = { body: {}, headers: keyed(randomUUID()) };
    expect((await fixture.api.call('POST', '/v1/webhook', { ...hook, headers: {} })).status).toBe(200);
    const [oldest] = (await fixture.api.call('GET', '/v1/webhook')).body.webhook_urls;
    const newest = (await fixture.api.call('GET', '/v1/webhook')).body.webhook_urls.at(-1);
    expect((await fixture.api.call('POST', `/v1/webhook/${newest.id}/rotate-secret`, rotation)).status).toBe(200);
    expectApiError(await fixture.api.call('POST', `/v1/webhook/${oldest.id}x/rotate-secret`, rotation), 422, message);
  });
});

describe('a key', () => {
  const rule = 'Send one Idempotency-Key of 1 to 255 printable characters.';

  test.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['beyond ASCII', 'schlüssel'],
    ['with a tab', 'a\tb'],
  ])('%s is rejected with 400', async (_case, key) => {
    for (const path of ['/v1/sync', '/v1/webhook/rotate-secret']) {
      expectApiError(await fixture.api.call('POST', path, { body: {}, headers: keyed(key) }), 400, rule);
    }
  });

  test.each([
    ['of one character', '~'],
    ['of 255 characters', 'k'.repeat(255)],
    ['with spaces and punctuation', `a b "${randomUUID()}" !#%`],
  ])('%s is accepted', async (_case, key) => {
    expect((await sync(key)).status).toBe(200);
  });

  test('a key that a proxy has repeated is one key; two different ones are rejected', async () => {
    const { base_url, client_id, client_secret, access_token } = fixture.sandbox;
    const send = (keys: string[]) =>
      new Promise<{ status: number | undefined; replayed: unknown }>((resolve, reject) => {
        const headers = { client_id, client_secret, access_token, 'idempotency-key': keys };
        const sent = request(new URL('/v1/sync', base_url), { method: 'POST', headers }, (response) => {
          response.resume();
          resolve({ status: response.statusCode, replayed: response.headers['idempotency-replayed'] });
        });
        sent.once('error', reject);
        sent.end();
      });
    const key = randomUUID();
    expect(await send([key, key])).toStrictEqual({ status: 200, replayed: undefined });
    expect(await send([key])).toStrictEqual({ status: 200, replayed: 'true' });
    expect(await send([key, randomUUID()])).toStrictEqual({ status: 400, replayed: undefined });
    expect(await send([`${key}, ${key}`])).toStrictEqual({ status: 200, replayed: undefined });
  });

  test('is scoped to the access token: two accounts can use the same key', async () => {
    const key = randomUUID();
    const colleague = apiAs(fixture, {
      access_token: await fixture.api.link({ user_id: 'colleague-with-equal-key', staff: 4 }),
    });
    const own = await fixture.api.callIn({}, keyed(key));
    const other = await colleague.callIn({ reason: 'Mine' }, keyed(key));
    expect([own.status, other.status]).toStrictEqual([200, 200]);
    expect(other.headers.get('idempotency-replayed')).toBeNull();
    expect(other.body.job_id).not.toBe(own.body.job_id);
  });

  test('is scoped to the client if no access token is sent', async () => {
    const key = randomUUID();
    const other = await newClient(fixture);
    const registered = await Promise.all(
      [fixture.api, other.api].map((api) =>
        api.call('POST', '/v1/webhook', {
          body: { webhook_url: 'http://127.0.0.1:9/same' },
          headers: { ...keyed(key), access_token: null },
        }),
      ),
    );
    expect(registered.map(({ status }) => status)).toStrictEqual([200, 200]);
    expect(registered[0]?.body.webhook_secret).not.toBe(registered[1]?.body.webhook_secret);
  });

  test('can be used again after a rejected request', async () => {
    const key = randomUUID();
    expect((await fixture.api.callIn({ provider_id: 'nobody' }, keyed(key))).status).toBe(404);
    expect((await fixture.api.callIn({ reason: 'x'.repeat(51) }, keyed(key))).status).toBe(400);
    const accepted = await fixture.api.callIn({}, keyed(key));
    expect([accepted.status, accepted.headers.get('idempotency-replayed')]).toStrictEqual([200, null]);
    const hook = randomUUID();
    const post = (webhook_url: string) =>
      fixture.api.call('POST', '/v1/webhook', { body: { webhook_url }, headers: keyed(hook) });
    expect((await post('http://10.0.0.1/')).status).toBe(400);
    expect((await post('http://127.0.0.1:9/fixed')).status).toBe(200);
  });

  test('expires after 24 hours: the next request is a new one', async () => {
    const [write, list, hook] = [randomUUID(), randomUUID(), randomUUID()];
    const rotate = () => fixture.api.call('POST', '/v1/webhook/rotate-secret', { body: {}, headers: keyed(hook) });
    await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: 'http://127.0.0.1:9/aged' } });
    const send = [() => fixture.api.callIn({}, keyed(write)), () => sync(list), rotate];
    const first = [];
    for (const each of send) first.push(await each());
    await age(23);
    for (const [n, each] of send.entries()) expect((await each()).body).toStrictEqual(first[n]?.body);
    await age(2);
    for (const [n, each] of send.entries()) {
      const renewed = await each();
      expect([renewed.status, renewed.headers.get('idempotency-replayed')]).toStrictEqual([200, null]);
      expect(renewed.body).not.toStrictEqual(first[n]?.body);
    }
  });

  test('a key whose first request is still running gets 409 after 5 seconds', async () => {
    const key = randomUUID();
    const running = await holdKey(fixture, key);
    const timed = async (request: Promise<ApiResponse>) => {
      const started = Date.now();
      return { response: await request, waited_ms: Date.now() - started };
    };
    const hook = { body: { webhook_url: 'http://127.0.0.1:9/concurrent' }, headers: keyed(key) };
    const before = await jobs();
    const rejected = await Promise.all([
      timed(fixture.api.callIn({}, keyed(key))),
      timed(sync(key)),
      timed(fixture.api.call('POST', '/v1/webhook', hook)),
    ]);
    await running.release();
    for (const { response, waited_ms } of rejected) {
      const message = 'A request with this Idempotency-Key is still running. Try again in a moment.';
      expectApiError(response, 409, message);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(waited_ms).toBeGreaterThan(4500);
    }
    expect(await jobs()).toBe(before);
    expect((await fixture.api.callIn({}, keyed(key))).status).toBe(200);
  });
});
