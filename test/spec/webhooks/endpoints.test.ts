import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectRefusal, newClient, type OtherClient } from '../../api/support.ts';
import type { Receiver } from '../../harness/receiver.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { endedCall, refusedWrites } from '../support/completedJobs.ts';
import { headersOf, register, removeWebhook, untilReceived, untilStatus } from './receivers.ts';

let world: TestSandbox;
/** A client that has registered nothing yet and has no access token. */
let client: OtherClient;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());
beforeEach(async () => {
  client = await newClient(world);
});

const headers = { access_token: null };
const post = (body: Record<string, unknown>) => client.api.call('POST', '/v1/webhook', { body, headers });
const list = async () => (await client.api.call('GET', '/v1/webhook', { headers })).body;
const rotate = (id?: string, api = client.api) =>
  api.call('POST', id === undefined ? '/v1/webhook/rotate-secret' : `/v1/webhook/${id}/rotate-secret`, { headers });
const url = (n: number) => `https://app.example.org/hooks/${n}`;
const secret_form = /^whsec_[A-Za-z0-9+/]{43}=$/;

/** Whether a call was signed with this secret, by the standard package. */
function verifies(receiver: Receiver, n: number, secret: string): boolean {
  try {
    new Webhook(secret).verify(receiver.received[n]?.body ?? '', headersOf(receiver, n));
    return true;
  } catch {
    return false;
  }
}

test(row('DEC-327'), async () => {
  const answer = await post({ webhook_url: url(1) });
  expect(answer.status).toBe(200);
  expect((await list()).webhook_urls).toHaveLength(1);
  const wrong = { ...headers, client_secret: 'cs_test_wrong' };
  const refused = await client.api.call('POST', '/v1/webhook', { body: { webhook_url: url(2) }, headers: wrong });
  expectRefusal(refused, 401, 'Invalid client credentials.');
});

test(row('DEC-328'), async () => {
  for (const absent of [{}, { webhook_url: null }, { webhook_url: '' }]) {
    expectRefusal(await post(absent), 400, 'Missing required field: webhook_url', 'webhook_url');
  }
  for (const event_types of [['no.such.event'], [], 'login_required', [5]]) {
    expectRefusal(await post({ webhook_url: url(1), event_types }), 400, /^event_types/, 'event_types');
  }
  expect((await list()).webhook_urls).toStrictEqual([]);
  expect((await post({ webhook_url: url(1) })).status).toBe(200);
  expect((await post({ webhook_url: url(2), event_types: ['login_required', 'sync.failed'] })).status).toBe(200);
  expect((await list()).webhook_urls).toMatchObject([
    { url: url(1), event_types: null },
    { url: url(2), event_types: ['login_required', 'sync.failed'] },
  ]);
});

test(row('DEC-329'), async () => {
  const { status, body } = await post({ webhook_url: url(1) });
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    webhook_id: expect.stringMatching(/^wh_/),
    webhook_url: url(1),
    webhook_secret: expect.stringMatching(secret_form),
    webhook_secret_key: expect.stringMatching(secret_form),
  });
});

test(row('DEC-330'), async () => {
  expect(await list()).toStrictEqual({ success: true, webhook_url: null, webhook_urls: [], webhook_secret_key: null });
  const first = (await post({ webhook_url: url(1) })).body;
  const second = (await post({ webhook_url: url(2), event_types: ['login_required'] })).body;
  expect(await list()).toStrictEqual({
    success: true,
    webhook_url: url(1),
    webhook_urls: [
      { id: first.webhook_id, url: url(1), status: 'enabled', event_types: null },
      { id: second.webhook_id, url: url(2), status: 'enabled', event_types: ['login_required'] },
    ],
    webhook_secret_key: first.webhook_secret,
  });
});

test(row('DEC-331'), async () => {
  const [first, second] = [await register(world), await register(world)];
  expect(first.secret).not.toBe(second.secret);
  await endedCall(world);
  await untilReceived(first.receiver, 1);
  await untilReceived(second.receiver, 1);
  expect([verifies(first.receiver, 0, first.secret), verifies(first.receiver, 0, second.secret)]).toStrictEqual([
    true,
    false,
  ]);
  expect([verifies(second.receiver, 0, second.secret), verifies(second.receiver, 0, first.secret)]).toStrictEqual([
    true,
    false,
  ]);
  expect(headersOf(first.receiver, 0)['webhook-signature']?.split(' ')).toHaveLength(1);
});

test(row('DEC-332'), async () => {
  for (const n of [1, 2]) {
    const { webhook_secret, webhook_secret_key } = (await post({ webhook_url: url(n) })).body;
    expect(webhook_secret).toMatch(secret_form);
    expect(webhook_secret_key).toBe(webhook_secret);
  }
});

test(row('DEC-333'), async () => {
  const [first, second] = [(await post({ webhook_url: url(1) })).body, (await post({ webhook_url: url(2) })).body];
  expect((await list()).webhook_secret_key).toBe(first.webhook_secret);
  await world.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${first.webhook_id}`;
  expect((await list()).webhook_secret_key).toBe(second.webhook_secret);
  await removeWebhook(client.api, second.webhook_id);
  expect((await list()).webhook_secret_key).toBeNull();
});

test(row('DEC-334'), async () => {
  const kept = await register(world);
  const removed = await register(world);
  expect((await removeWebhook(world.api, removed.id)).status).toBe(200);
  const { body } = await world.api.call('GET', '/v1/webhook', { headers });
  expect(body.webhook_urls.map(({ id }: { id: string }) => id)).toStrictEqual([kept.id]);
  const { event } = await endedCall(world);
  await untilStatus(world, event.id, 'success');
  expect([kept.receiver.received.length, removed.receiver.received.length]).toStrictEqual([1, 0]);
  expectRefusal(await removeWebhook(world.api, removed.id), 404, `Webhook with ID '${removed.id}' not found.`);
});

test(row('DEC-335'), async () => {
  const [first, second] = [await register(world), await register(world)];
  const oldest = (await rotate(undefined, world.api)).body;
  const named = (await rotate(second.id, world.api)).body;
  expect([oldest.webhook_id, named.webhook_id]).toStrictEqual([first.id, second.id]);
  const secrets: string[] = [first.secret, second.secret, oldest.webhook_secret, named.webhook_secret];
  for (const secret of secrets) expect(secret).toMatch(secret_form);
  expect(new Set(secrets).size).toBe(4);
  await endedCall(world);
  await untilReceived(first.receiver, 1);
  await untilReceived(second.receiver, 1);
  expect(verifies(first.receiver, 0, oldest.webhook_secret)).toBe(true);
  expect(verifies(second.receiver, 0, named.webhook_secret)).toBe(true);
});

test(row('DEC-336'), async () => {
  const { receiver, id, secret: old } = await register(world);
  const { webhook_secret: fresh } = (await rotate(id, world.api)).body;
  const age = (age: string) => world.owner`
    UPDATE webhook_secrets SET expires_at = expires_at - ${age}::text::interval WHERE endpoint_id = ${id}`;
  const signedWith = async (n: number) => {
    await endedCall(world);
    await untilReceived(receiver, n + 1);
    return { old: verifies(receiver, n, old), fresh: verifies(receiver, n, fresh) };
  };
  expect(await signedWith(0)).toStrictEqual({ old: true, fresh: true });
  await age('23 hours 58 minutes');
  expect(await signedWith(1)).toStrictEqual({ old: true, fresh: true });
  await age('3 minutes');
  expect(await signedWith(2)).toStrictEqual({ old: false, fresh: true });
});

test(row('DEC-337'), async () => {
  const all = await register(world);
  const created = await register(world, { event_types: ['telephone_encounter.created'] });
  const failures = await register(world, { event_types: ['telephone_encounter.failed', 'document.upload_failed'] });
  const disabled = await register(world);
  await world.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${disabled.id}`;
  const foreign = await register(world, { api: client.api });
  const ends = [await endedCall(world), await refusedWrites['telephone_encounter.failed'](world)];
  ends.push(await refusedWrites['document.upload_failed'](world));
  for (const { event } of ends) await untilStatus(world, event.id, 'success');
  const typesOf = ({ receiver }: { receiver: Receiver }) =>
    receiver.received.map(({ body }) => JSON.parse(body).type).sort();
  expect(typesOf(all)).toStrictEqual([
    'document.upload_failed',
    'telephone_encounter.created',
    'telephone_encounter.failed',
  ]);
  expect(typesOf(created)).toStrictEqual(['telephone_encounter.created']);
  expect(typesOf(failures)).toStrictEqual(['document.upload_failed', 'telephone_encounter.failed']);
  expect([typesOf(disabled), typesOf(foreign)]).toStrictEqual([[], []]);
});
