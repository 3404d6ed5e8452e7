import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoint } from '../../../src/http/endpoint.ts';
import { buildServer } from '../../../src/http/server.ts';
import { expectApiError, newClient, type OtherClient } from '../../api/support.ts';
import { deferred } from '../../harness/deferred.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
const opened: FastifyInstance[] = [];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
});
afterAll(async () => {
  for (const server of opened) await server.close();
  await fixture.close();
});

/** An API process with one endpoint, whose requests run until the test ends them. */
async function openProcess() {
  const waiting: (() => void)[] = [];
  const server = buildServer(fixture.ctx, [
    endpoint({
      id: 'test.hold',
      surface: 'api',
      group: 'Documents',
      method: 'POST',
      path: '/v1/hold',
      auth: 'client',
      summary: 'Wait',
      quota: 'referral_documents',
      audited: false,
      query: Type.Object({ dry_run: Type.Optional(Type.Boolean()) }),
      body: Type.Object({ content: Type.Optional(Type.String()) }),
      response: Type.Object({ success: Type.Literal(true) }),
      handle: async () => {
        const end = deferred<void>();
        waiting.push(() => end.resolve());
        await end.promise;
        return { success: true };
      },
    }),
  ]);
  opened.push(server);
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const send = ({ client_id, client_secret }: OtherClient, content = '', query = '') =>
    fetch(`${url}/v1/hold${query}`, {
      method: 'POST',
      headers: { client_id, client_secret, 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
    });
  return { send, waiting };
}

test(row('QUO-01'), async () => {
  const client = await newClient(fixture);
  const access_token = await client.api.link({ user_id: 'quota', org_id: 'quota', staff: 1 });
  const send = (path: string) =>
    client.api.call('POST', path, { headers: { access_token }, body: { search_by: 'unknown' } });
  for (let sent = 0; sent < 300; sent += 50) {
    const counted = ['patients/fetch', 'appointments/fetch', 'availability/fetch', 'patients?dry_run=true'];
    const paths = Array.from({ length: 50 }, (_, n) => `/v1/${counted[n % counted.length]}`);
    const responses = await Promise.all(paths.map(send));
    expect(new Set(responses.map(({ status }) => status))).toStrictEqual(new Set([400]));
  }
  // The bucket refills while they are sent: 5 per second.
  const refused = await until('the quota to be used up', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, () => send('/v1/patients/fetch')));
    return responses.find(({ status }) => status === 429);
  });
  expectApiError(refused, 429, 'Quota exceeded: 300 live fetches and dry runs per minute.');
  expect(refused.body.code).toBe('quota_exceeded');
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect((await client.api.call('GET', '/v1/patients', { headers: { access_token } })).status).toBe(200);
  expect((await send('/v1/patients')).status).toBe(400);
  const other = await fixture.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'unknown' } });
  expect(other.status).toBe(400);
});

test(row('QUO-04'), async () => {
  const client = await newClient(fixture);
  const search = () => client.api.call('GET', '/link/directory', { headers: { access_token: null } });
  const first = await Promise.all(Array.from({ length: 300 }, search));
  expect(new Set(first.map(({ status }) => status))).toStrictEqual(new Set([400]));
  const refused = await until('the quota to be used up', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, search));
    return responses.find(({ status }) => status === 429);
  });
  expectApiError(refused, 429, 'Quota exceeded: 300 directory searches per minute.');
  expect((await fixture.api.call('GET', '/link/directory', { headers: { access_token: null } })).status).toBe(400);
});

test(row('QUO-05'), async () => {
  const { send, waiting } = await openProcess();
  const client = await newClient(fixture);
  const running = Array.from({ length: 4 }, () => send(client, '', '?dry_run=true'));
  await until('four requests to run', async () => waiting.length === 4);
  for (const query of ['', '?dry_run=true']) expect((await send(client, '', query)).status).toBe(429);
  for (const end of waiting.splice(0)) end();
  for (const response of await Promise.all(running)) expect(response.status).toBe(200);
});

test(row('QUO-02'), async () => {
  const { send, waiting } = await openProcess();
  const client = await newClient(fixture);
  const large = 'x'.repeat(24 * 1_048_576);
  const running = Array.from({ length: 4 }, (_, n) => send(client, n === 0 ? large : ''));
  await until('four requests to run', async () => waiting.length === 4);
  const fifth = await send(client);
  expect(fifth.status).toBe(429);
  expect(await fifth.json()).toMatchObject({ code: 'quota_exceeded', success: false });
  expect(fifth.headers.get('retry-after')).toBe('2');
  const other = send(await newClient(fixture));
  await until('a request of another client to run', async () => waiting.length === 5);
  for (const end of waiting.splice(0)) end();
  for (const response of await Promise.all([...running, other])) expect(response.status).toBe(200);
  const over = await send(client, 'x'.repeat(25 * 1_048_576));
  expect(over.status).toBe(413);
  expect(await over.json()).toMatchObject({ message: 'Request body exceeds 25 MB.' });
});

test(row('QUO-03'), async () => {
  const [first, second] = [await openProcess(), await openProcess()];
  const client = await newClient(fixture);
  const running = [1, 2, 3, 4].map(() => first.send(client));
  await until('four requests to run', async () => first.waiting.length === 4);
  await until('the other process to know of them', async () => {
    const attempt = second.send(client);
    const sent = await Promise.race([attempt, until('it to run', async () => second.waiting.length > 0)]);
    for (const end of second.waiting.splice(0)) end();
    await attempt;
    return sent instanceof Response && sent.status === 429;
  });
  for (const end of first.waiting.splice(0)) end();
  for (const response of await Promise.all(running)) expect(response.status).toBe(200);
  await until('the slots to be free in the other process', async () => {
    const attempt = second.send(client);
    const sent = await Promise.race([attempt, until('it to run', async () => second.waiting.length > 0)]);
    for (const end of second.waiting.splice(0)) end();
    await attempt;
    return !(sent instanceof Response);
  });
});
