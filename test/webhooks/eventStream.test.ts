import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { revokeSecrets } from '../../src/product/clients/secrets.ts';
import { emitEvent } from '../../src/product/webhooks/events.ts';
import { newClient } from '../api/support.ts';
import { finishedCall } from '../dashboard/finishedCalls.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

type Sent = { id: string; event: string; data: { id: string; job_id: string; type: string } };

/** Opens the stream and collects what arrives. */
async function openStream(headers: Record<string, string> = {}, query = '') {
  const { base_url, client_id, client_secret } = fixture.sandbox;
  const stop = new AbortController();
  const response = await fetch(`${base_url}/v1/webhook-events/stream${query}`, {
    headers: { client_id, client_secret, ...headers },
    signal: stop.signal,
  });
  const received: Sent[] = [];
  let position = '';
  onTestFinished(() => stop.abort());
  const read = async () => {
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const parts = (rest + Buffer.from(chunk).toString()).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) position = /^id: (.*)$/m.exec(part)?.[1] ?? position;
      for (const part of parts.filter((each) => each.startsWith('id: '))) {
        const [id, event, data] = part.split('\n').map((line) => line.slice(line.indexOf(': ') + 2));
        received.push({ id: id ?? '', event: event ?? '', data: JSON.parse(data ?? '') });
      }
    }
  };
  const ended = read().catch(() => {});
  return { response, received, ended, position: () => position, close: () => stop.abort() };
}
const listJobIds = (received: Sent[]) => received.map(({ data }) => Number(data.job_id));

test('sends the webhook body of each new event once, and records it in the audit log', async () => {
  const stream = await openStream();
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
  const first = (await finishedCall(fixture, { reason: 'stream 1' })).job_id;
  await expect.poll(() => listJobIds(stream.received)).toContain(first);
  const second = (await finishedCall(fixture, { reason: 'stream 2' })).job_id;
  await expect.poll(() => listJobIds(stream.received)).toStrictEqual([first, second]);
  const [sent] = stream.received;
  expect(sent).toMatchObject({ event: 'telephone_encounter.created', data: { id: sent?.id, type: sent?.event } });
  const rows = await fixture.owner`SELECT DISTINCT address FROM audit_records WHERE action = 'webhook-events.stream'`;
  expect(rows).toStrictEqual([{ address: '127.0.0.1' }]);
});

test('sends only events of the account and the types that were asked for', async () => {
  const access_token = await fixture.api.link({ user_id: 'stream-colleague', staff: 2 });
  const colleague = await openStream({ access_token });
  const syncs = await openStream({}, '?event_types=sync.completed');
  const all = await openStream();
  const { job_id } = await finishedCall(fixture, { reason: 'stream 3' });
  await expect.poll(() => listJobIds(all.received)).toContain(job_id);
  expect(listJobIds(colleague.received)).not.toContain(job_id);
  expect(syncs.received.map(({ event }) => event)).not.toContain('telephone_encounter.created');
});

test('continues after the event in Last-Event-ID', async () => {
  const before = await openStream();
  const seen = (await finishedCall(fixture, { reason: 'stream 4' })).job_id;
  await expect.poll(() => listJobIds(before.received)).toContain(seen);
  before.close();
  const missed = (await finishedCall(fixture, { reason: 'stream 5' })).job_id;
  const last = before.received.find(({ data }) => Number(data.job_id) === seen)?.id ?? '';
  const after = await openStream({ 'last-event-id': last });
  await expect.poll(() => listJobIds(after.received)).toContain(missed);
  expect(listJobIds(after.received)).not.toContain(seen);
});

test('continues from its start if the connection was lost before the first event', async () => {
  const before = await openStream();
  await expect.poll(before.position).toMatch(/^[0-9a-f]{32}$/);
  before.close();
  const missed = (await finishedCall(fixture, { reason: 'stream 7' })).job_id;
  const after = await openStream({ 'last-event-id': before.position() });
  await expect.poll(() => listJobIds(after.received)).toStrictEqual([missed]);
});

test('sends nothing of another client', async () => {
  const { client_id, client_secret } = await newClient(fixture);
  const other = await openStream({ client_id, client_secret });
  const own = await openStream();
  const { job_id } = await finishedCall(fixture, { reason: 'stream 6' });
  await expect.poll(() => listJobIds(own.received)).toContain(job_id);
  expect(other.received).toStrictEqual([]);
});

test('sends nothing more once the secret is revoked', async () => {
  const { id: client_id, ...own } = await newClient(fixture);
  const credentials = { client_id: own.client_id, client_secret: own.client_secret };
  await own.api.link({ user_id: 'stream-revoked', org_id: 'stream-revoked', staff: 6 });
  const [account] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts WHERE client_id = ${client_id}`;
  const emit = () =>
    fixture.ctx.db.tenant(client_id, (tx) =>
      emitEvent(tx, {
        ...{ client_id, account_id: account?.id ?? '', job_id: null },
        event: { type: 'sync.completed', data: { org_id: 'stream-revoked', records: {} } },
      }),
    );
  const stream = await openStream(credentials);
  const first = await emit();
  await expect.poll(() => stream.received.map(({ id }) => id), { timeout: 20_000 }).toStrictEqual([first]);
  await fixture.ctx.db.tenant(client_id, (tx) => revokeSecrets(tx, client_id));
  const status = async () => (await own.api.call('GET', '/v1/webhook', { headers: { access_token: null } })).status;
  await expect.poll(status).toBe(401);
  await emit();
  await stream.ended;
  expect(stream.received.map(({ id }) => id)).toStrictEqual([first]);
});

test('rejects an unknown type, wrong credentials and a 21st stream', async () => {
  expect((await openStream({}, '?event_types=patient.exploded')).response.status).toBe(400);
  expect((await openStream({ client_secret: 'cs_test_wrong' })).response.status).toBe(401);
  const { client_id, client_secret } = await newClient(fixture);
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream({ client_id, client_secret })));
  expect(new Set(streams.map(({ response }) => response.status))).toStrictEqual(new Set([200]));
  expect((await openStream({ client_id, client_secret })).response.status).toBe(429);
  streams[0]?.close();
  await expect.poll(async () => (await openStream({ client_id, client_secret })).response.status).toBe(200);
});
