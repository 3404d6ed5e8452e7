import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { ClientScope } from '../../src/platform/db/fragments.ts';
import { startLive } from '../../src/surfaces/dashboard/app/live.ts';
import { newClient } from '../api/support.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { polling } from './eventsFixture.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture?.close());

async function openStreams() {
  const listeners: ((payload: string | undefined) => void)[] = [];
  const listen = async (_channel: string, onNotification: (payload: string | undefined) => void) => {
    listeners.push(onNotification);
  };
  const live = await startLive({ notifications: { listen, notify: () => {}, notifyHere: () => {} } });
  const opened: (Readable | undefined)[] = [];
  onTestFinished(() => {
    for (const stream of opened) stream?.destroy();
  });
  const open = (session: string) => {
    const scope: ClientScope = 'all';
    const stream = live.open({ session, operator_id: 'operator', scope, readScope: async () => scope });
    opened.push(stream);
    return stream;
  };
  return { open, announce: () => listeners.map((each) => each(undefined)) };
}

test('a session can have 20 streams, and another one after one has ended', async () => {
  const { open } = await openStreams();
  const streams = Array.from({ length: 20 }, () => open('a'));
  expect(streams.every((stream) => stream !== undefined)).toBe(true);
  expect(open('a')).toBeUndefined();
  expect(open('b')).toBeDefined();
  streams[0]?.destroy();
  await once(streams[0] ?? process, 'close');
  expect(open('a')).toBeDefined();
  expect(open('a')).toBeUndefined();
});

test('a stream that nobody reads is closed before it takes much memory', async () => {
  const { open, announce } = await openStreams();
  const [unread, read] = [open('a'), open('a')];
  read?.resume();
  for (let n = 0; n < 3000 && !unread?.destroyed; n++) {
    announce();
    await new Promise(setImmediate);
  }
  expect([unread?.destroyed, read?.destroyed]).toStrictEqual([true, false]);
});

/** Opens an operator's stream and returns the topics that it reports, as they arrive. */
async function listenAs({ cookie }: TestOperator): Promise<string[]> {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const url = `${fixture.sandbox.base_url}/dashboard/api/live`;
  const { status, body } = await fetch(url, { headers: { cookie }, signal: ending.signal });
  expect(status).toBe(200);
  const topics: string[] = [];
  const read = async () => {
    let unread = '';
    for await (const part of body ?? []) {
      const messages = (unread + Buffer.from(part).toString()).split('\n\n');
      unread = messages.pop() ?? '';
      topics.push(...messages.flatMap((message) => /^event: changed\ndata: (\w+)$/.exec(message)?.[1] ?? []));
    }
  };
  // It ends with the test.
  read().catch(() => undefined);
  return topics;
}

test('each of two operators at the same time learns only of changes at their own client', async () => {
  const owner = await signInOperator(fixture);
  const other = await newClient(fixture);
  const createOperator = (client_id: string) =>
    newOperator(fixture, 'operator', { clients: [{ client_id, role: 'operator' }] });
  const here = await listenAs(await createOperator(fixture.sandbox.client_id));
  const there = await listenAs(await createOperator(other.client_id));
  const everywhere = await listenAs(owner);

  const webhook = { webhook_url: 'http://127.0.0.1:9/unreachable' };
  expect((await owner.post(`clients/${other.client_id}/webhooks`, webhook)).status).toBe(200);
  // A linked account, its sync and the event of a write.
  const access_token = await other.api.link({ user_id: 'other', org_id: 'other-practice', staff: 1 });
  const { body } = await other.api.call('POST', '/v1/sync', { body: {}, headers: { access_token } });
  expect(body.success).toBe(true);
  const all = ['accounts', 'events', 'jobs'];
  await vi.waitFor(() => expect([...new Set(there)].sort()).toStrictEqual(all), polling);
  await vi.waitFor(() => expect([...new Set(everywhere)].sort()).toStrictEqual(all), polling);
  expect(here).toStrictEqual([]);

  expect((await owner.patch('clients/{client}', { name: 'Renamed' })).status).toBe(200);
  await vi.waitFor(() => expect(here).toStrictEqual(['accounts']), polling);
});
