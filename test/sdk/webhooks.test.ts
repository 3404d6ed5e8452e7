import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { fromFetchRequest, fromNodeRequest, signWebhook, verifyWebhook } from '../../sdk/src/webhooks.ts';

const secret = 'whsec_RVhBTVBMRS1FWEFNUExFLUVYQU1QTEUtRVhBTVBMRSE=';
const newer = 'whsec_T1RIRVItT1RIRVItT1RIRVItT1RIRVItT1RIRVItISE=';
const body = JSON.stringify({ id: 'e1', object: 'event', type: 'patient.created', data: { mrn: 'LK100001é' } });

/** Signed by an independent library. */
function signed(by = secret, at = new Date()): Record<string, string> {
  return {
    'webhook-id': 'e1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(by).sign('e1', at, body),
  };
}

test('returns the event, which its type narrows', async () => {
  const event = await verifyWebhook(body, signed(), secret);
  if (event.type !== 'patient.created') throw new Error('another type');
  expect(event.data.mrn).toBe('LK100001é');
});

test('a signed body is accepted by this library and by an independent one', async () => {
  const headers = await signWebhook(body, secret);
  expect((await verifyWebhook(body, headers, secret)).type).toBe('patient.created');
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'patient.created' });
  const at = new Date();
  expect(await signWebhook(body, secret, { id: 'e1', timestamp: at })).toStrictEqual(signed(secret, at));
  await expect(verifyWebhook(body, await signWebhook(body, newer), secret)).rejects.toThrow(/does not match/);
});

test('accepts any of two secrets and any of several signatures', async () => {
  await verifyWebhook(body, signed(newer), [secret, newer]);
  const both = {
    ...signed(),
    'webhook-signature': `${signed(newer)['webhook-signature']} ${signed()['webhook-signature']}`,
  };
  await verifyWebhook(new TextEncoder().encode(body), new Headers(both), secret);
});

test.each([
  ['another secret', body, signed(newer), /signature does not match/],
  ['a changed body', body.replace('LK', 'XX'), signed(), /signature does not match/],
  ['an old request', body, signed(secret, new Date(Date.now() - 301_000)), /too old/],
  ['a request from the future', body, signed(secret, new Date(Date.now() + 302_000)), /too old/],
  ['no signature', body, { ...signed(), 'webhook-signature': '' }, /webhook-signature is missing/],
  ['a signature that is not base64', body, { ...signed(), 'webhook-signature': 'v1,***' }, /does not match/],
  [
    'another version',
    body,
    { ...signed(), 'webhook-signature': signed()['webhook-signature']?.replace('v1', 'v2') },
    /does not match/,
  ],
])('rejects %s', async (_what, sent, headers, message) => {
  await expect(verifyWebhook(sent, headers, secret)).rejects.toThrow(message);
});

test('the tolerance can be changed', async () => {
  await verifyWebhook(body, signed(secret, new Date(Date.now() - 400_000)), secret, { toleranceSeconds: 600 });
});

test('reads requests of Node and of Fetch', async () => {
  const verified: string[] = [];
  const server = createServer(async (request, response) => {
    const received = await fromNodeRequest(request);
    verified.push((await verifyWebhook(received.body, received.headers, secret)).type);
    await expect(fromNodeRequest(request)).rejects.toThrow(/already been parsed/);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await fetch(url, { method: 'POST', headers: signed(), body });
  const received = await fromFetchRequest(new Request(url, { method: 'POST', headers: signed(), body }));
  verified.push((await verifyWebhook(received.body, received.headers, secret)).type);
  expect(verified).toStrictEqual(['patient.created', 'patient.created']);
});
