import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { expectApiError, newClient } from '../api/support.ts';
import { type Responder, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { polling, startEventsFixture, writeUntil } from './eventsFixture.ts';

let fixture: Awaited<ReturnType<typeof startEventsFixture>>;
beforeAll(async () => {
  fixture = await startEventsFixture();
});
afterAll(() => fixture?.close());
afterEach(async () => {
  await fixture.owner`DELETE FROM webhook_endpoints`;
});

const list = async () => (await fixture.operator.get('clients/{client}/webhooks')).body.webhooks;
const post = (path: string, body?: unknown) => fixture.operator.post(`clients/{client}/webhooks${path}`, body);

async function register(respond: Responder = respondWith(200), fields: Record<string, unknown> = {}) {
  const receiver = await startReceiver(respond);
  onTestFinished(receiver.close);
  const added = await post('', { webhook_url: receiver.url, ...fields });
  expect(added.status, JSON.stringify(added.body)).toBe(200);
  return { receiver, id: added.body.webhook_id as string, secret: added.body.webhook_secret as string };
}

describe('an endpoint', () => {
  test('is created with event types, listed without its secret, and its URL is checked', async () => {
    const event_types = ['telephone_encounter.created'];
    const { id, secret, receiver } = await register(respondWith(200), { event_types });
    expect(secret).toMatch(/^whsec_/);
    const endpoints = await list();
    expect(endpoints).toMatchObject([{ id, url: receiver.url, status: 'enabled', event_types, built_in: false }]);
    expect(JSON.stringify(endpoints)).not.toContain(secret);
    const refused = await post('', { webhook_url: 'http://10.0.0.1/hook' });
    expectApiError(refused, 400, /^webhook_url must use https/, 'webhook_url');
  });

  test('shows since when it has been failing, its last success and the attempts of the last day', async () => {
    const { receiver } = await register();
    await writeUntil(fixture, 'success');
    expect(await list()).toMatchObject([
      { failing_since: null, last_success_at: expect.any(String), tries_day: 1, successes_day: 1, pending: 0 },
    ]);
    receiver.respond = respondWith(500);
    await writeUntil(fixture, 'pending');
    expect(await list()).toMatchObject([
      { failing_since: expect.any(String), tries_day: 2, successes_day: 1, pending: 1 },
    ]);
    await fixture.owner`UPDATE delivery_attempts SET at = at - interval '25 hours'`;
    expect(await list()).toMatchObject([{ tries_day: 0, successes_day: 0 }]);
  });

  test('has a page with its attempts by hour, its last error and its own deliveries', async () => {
    const { receiver, id } = await register(respondWith(503, { 'content-type': 'text/plain' }, 'down'));
    const healthy = await register();
    // One attempt per endpoint.
    await writeUntil(fixture, 'pending', 2);
    const get = async (path: string) => (await fixture.operator.get(`clients/{client}/${path}`)).body;
    const { webhook, hours } = await get(`webhooks/${id}`);
    expect(webhook).toMatchObject({ url: receiver.url, problem: 'The receiver responded with 503.' });
    expect(hours).toHaveLength(24);
    expect(hours.at(-1)).toMatchObject({ delivered: 0, failed: expect.any(Number) });
    const { error } = await get(`webhooks/${id}/last-error`);
    expect(error).toMatchObject({ status_code: 503, snippet: 'down', event_type: 'telephone_encounter.created' });
    expect((await get(`webhooks/${healthy.id}/last-error`)).error).toBeNull();
    const status = async (webhook_id: string) => (await get(`events?webhook_id=${webhook_id}`)).rows[0].delivery_status;
    expect([await status(id), await status(healthy.id)]).toStrictEqual(['pending', 'success']);
    expect((await get(`events?webhook_id=${id}&delivery_status=success`)).rows).toStrictEqual([]);
    const other = await newClient(fixture);
    for (const path of [`webhooks/${id}`, `webhooks/${id}/send-waiting`]) {
      const send = path.endsWith('waiting') ? fixture.operator.post : fixture.operator.get;
      expect((await send(`clients/${other.client_id}/${path}`)).status).toBe(404);
    }
    const { body: elsewhere } = await fixture.operator.get(`clients/${other.client_id}/webhooks/${id}/last-error`);
    expect(elsewhere.error).toBeNull();
  });

  test('moves to another URL that is allowed and not registered yet', async () => {
    const { id, receiver } = await register();
    const second = await register();
    const move = (webhook_url: string) => fixture.operator.patch(`clients/{client}/webhooks/${id}`, { webhook_url });
    expectApiError(await move('http://10.0.0.1/hook'), 400, /must use https/, 'webhook_url');
    expectApiError(await move(second.receiver.url), 400, /is already registered/, 'webhook_url');
    expect((await move(`${receiver.url}/moved`)).status).toBe(200);
    expect((await list())[0]).toMatchObject({ id, url: `${receiver.url}/moved`, event_types: null });
  });

  test('is not found under an unknown ID or by another client, whatever is to be changed', async () => {
    const { id } = await register();
    const other = await newClient(fixture);
    const before = await list();
    for (const path of ['clients/{client}/webhooks/unknown', `clients/${other.client_id}/webhooks/${id}`]) {
      for (const changes of [{}, { event_types: null }, { webhook_url: 'https://example.test/hook' }]) {
        expectApiError(await fixture.operator.patch(path, changes), 404, /^Webhook .* not found/);
      }
      for (const action of ['enable', 'disable', 'rotate-secret', 'send-waiting', 'try']) {
        expectApiError(await fixture.operator.post(`${path}/${action}`), 404, /^Webhook .* not found/);
      }
      expectApiError(await fixture.operator.delete(path), 404, /^Webhook .* not found/);
    }
    expect(await list()).toStrictEqual(before);
  });

  test('receives other event types after an update, and all if none is set', async () => {
    const { id, receiver } = await register();
    const edit = (event_types: string[] | null) =>
      fixture.operator.patch(`clients/{client}/webhooks/${id}`, { event_types });
    expect((await edit(['sync.completed'])).status).toBe(200);
    await writeUntil(fixture, null);
    expect(receiver.received).toHaveLength(0);
    expect((await edit(null)).status).toBe(200);
    expect(await list()).toMatchObject([{ event_types: null }]);
    await writeUntil(fixture, 'success');
    expect((await edit(['no.such.type'])).status).toBe(400);
    expect((await edit([])).status).toBe(400);
  });

  test('gets nothing while disabled, pending deliveries fail, and it gets events again when enabled', async () => {
    const { id, receiver } = await register(respondWith(500));
    const event_id = await writeUntil(fixture, 'pending');
    expect((await post(`/${id}/disable`)).status).toBe(200);
    expect(await list()).toMatchObject([{ status: 'disabled', disabled_reason: 'Disabled by an operator.' }]);
    const event = await fixture.operator.get(`clients/{client}/events/${event_id}`);
    expect(event.body.event).toMatchObject({
      delivery_status: 'failed',
      deliveries: [{ endpoint_status: 'disabled' }],
    });
    receiver.respond = respondWith(200);
    await writeUntil(fixture, null);
    expect((await post(`/${id}/enable`)).status).toBe(200);
    expect(await list()).toMatchObject([{ status: 'enabled', disabled_reason: null, failing_since: null }]);
    await writeUntil(fixture, 'success');
  });

  test('signs with both the new and the old secret after a rotation', async () => {
    const { id, secret, receiver } = await register();
    const rotated = (await post(`/${id}/rotate-secret`)).body;
    expect(rotated.webhook_secret).toMatch(/^whsec_/);
    expect(rotated.webhook_secret).not.toBe(secret);
    await writeUntil(fixture, 'success');
    const [{ body, headers }] = receiver.received as [(typeof receiver.received)[number]];
    for (const each of [secret, rotated.webhook_secret]) {
      expect(() => new Webhook(each).verify(body, headers as Record<string, string>)).not.toThrow();
    }
  });

  test('is deleted with its deliveries', async () => {
    const { id } = await register();
    await writeUntil(fixture, 'success');
    expect((await fixture.operator.delete(`clients/{client}/webhooks/${id}`)).status).toBe(200);
    expect(await list()).toStrictEqual([]);
    expect((await fixture.operator.delete(`clients/{client}/webhooks/${id}`)).status).toBe(404);
  });

  test('is not visible to other clients', async () => {
    const { id } = await register();
    const other = await newClient(fixture);
    const at = `clients/${other.client_id}/webhooks`;
    expect((await fixture.operator.get(at)).body.webhooks).toStrictEqual([]);
    for (const verb of ['try', 'rotate-secret', 'disable', 'enable']) {
      expect((await fixture.operator.post(`${at}/${id}/${verb}`)).status, verb).toBe(404);
    }
    expect((await fixture.operator.patch(`${at}/${id}`, { event_types: null })).status).toBe(404);
    expect((await fixture.operator.delete(`${at}/${id}`)).status).toBe(404);
    expect(await list()).toMatchObject([{ id, status: 'enabled' }]);
  });
});

describe('a test event', () => {
  test('is signed, marked as a test, reported immediately and not stored', async () => {
    const { id, secret, receiver } = await register(respondWith(202, { 'content-type': 'text/plain' }, 'thanks'));
    await writeUntil(fixture, 'success');
    receiver.received.length = 0;
    const before = await fixture.owner`SELECT FROM events`;
    const { body: result } = await post(`/${id}/try`);
    expect(result).toMatchObject({ delivered: true, status_code: 202, problem: null, snippet: 'thanks' });
    const [{ body, headers }] = receiver.received as [(typeof receiver.received)[number]];
    expect(JSON.parse(body)).toMatchObject({
      object: 'event',
      type: 'webhook.test',
      data: { message: expect.any(String) },
    });
    expect(body).toBe(result.body);
    expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    expect(await fixture.owner`SELECT FROM events`).toHaveLength(before.length);
  });

  test('reports why it failed, does not affect the endpoint’s health, and reaches a disabled endpoint', async () => {
    const { id, receiver } = await register(respondWith(410, {}, 'moved'));
    expect((await post(`/${id}/try`)).body).toMatchObject({ delivered: false, status_code: 410, snippet: 'moved' });
    expect(await list()).toMatchObject([{ status: 'enabled', failing_since: null, tries_day: 0 }]);
    await post(`/${id}/disable`);
    receiver.respond = respondWith(200);
    expect((await post(`/${id}/try`)).body).toMatchObject({ delivered: true });
    await receiver.close();
    const { body } = await post(`/${id}/try`);
    expect(body).toMatchObject({ delivered: false, status_code: null, problem: expect.stringContaining('127.0.0.1') });
    expect((await post('/wh_unknown/try')).status).toBe(404);
  });
});

test('operator actions are in the audit trail', async () => {
  const { id } = await register();
  await post(`/${id}/rotate-secret`);
  await post(`/${id}/try`);
  await post(`/${id}/disable`);
  await vi.waitFor(async () => {
    const rows = await fixture.owner<{ action: string }[]>`SELECT action FROM audit_records WHERE subject = ${id}`;
    expect(rows.map((row) => row.action).sort()).toStrictEqual([
      'dashboard.webhooks.create',
      'dashboard.webhooks.disable',
      'dashboard.webhooks.rotate',
      'dashboard.webhooks.try',
    ]);
  }, polling);
});
