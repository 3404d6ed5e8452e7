import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { type Receiver, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { endPauses, until } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
afterEach(async () => {
  const { body } = await fixture.api.call('GET', '/v1/webhook');
  for (const { id } of body.webhook_urls) await fixture.api.call('DELETE', `/v1/webhook/${id}`);
});

/** Starts a receiver and registers it, with the client's credentials only. */
async function register(event_types?: string[]): Promise<{ receiver: Receiver; id: string; secret: string }> {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const response = await fixture.api.call('POST', '/v1/webhook', {
    body: { webhook_url: receiver.url, ...(event_types && { event_types }) },
    headers: { access_token: null },
  });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  expect(response.body.webhook_secret).toMatch(/^whsec_/);
  return { receiver, id: response.body.webhook_id, secret: response.body.webhook_secret };
}

/** Runs a write and returns its event. */
async function write(fields: Record<string, unknown> = {}) {
  const accepted = await fixture.api.callIn(fields);
  expect(accepted.status).toBe(200);
  return fixture.api.untilEvent(accepted.body.job_id);
}

function untilReceived(receiver: Receiver, count: number): Promise<boolean> {
  return until(`${count} webhook calls`, async () => receiver.received.length >= count);
}

function untilStatus(event_id: string, status: string): Promise<boolean> {
  return until(`event ${event_id} to be ${status}`, async () => {
    const { body } = await fixture.api.call('GET', `/v1/webhook-events?delivery_status=${status}`);
    return body.webhook_events.some((event: { id: string }) => event.id === event_id);
  });
}

function readHeaders(receiver: Receiver, n: number): Record<string, string> {
  const headers = receiver.received[n]?.headers ?? {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

describe('an event is sent to a registered endpoint', () => {
  test('an event is sent once, with signatures that the standardwebhooks package and an old client verify', async () => {
    const { receiver, secret } = await register();
    const event = await write({ reason: 'Signed — “é 💊”' });
    await untilReceived(receiver, 1);
    await untilStatus(event.id, 'success');
    expect(receiver.received).toHaveLength(1);
    const body = receiver.received[0]?.body ?? '';
    const headers = readHeaders(receiver, 0);

    const { id, object, created, type, job_id, access_token_reference_id, data } = event;
    const envelope = { id, object, created, type, job_id, access_token_reference_id, data };
    expect(JSON.parse(body)).toStrictEqual(envelope);
    expect(new Webhook(secret).verify(body, headers)).toStrictEqual(envelope);
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
    const { 'cobalt-verification': verification, 'webhook-timestamp': sent_at } = headers;
    expect(verification).toBe(createHmac('sha256', secret).update(body).digest('hex'));
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const by_hand = createHmac('sha256', key).update(`${id}.${sent_at}.${body}`).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${by_hand}`);
    expect(headers).toMatchObject({
      'webhook-id': id,
      'webhook-attempt': '1',
      'content-type': expect.stringContaining('application/json'),
    });
    expect(Math.abs(Number(sent_at) * 1000 - Date.now())).toBeLessThan(60_000);
  });

  test('an event is sent again with the same id and a valid signature after a failed attempt', async () => {
    const { receiver, secret } = await register();
    receiver.respond = respondWith(500);
    const event = await write();
    await untilReceived(receiver, 1);
    await until('the failed attempt to be recorded', async () => {
      const [row] = await fixture.owner`SELECT FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
        WHERE event_id = ${event.id}`;
      return row;
    });
    receiver.respond = respondWith(204);
    await endPauses(fixture.owner);
    await untilReceived(receiver, 2);
    await untilStatus(event.id, 'success');
    expect(receiver.received.map((call) => call.headers['webhook-id'])).toStrictEqual([event.id, event.id]);
    expect(receiver.received.map((call) => call.headers['webhook-attempt'])).toStrictEqual(['1', '2']);
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
    expect(() => new Webhook(secret).verify(receiver.received[1]?.body ?? '', readHeaders(receiver, 1))).not.toThrow();
  });

  test('an event is sent again on a resend, also to an endpoint that was added later', async () => {
    const early = await register();
    const event = await write();
    await untilReceived(early.receiver, 1);
    await untilStatus(event.id, 'success');
    const late = await register();
    const resent = await fixture.api.call('POST', `/v1/webhook-events/${event.id}/resend`);
    expect(resent.status).toBe(200);
    expect(resent.body).toMatchObject({ success: true, event_id: event.id, deliveries: 2 });
    await untilReceived(early.receiver, 2);
    await untilReceived(late.receiver, 1);
    for (const call of [...early.receiver.received, ...late.receiver.received]) {
      expect(call.headers['webhook-id']).toBe(event.id);
    }
  });
});

describe('an endpoint', () => {
  test('gets only the event types that it registered for', async () => {
    const failures = await register(['telephone_encounter.failed']);
    const all = await register();
    await write();
    const failed = await write({ patient_mrn: 'LK999999' });
    await untilReceived(all.receiver, 2);
    await untilReceived(failures.receiver, 1);
    await untilStatus(failed.id, 'success');
    const types = failures.receiver.received.map((call) => JSON.parse(call.body).type);
    expect(types).toStrictEqual(['telephone_encounter.failed']);
    expect(all.receiver.received).toHaveLength(2);
  });

  test('an endpoint that was removed gets nothing more, not even pending events', async () => {
    const kept = await register();
    const removed = await register();
    removed.receiver.respond = respondWith(503);
    await write();
    await untilReceived(kept.receiver, 1);
    await until('the failed delivery to be pending', async () => {
      const [waiting] = await fixture.owner`UPDATE deliveries SET ready_at = now() + interval '1 hour'
        WHERE endpoint_id = ${removed.id} AND attempts = 1 AND locked_until IS NULL RETURNING id`;
      return waiting;
    });
    const response = await fixture.api.call('DELETE', `/v1/webhook/${removed.id}`, { headers: { access_token: null } });
    expect(response.status).toBe(200);
    await endPauses(fixture.owner);
    const event = await write();
    await untilReceived(kept.receiver, 2);
    await untilStatus(event.id, 'success');
    expect(removed.receiver.received).toHaveLength(1);
  });
});
