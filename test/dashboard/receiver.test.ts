import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { kept_max, purgeReceived, receiverRefusal } from '../../src/product/webhooks/receiver/receivers.ts';
import { newClient } from '../api/support.ts';
import { polling, startEventsFixture, writeUntil } from './eventsFixture.ts';

let fixture: Awaited<ReturnType<typeof startEventsFixture>>;
beforeAll(async () => {
  fixture = await startEventsFixture();
});
afterAll(() => fixture?.close());
afterEach(async () => {
  await fixture.owner`DELETE FROM webhook_endpoints`;
  await fixture.owner`DELETE FROM events`;
});

const get = (path: string) => fixture.operator.get(`clients/{client}/receiver${path}`);
const received = async () => (await get('/requests')).body.rows;
const configure = (settings: Record<string, unknown>) =>
  fixture.operator.patch('clients/{client}/receiver', { delay_ms: 0, times: null, ...settings });

async function open(): Promise<{ webhook_id: string; url: string }> {
  const { status, body } = await fixture.operator.post('clients/{client}/receiver');
  expect(status, JSON.stringify(body)).toBe(200);
  return body.receiver;
}
const send = (url: string, body: string | Buffer = '', headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

describe('the built-in receiver', () => {
  test('exists once per client, at an unguessable URL of the service, as a regular webhook endpoint', async () => {
    expect((await get('')).body).toStrictEqual({ success: true, receiver: null, refused: null });
    const [first, second] = await Promise.all([open(), open()]);
    expect(second).toStrictEqual(first);
    expect(first.url).toMatch(new RegExp(`^${fixture.sandbox.base_url}/receiver/rc_[\\w-]{43}$`));
    const { body } = await fixture.operator.get('clients/{client}/webhooks');
    expect(body.webhooks).toMatchObject([{ id: first.webhook_id, url: first.url, built_in: true }]);
    const other = await newClient(fixture);
    expect((await fixture.operator.get(`clients/${other.client_id}/receiver`)).body.receiver).toBeNull();
  });

  test('records a delivery with its headers, body and signature check', async () => {
    await open();
    const event_id = await writeUntil(fixture, 'success');
    const [row] = await received();
    expect(row).toMatchObject({
      ...{ event_id, event_type: 'telephone_encounter.created', verdict: 'valid', attempt: '1' },
      ...{ status: 200, delay_ms: 0, method: 'POST' },
    });
    const { request } = (await get(`/requests/${row.id}`)).body;
    expect(request.headers).toMatchObject({ 'webhook-id': event_id, 'user-agent': 'Chartwire' });
    expect(JSON.parse(request.body).data.patient_mrn).toBe(fixture.sandbox.example.patient_mrn);
    const { event } = (await fixture.operator.get(`clients/{client}/events/${event_id}`)).body;
    expect(event.deliveries[0].tries).toMatchObject([{ status_code: 200, snippet: '{"received":true}' }]);
    // Viewing the body is recorded as an access to the patient.
    const [seen] = await fixture.owner`SELECT FROM audit_records WHERE action = 'dashboard.received.get'
      AND cardinality(patients) = 1`;
    expect(seen).toBeDefined();
  });

  test('distinguishes valid, wrong, late and missing signatures', async () => {
    const { url, webhook_id } = await open();
    const rotated = await fixture.operator.post(`clients/{client}/webhooks/${webhook_id}/rotate-secret`);
    const secret: string = rotated.body.webhook_secret;
    const signed = (body: string, at_s: number) => {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const signature = createHmac('sha256', key).update(`m1.${at_s}.${body}`).digest('base64');
      return { 'webhook-id': 'm1', 'webhook-timestamp': `${at_s}`, 'webhook-signature': `v1,${signature}` };
    };
    const now_s = Math.floor(Date.now() / 1000);
    await send(url, '{}', signed('{}', now_s));
    await send(url, '{ }', signed('{}', now_s));
    await send(url, '{}', { ...signed('{}', now_s), 'cobalt-verification': 'ab' });
    await send(url, '{}', signed('{}', now_s - 600));
    await send(url, '{}');
    const verdicts = (await received()).map(({ verdict }: { verdict: string }) => verdict);
    expect(verdicts).toStrictEqual(['missing', 'late', 'wrong', 'wrong', 'valid']);
  });

  test('accepts any body of up to 1 MB', async () => {
    const { url } = await open();
    expect((await send(url, Buffer.from([0, 255, 10]), { 'content-type': 'application/octet-stream' })).status).toBe(
      200,
    );
    expect((await fetch(url)).status).toBe(200);
    expect((await send(url, 'x'.repeat(1_048_577))).status).toBe(413);
    const [empty, binary, ...more] = await received();
    expect([empty, binary]).toMatchObject([
      { method: 'GET', body_bytes: 0, event_type: null },
      { body_bytes: 3, event_type: null, verdict: 'missing' },
    ]);
    expect(more).toStrictEqual([]);
    expect((await get(`/requests/${binary.id}`)).body.request.body).toBe('\ufffd\ufffd\n');
  });

  test('returns 404 for an unknown key', async () => {
    const { url } = await open();
    const guess = await send(url.slice(0, -1) + (url.endsWith('A') ? 'B' : 'A'));
    expect(guess.status).toBe(404);
    expect(await guess.text()).not.toContain('rc_');
    expect(await received()).toStrictEqual([]);
  });
});

describe('configured to fail', () => {
  test('it fails the configured number of times, then succeeds', async () => {
    const { url } = await open();
    await configure({ status: 503, times: 2 });
    expect((await get('')).body.receiver).toMatchObject({ status: 503, delay_ms: 0, times: 2 });
    expect((await send(url)).status).toBe(503);
    expect((await get('')).body.receiver).toMatchObject({ status: 503, times: 1 });
    expect((await send(url)).status).toBe(503);
    expect((await send(url)).status).toBe(200);
    expect((await get('')).body.receiver).toMatchObject({ status: 200, delay_ms: 0, times: null });
    const statuses = (await received()).map(({ status }: { status: number }) => status);
    expect(statuses).toStrictEqual([200, 503, 503]);
  });

  test('it can close the connection and respond late', async () => {
    const { url } = await open();
    await configure({ status: null });
    await expect(send(url)).rejects.toThrow('fetch failed');
    await configure({ status: 200, delay_ms: 300 });
    const began_ms = performance.now();
    expect((await send(url)).status).toBe(200);
    // Node's timers may fire a millisecond early.
    expect(performance.now() - began_ms).toBeGreaterThanOrEqual(299);
    expect(await received()).toMatchObject([{ status: 200, delay_ms: 300 }, { status: null }]);
    for (const wrong of [{ status: 199 }, { status: 600 }, { delay_ms: 20_001 }, { times: 0 }]) {
      expect((await configure({ status: 500, ...wrong })).status, JSON.stringify(wrong)).toBe(400);
    }
  });

  test('its failure is recorded as a failed attempt with its response', async () => {
    await open();
    await configure({ status: 500 });
    const id = await writeUntil(fixture, 'pending');
    const { event } = (await fixture.operator.get(`clients/{client}/events/${id}`)).body;
    expect(event.deliveries[0].tries[0]).toMatchObject({
      status_code: 500,
      snippet: 'The built-in receiver is configured to respond with 500.',
    });
  });

  test('410 disables it like any endpoint, and creating it again enables it', async () => {
    const { webhook_id } = await open();
    await configure({ status: 410, times: 1 });
    await writeUntil(fixture, 'failed');
    expect((await get('')).body.receiver).toMatchObject({ webhook_id, endpoint_status: 'disabled' });
    expect(await open()).toMatchObject({ webhook_id, endpoint_status: 'enabled' });
    await writeUntil(fixture, 'success');
  });
});

describe('received requests', () => {
  test('are kept for a day, at most 200', async () => {
    const { url } = await open();
    await fixture.owner`
      INSERT INTO received_requests (id, client_id, method, headers, body, body_bytes, verdict, delay_ms)
        SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, client_id, 'POST', '{}', '', 0, 'valid', 0
          FROM receivers, generate_series(1, ${kept_max + 5}) AS n`;
    await send(url);
    expect((await get(`/requests?page_size=${kept_max}`)).body.rows).toHaveLength(kept_max);
    expect(await fixture.owner`SELECT FROM received_requests`).toHaveLength(kept_max);
    await fixture.owner`UPDATE received_requests SET at = now() - interval '25 hours' WHERE body_bytes = 0`;
    expect(await received()).toStrictEqual([]);
    await purgeReceived(fixture.ctx.db.system);
    expect(await fixture.owner`SELECT FROM received_requests`).toHaveLength(0);
  });

  test('are paginated, newest first, and can be cleared by operators', async () => {
    const { url } = await open();
    for (const type of ['a', 'b', 'c']) await send(url, JSON.stringify({ type }));
    const first = (await get('/requests?page_size=2')).body;
    expect(first.rows).toMatchObject([{ event_type: 'c' }, { event_type: 'b' }]);
    expect((await get(`/requests?page_size=2&before=${first.next}`)).body).toMatchObject({
      rows: [{ event_type: 'a' }],
      next: null,
    });
    expect((await fixture.operator.delete('clients/{client}/receiver/requests')).body.cleared).toBe(3);
    expect(await received()).toStrictEqual([]);
  });

  test('are deleted with the endpoint, including by the application itself', async () => {
    const { url, webhook_id } = await open();
    await send(url);
    expect(
      (await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers: { access_token: null } })).status,
    ).toBe(200);
    expect(await fixture.owner`SELECT FROM received_requests`).toHaveLength(0);
    expect((await get('')).body.receiver).toBeNull();
    expect((await send(url)).status).toBe(404);
  });

  test('are not visible to other clients', async () => {
    const { url } = await open();
    await send(url);
    const [row] = await received();
    const other = await newClient(fixture);
    const other_path = `clients/${other.client_id}/receiver/requests`;
    expect((await fixture.operator.get(other_path)).body.rows).toStrictEqual([]);
    expect((await fixture.operator.get(`${other_path}/${row.id}`)).status).toBe(404);
    expect((await fixture.operator.delete(other_path)).body.cleared).toBe(0);
    await vi.waitFor(async () => expect(await received()).toHaveLength(1), polling);
  });
});

test('explains why deliveries cannot reach it', () => {
  const live = { MASTER_KEY: 'ab'.repeat(32), SANDBOX: 'off' };
  const refusalAt = (BASE_URL: string) => receiverRefusal({ config: loadConfig({ ...live, BASE_URL }) });
  expect(refusalAt('http://127.0.0.1:4000')).toBe('The address of this service (BASE_URL) must use https.');
  expect(refusalAt('https://127.0.0.1')).toMatch(/private or local/);
  expect(refusalAt('https://chartwire.example.org')).toBeNull();
});
