import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { respondWith } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, until } from '../../journeys/support.ts';
import { completeCall } from '../support/completedJobs.ts';
import { type Registered, readHeaders, register, untilReceived } from './receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Waits for so many delivery attempts to this endpoint, then ends the pause before the next one. */
async function awaitAttempts({ id }: Registered, count: number): Promise<void> {
  await until(`${count} attempts`, async () => {
    const attempts = await fixture.owner`SELECT FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
      WHERE endpoint_id = ${id}`;
    return attempts.length >= count;
  });
  await endPauses(fixture.owner);
}

const rotate = (id: string) =>
  fixture.api.call('POST', `/v1/webhook/${id}/rotate-secret`, { headers: { access_token: null } });

/** The Standard Webhooks signature: base64 of HMAC-SHA256 over id, timestamp and body. */
function computeSignature({ receiver }: Registered, n: number, secret: string): string {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = readHeaders(receiver, n);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const content = `${id}.${timestamp}.${receiver.received[n]?.body}`;
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

test(row('DEC-344'), async () => {
  const before_s = Math.floor(Date.now() / 1000);
  const registered = await register(fixture, { respond: respondWith(500) });
  const { event } = await completeCall(fixture);
  await untilReceived(registered.receiver, 1);
  await awaitAttempts(registered, 1);
  await untilReceived(registered.receiver, 2);
  for (const n of [0, 1]) {
    const headers = readHeaders(registered.receiver, n);
    expect(headers['webhook-id']).toBe(event.id);
    expect(headers['webhook-timestamp']).toMatch(/^\d{10}$/);
    const sent_s = Number(headers['webhook-timestamp']);
    expect(sent_s).toBeGreaterThanOrEqual(before_s);
    expect(sent_s).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
    // The package of Standard Webhooks accepts it.
    const body = registered.receiver.received[n]?.body ?? '';
    expect(() => new Webhook(registered.secret).verify(body, headers)).not.toThrow();
    expect(() => new Webhook(registered.secret).verify(`${body} `, headers)).toThrow();
  }
});

test(row('DEC-345'), async () => {
  const registered = await register(fixture);
  const secrets = [registered.secret];
  for (const live of [1, 2, 3]) {
    await completeCall(fixture);
    await untilReceived(registered.receiver, live);
    const signatures = readHeaders(registered.receiver, live - 1)['webhook-signature']?.split(' ');
    const expected = secrets.map((secret) => computeSignature(registered, live - 1, secret));
    expect(signatures?.sort()).toStrictEqual(expected.sort());
    secrets.push((await rotate(registered.id)).body.webhook_secret);
  }
  // Expired secrets no longer sign.
  await fixture.owner`UPDATE webhook_secrets SET expires_at = now() - interval '1 second'
    WHERE endpoint_id = ${registered.id} AND expires_at IS NOT NULL`;
  await completeCall(fixture);
  await untilReceived(registered.receiver, 4);
  const newest = computeSignature(registered, 3, secrets.at(-1) ?? '');
  expect(readHeaders(registered.receiver, 3)['webhook-signature']).toBe(newest);
});

test(row('DEC-346'), async () => {
  const registered = await register(fixture, { respond: respondWith(500) });
  await completeCall(fixture);
  for (const attempt of [1, 2, 3]) {
    await untilReceived(registered.receiver, attempt);
    expect(readHeaders(registered.receiver, attempt - 1)['webhook-attempt']).toBe(String(attempt));
    await awaitAttempts(registered, attempt);
  }
});

test(row('DEC-347'), async () => {
  const registered = await register(fixture);
  const { receiver } = registered;
  const verification = (n: number, secret: string) =>
    createHmac('sha256', secret)
      .update(receiver.received[n]?.body ?? '', 'utf8')
      .digest('hex');
  await completeCall(fixture, { reason: 'Umlaut é 💊' });
  await untilReceived(receiver, 1);
  expect(registered.secret).toMatch(/^whsec_/);
  expect(readHeaders(receiver, 0)['cobalt-verification']).toBe(verification(0, registered.secret));
  const newest: string = (await rotate(registered.id)).body.webhook_secret;
  await completeCall(fixture);
  await untilReceived(receiver, 2);
  expect(readHeaders(receiver, 1)['cobalt-verification']).toBe(verification(1, newest));
});
