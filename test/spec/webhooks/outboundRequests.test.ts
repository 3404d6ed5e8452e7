import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { expectApiError, startProduction } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, respondWith, startReceiver } from '../../harness/servers/receiver.ts';
import { until } from '../../journeys/support.ts';
import { completeCall } from '../support/completedJobs.ts';
import { register, registerUrl, removeWebhook, untilReceived, untilStatus } from './receivers.ts';
import { stubDns } from './stubDns.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({
    small: true,
    env: { OUTBOUND_ALLOW_WEBHOOKS: 'allowed.example,10.1.2.3:8443', OUTBOUND_ALLOW_EMR: 'emr.example' },
  });
});
afterAll(() => fixture.close());

const registerWebhook = (api: Api, webhook_url: string) =>
  api.call('POST', '/v1/webhook', { body: { webhook_url }, headers: { access_token: null } });

const must_use_https = 'webhook_url must use https.';
const is_private = 'webhook_url points to a private or local address.';

async function expectRefusedUrl(api: Api, webhook_url: string, message: string): Promise<void> {
  expectApiError(await registerWebhook(api, webhook_url), 400, message, 'webhook_url');
  const { body } = await api.call('GET', '/v1/webhook', { headers: { access_token: null } });
  expect(body.webhook_urls.map(({ url }: { url: string }) => url)).not.toContain(webhook_url);
}

/** Registers a webhook until the test finishes. */
async function registerFor(url: string): Promise<string> {
  const { id } = await registerUrl(fixture.api, url);
  onTestFinished(async () => void (await removeWebhook(fixture.api, id)));
  return id;
}

/** The outcome of the first attempt of each delivery of an event, by endpoint. */
async function firstTries(event_id: string, count: number): Promise<Map<string, string | null>> {
  const rows = await until('every delivery to be attempted', async () => {
    const attempts = await fixture.owner<{ endpoint_id: string; problem: string | null }[]>`
      SELECT endpoint_id, problem FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
       WHERE event_id = ${event_id} AND attempt = 1`;
    return attempts.length === count && attempts;
  });
  return new Map(rows.map(({ endpoint_id, problem }) => [endpoint_id, problem]));
}

const readPort = ({ url }: Receiver) => new URL(url).port;

test(row('DEC-338'), async () => {
  const production = await startProduction();
  onTestFinished(production.close);
  for (const url of ['http://app.example.org/hook', 'ftp://app.example.org/hook', 'http://93.184.216.34/']) {
    await expectRefusedUrl(fixture.api, url, must_use_https);
    await expectRefusedUrl(production.api, url, must_use_https);
  }
  for (const url of ['http://127.0.0.1:9/', 'http://localhost:9/']) {
    await expectRefusedUrl(production.api, url, must_use_https);
  }
  for (const api of [fixture.api, production.api]) {
    const response = await registerWebhook(api, 'https://app.example.org/hook');
    expect([response.status, response.body.webhook_url]).toStrictEqual([200, 'https://app.example.org/hook']);
    await removeWebhook(api, response.body.webhook_id);
  }
});

test(row('DEC-339'), async () => {
  const { receiver } = await register(fixture);
  const named = await startReceiver();
  onTestFinished(named.close);
  await registerFor(`http://localhost:${readPort(named)}/hook`);
  await registerFor('http://[::1]:9/hook');
  await completeCall(fixture);
  await untilReceived(receiver, 1);
  // Localhost may resolve to ::1 first, where nothing listens; what matters is that the local host is called.
  await until('localhost to be called', async () => named.received.length > 0);
  for (const url of ['http://10.0.0.1/', 'http://app.example.org/', 'http://169.254.169.254/']) {
    await expectRefusedUrl(fixture.api, url, must_use_https);
  }
});

test(row('DEC-340'), async () => {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const lookups = stubDns({ 'allowed.example': [['127.0.0.1']], 'other.example': [['127.0.0.1']] });
  await registerFor(`http://allowed.example:${readPort(receiver)}/hook`);
  const other = await registerFor(`https://other.example:${readPort(receiver)}/hook`);
  const listed = await registerWebhook(fixture.api, 'https://10.1.2.3:8443/hook');
  expect(listed.status).toBe(200);
  await removeWebhook(fixture.api, listed.body.webhook_id);
  const { event } = await completeCall(fixture);
  await untilReceived(receiver, 1);
  expect(lookups).toContain('allowed.example');
  const attempts = await firstTries(event.id, 2);
  expect(attempts.get(other)).toMatch(/private or local address/);
  // Listed with a port, so another port is rejected, and so are hosts that are not listed.
  await expectRefusedUrl(fixture.api, 'https://10.1.2.3/hook', is_private);
  await expectRefusedUrl(fixture.api, 'https://10.1.2.4:8443/hook', is_private);
  await expectRefusedUrl(fixture.api, 'http://other.example/hook', must_use_https);
  // Listed for EMRs only: a webhook must not reach a host that was opened for an EMR.
  await expectRefusedUrl(fixture.api, 'http://emr.example/hook', must_use_https);
});

test(row('DEC-341'), async () => {
  const first = await startReceiver();
  onTestFinished(first.close);
  // The port is open at the address that a second lookup would return.
  let second_called = 0;
  const second = createServer((_, response) => {
    second_called += 1;
    response.end();
  }).listen(Number(readPort(first)), '127.0.0.2');
  await once(second, 'listening');
  onTestFinished(async () => void second.close());
  const name = 'rebound.localhost';
  const lookups = stubDns({ [name]: [['127.0.0.1'], ['127.0.0.2']] });
  await registerFor(`http://${name}:${readPort(first)}/hook`);
  await completeCall(fixture);
  await untilReceived(first, 1);
  expect(lookups).toStrictEqual([name]);
  expect(second_called).toBe(0);
  expect(first.received[0]?.headers.host).toBe(`${name}:${readPort(first)}`);
});

test(row('DEC-342'), async () => {
  const ranges: Record<string, string[]> = {
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
    loopback: ['127.0.0.1', '127.255.0.1', '::1'],
    link_local: ['169.254.0.1', 'fe80::1'],
    metadata: ['169.254.169.254', 'fd00:ec2::254'],
    mapped: ['::ffff:10.0.0.1', '::ffff:127.0.0.1', '::ffff:169.254.169.254', '::ffff:a00:1'],
  };
  const addresses = Object.values(ranges).flat();
  const production = await startProduction();
  onTestFinished(production.close);
  for (const address of addresses) {
    const host = address.includes(':') ? `[${address}]` : address;
    await expectRefusedUrl(production.api, `https://${host}/hook`, is_private);
  }
  // A name is resolved when the call is made, before the connection.
  let connected = 0;
  const listener = createTcpServer(() => {
    connected += 1;
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(async () => void listener.close());
  const port = Object(listener.address()).port;
  const names = addresses.map((_, n) => `inside-${n}.example.org`);
  stubDns(Object.fromEntries(names.map((name, n) => [name, [['93.184.216.34', addresses[n] ?? '']]])));
  const ids: string[] = [];
  for (const name of names) ids.push(await registerFor(`https://${name}:${port}/hook`));
  const { event } = await completeCall(fixture);
  const attempts = await firstTries(event.id, ids.length);
  for (const [n, id] of ids.entries()) expect(attempts.get(id), addresses[n]).toMatch(/private or local address/);
  expect(connected).toBe(0);
});

test(row('DEC-343'), async () => {
  const elsewhere = await startReceiver();
  onTestFinished(elsewhere.close);
  const { receiver, id } = await register(fixture);
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.respond = respondWith(status, { location: elsewhere.url });
    const { event } = await completeCall(fixture);
    expect((await firstTries(event.id, 1)).get(id)).toContain(String(status));
    await untilStatus(fixture, event.id, 'pending');
  }
  const first_tries = receiver.received.filter(({ headers }) => headers['webhook-attempt'] === '1');
  expect([first_tries.length, elsewhere.received.length]).toStrictEqual([5, 0]);
});
