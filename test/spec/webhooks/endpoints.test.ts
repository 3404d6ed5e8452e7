import { Webhook } from 'standardwebhooks';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import type { Receiver } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { completeCall, rejectedWrites } from '../support/completedJobs.ts';
import { readHeaders, register, removeWebhook, untilReceived, untilStatus } from './receivers.ts';

let fixture: TestSandbox;
/** A client without webhooks and without an access token. */
let client: OtherClient;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
beforeEach(async () => {
  client = await newClient(fixture);
});

const headers = { access_token: null };
const post = (body: Record<string, unknown>) => client.api.call('POST', '/v1/webhook', { body, headers });
const list = async () => (await client.api.call('GET', '/v1/webhook', { headers })).body;
const rotate = (id?: string, api = client.api) =>
  api.call('POST', id === undefined ? '/v1/webhook/rotate-secret' : `/v1/webhook/${id}/rotate-secret`, { headers });
const url = (n: number) => `https://app.example.org/hooks/${n}`;
const secret_form = /^whsec_[A-Za-z0-9+/]{43}=$/;

/** Whether the standard package verifies a call with this secret. */
function verifies(receiver: Receiver, n: number, secret: string): boolean {
  try {
    new Webhook(secret).verify(receiver.received[n]?.body ?? '', readHeaders(receiver, n));
    return true;
  } catch {
    return false;
  }
}

test(row('DEC-327'), async () => {
  const response = await post({ webhook_url: url(1) });
  expect(response.status).toBe(200);
  expect((await list()).webhook_urls).toHaveLength(1);
  const wrong = { ...headers, client_secret: 'cs_test_wrong' };
  const refused = await client.api.call('POST', '/v1/webhook', { body: { webhook_url: url(2) }, headers: wrong });
  expectApiError(refused, 401, 'Invalid client credentials.');
});

test(row('DEC-328'), async () => {
  for (const absent of [{}, { webhook_url: null }, { webhook_url: '' }]) {
    expectApiError(await post(absent), 400, 'Missing required field: webhook_url', 'webhook_url');
  }
  for (const [event_types, field] of [
    [['no.such.event'], 'event_types[0]'],
    [[], 'event_types'],
    ['login_required', 'event_types'],
    [[5], 'event_types[0]'],
  ] as const) {
    expectApiError(await post({ webhook_url: url(1), event_types }), 400, /^event_types/, field);
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
  const unlimited = { org_ids: null, sync_events: false, paused: false };
  expect(await list()).toStrictEqual({ success: true, webhook_url: null, webhook_urls: [], webhook_secret_key: null });
  const first = (await post({ webhook_url: url(1) })).body;
  const second = (await post({ webhook_url: url(2), event_types: ['login_required'] })).body;
  expect(await list()).toStrictEqual({
    success: true,
    webhook_url: url(1),
    webhook_urls: [
      { id: first.webhook_id, url: url(1), status: 'enabled', event_types: null, ...unlimited },
      { id: second.webhook_id, url: url(2), status: 'enabled', event_types: ['login_required'], ...unlimited },
    ],
    webhook_secret_key: first.webhook_secret,
  });
});

test(row('DEC-331'), async () => {
  const [first, second] = [await register(fixture), await register(fixture)];
  expect(first.secret).not.toBe(second.secret);
  await completeCall(fixture);
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
  expect(readHeaders(first.receiver, 0)['webhook-signature']?.split(' ')).toHaveLength(1);
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
  await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${first.webhook_id}`;
  expect((await list()).webhook_secret_key).toBe(second.webhook_secret);
  await removeWebhook(client.api, second.webhook_id);
  expect((await list()).webhook_secret_key).toBeNull();
});

test(row('DEC-334'), async () => {
  const remaining = await register(fixture);
  const removed = await register(fixture);
  expect((await removeWebhook(fixture.api, removed.id)).status).toBe(200);
  const { body } = await fixture.api.call('GET', '/v1/webhook', { headers });
  expect(body.webhook_urls.map(({ id }: { id: string }) => id)).toStrictEqual([remaining.id]);
  const { event } = await completeCall(fixture);
  await untilStatus(fixture, event.id, 'success');
  expect([remaining.receiver.received.length, removed.receiver.received.length]).toStrictEqual([1, 0]);
  expectApiError(await removeWebhook(fixture.api, removed.id), 404, `Webhook with ID '${removed.id}' not found.`);
});

test(row('DEC-335'), async () => {
  const [first, second] = [await register(fixture), await register(fixture)];
  const oldest = (await rotate(undefined, fixture.api)).body;
  const named = (await rotate(second.id, fixture.api)).body;
  expect([oldest.webhook_id, named.webhook_id]).toStrictEqual([first.id, second.id]);
  const secrets: string[] = [first.secret, second.secret, oldest.webhook_secret, named.webhook_secret];
  for (const secret of secrets) expect(secret).toMatch(secret_form);
  expect(new Set(secrets).size).toBe(4);
  await completeCall(fixture);
  await untilReceived(first.receiver, 1);
  await untilReceived(second.receiver, 1);
  expect(verifies(first.receiver, 0, oldest.webhook_secret)).toBe(true);
  expect(verifies(second.receiver, 0, named.webhook_secret)).toBe(true);
});

test(row('DEC-336'), async () => {
  const { receiver, id, secret: old } = await register(fixture);
  const { webhook_secret: fresh } = (await rotate(id, fixture.api)).body;
  const age = (age: string) => fixture.owner`
    UPDATE webhook_secrets SET expires_at = expires_at - ${age}::text::interval WHERE endpoint_id = ${id}`;
  const signedWith = async (n: number) => {
    await completeCall(fixture);
    await untilReceived(receiver, n + 1);
    return { old: verifies(receiver, n, old), fresh: verifies(receiver, n, fresh) };
  };
  expect(await signedWith(0)).toStrictEqual({ old: true, fresh: true });
  await age('23 hours 58 minutes');
  expect(await signedWith(1)).toStrictEqual({ old: true, fresh: true });
  await age('3 minutes');
  expect(await signedWith(2)).toStrictEqual({ old: false, fresh: true });
});

test(row('DAT-01'), async () => {
  const registered = async (event_types?: string[]) => {
    expect((await post({ webhook_url: url(1), ...(event_types && { event_types }) })).status).toBe(200);
    return (await list()).webhook_urls.map((each: { event_types: unknown }) => each.event_types);
  };
  expect(await registered()).toStrictEqual([null]);
  expect(await registered(['login_required'])).toStrictEqual([['login_required']]);
  expect(await registered()).toStrictEqual([['login_required']]);
  expect(await registered(['sync.failed'])).toStrictEqual([['sync.failed']]);
});

test(row('DAT-02'), async () => {
  const { receiver, id, secret: first } = await register(fixture);
  const { webhook_secret: second } = (await rotate(id, fixture.api)).body;
  const options = { body: { immediately: true }, headers };
  const rotated = await fixture.api.call('POST', `/v1/webhook/${id}/rotate-secret`, options);
  expect(rotated.body).toMatchObject({ message: 'Secret rotated. The old one is no longer valid.' });
  await completeCall(fixture);
  await untilReceived(receiver, 1);
  const signedWith = [first, second, rotated.body.webhook_secret].map((secret) => verifies(receiver, 0, secret));
  expect(signedWith).toStrictEqual([false, false, true]);
});

test(row('DEC-337'), async () => {
  const all = await register(fixture);
  const created = await register(fixture, { event_types: ['telephone_encounter.created'] });
  const failures = await register(fixture, { event_types: ['telephone_encounter.failed', 'document.upload_failed'] });
  const disabled = await register(fixture);
  await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${disabled.id}`;
  const foreign = await register(fixture, { api: client.api });
  const ends = [await completeCall(fixture), await rejectedWrites['telephone_encounter.failed'](fixture)];
  ends.push(await rejectedWrites['document.upload_failed'](fixture));
  for (const { event } of ends) await untilStatus(fixture, event.id, 'success');
  const listTypes = ({ receiver }: { receiver: Receiver }) =>
    receiver.received.map(({ body }) => JSON.parse(body).type).sort();
  expect(listTypes(all)).toStrictEqual([
    'document.upload_failed',
    'telephone_encounter.created',
    'telephone_encounter.failed',
  ]);
  expect(listTypes(created)).toStrictEqual(['telephone_encounter.created']);
  expect(listTypes(failures)).toStrictEqual(['document.upload_failed', 'telephone_encounter.failed']);
  expect([listTypes(disabled), listTypes(foreign)]).toStrictEqual([[], []]);
});
