import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answering, type Receiver, startReceiver } from '../harness/receiver.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { endPauses, until } from './journey.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());
afterEach(async () => {
  const { body } = await world.api.call('GET', '/v1/webhook');
  for (const { id } of body.webhook_urls) await world.api.call('DELETE', `/v1/webhook/${id}`);
});

/** A receiver of its own, registered with the client's two headers alone. */
async function register(event_types?: string[]): Promise<{ receiver: Receiver; id: string; secret: string }> {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const answer = await world.api.call('POST', '/v1/webhook', {
    body: { webhook_url: receiver.url, ...(event_types && { event_types }) },
    headers: { access_token: null },
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(answer.body.webhook_secret).toMatch(/^whsec_/);
  return { receiver, id: answer.body.webhook_id, secret: answer.body.webhook_secret };
}

/** A finished write, and its event as polling shows it. */
async function write(fields: Record<string, unknown> = {}) {
  const accepted = await world.api.callIn(fields);
  expect(accepted.status).toBe(200);
  return world.api.untilEvent(accepted.body.job_id);
}

function untilReceived(receiver: Receiver, count: number): Promise<boolean> {
  return until(`${count} webhook calls`, async () => receiver.received.length >= count);
}

function untilStatus(event_id: string, status: string): Promise<boolean> {
  return until(`event ${event_id} to be ${status}`, async () => {
    const { body } = await world.api.call('GET', `/v1/webhook-events?delivery_status=${status}`);
    return body.webhook_events.some((event: { id: string }) => event.id === event_id);
  });
}

function headersOf(receiver: Receiver, n: number): Record<string, string> {
  const headers = receiver.received[n]?.headers ?? {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

describe('a write is announced to a registered address', () => {
  test('by one call, signed so that the standard package and an old client both verify it', async () => {
    const { receiver, secret } = await register();
    const event = await write({ reason: 'Signed — “und geprüft”' });
    await untilReceived(receiver, 1);
    await untilStatus(event.id, 'success');
    expect(receiver.received).toHaveLength(1);
    const body = receiver.received[0]?.body ?? '';
    const headers = headersOf(receiver, 0);

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

  test('again with the same id, and still signed, when the receiver failed first', async () => {
    const { receiver, secret } = await register();
    receiver.answer = answering(500);
    const event = await write();
    await untilReceived(receiver, 1);
    await until('the failed try to be noted', async () => {
      const [row] = await world.owner`SELECT FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
        WHERE event_id = ${event.id}`;
      return row;
    });
    receiver.answer = answering(204);
    await endPauses(world.owner);
    await untilReceived(receiver, 2);
    await untilStatus(event.id, 'success');
    expect(receiver.received.map((call) => call.headers['webhook-id'])).toStrictEqual([event.id, event.id]);
    expect(receiver.received.map((call) => call.headers['webhook-attempt'])).toStrictEqual(['1', '2']);
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
    expect(() => new Webhook(secret).verify(receiver.received[1]?.body ?? '', headersOf(receiver, 1))).not.toThrow();
  });

  test('again when it is asked for, also to an address that was added since', async () => {
    const early = await register();
    const event = await write();
    await untilReceived(early.receiver, 1);
    await untilStatus(event.id, 'success');
    const late = await register();
    const resent = await world.api.call('POST', `/v1/webhook-events/${event.id}/resend`);
    expect(resent.status).toBe(200);
    expect(resent.body).toMatchObject({ success: true, event_id: event.id, deliveries: 2 });
    await untilReceived(early.receiver, 2);
    await untilReceived(late.receiver, 1);
    for (const call of [...early.receiver.received, ...late.receiver.received]) {
      expect(call.headers['webhook-id']).toBe(event.id);
    }
  });
});

describe('an address', () => {
  test('gets the types that it asked for and no others', async () => {
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

  test('that was removed gets nothing more, not even what was waiting for it', async () => {
    const kept = await register();
    const removed = await register();
    removed.receiver.answer = answering(503);
    await write();
    await untilReceived(kept.receiver, 1);
    await until('what failed to wait', async () => {
      const [waiting] = await world.owner`UPDATE deliveries SET ready_at = now() + interval '1 hour'
        WHERE endpoint_id = ${removed.id} AND attempts = 1 AND locked_until IS NULL RETURNING id`;
      return waiting;
    });
    const answer = await world.api.call('DELETE', `/v1/webhook/${removed.id}`, { headers: { access_token: null } });
    expect(answer.status).toBe(200);
    await endPauses(world.owner);
    const event = await write();
    await untilReceived(kept.receiver, 2);
    await untilStatus(event.id, 'success');
    expect(removed.receiver.received).toHaveLength(1);
  });
});

describe('an expired link', () => {
  test('is reported to the address as login_required, without a job, while the account answers 403', async () => {
    const { receiver, secret } = await register(['login_required']);
    const { api, sandbox } = world;
    await api.control('POST', '/control/sessions/expire');
    const accepted = await api.callIn();
    await untilReceived(receiver, 1);
    const sent = new Webhook(secret).verify(receiver.received[0]?.body ?? '', headersOf(receiver, 0));
    expect(sent).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      object: 'event',
      created: expect.any(String),
      type: 'login_required',
      access_token_reference_id: sandbox.access_token_reference_id,
      data: {
        access_token_reference_id: sandbox.access_token_reference_id,
        user_id: sandbox.user_id,
        org_id: sandbox.org_id,
        emr_name: 'larkspur',
        reason: expect.any(String),
      },
    });
    expect((await api.callIn()).status).toBe(403);
    await api.link({ access_token: sandbox.access_token });
    expect((await api.untilEvent(accepted.body.job_id)).event_type).toBe('telephone_encounter.created');
    expect(receiver.received).toHaveLength(1);
  });
});
