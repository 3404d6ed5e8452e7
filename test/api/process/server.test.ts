import { Type } from 'typebox';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Endpoint, endpoint } from '../../../src/http/endpoint.ts';
import { buildServer } from '../../../src/http/server.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const common = { id: 'test', surface: 'link_page', auth: 'none', summary: 'Test', response: Type.Object({}) } as const;

/** A server with one endpoint, in the context of the sandbox. */
function serve(declared: Endpoint, config: Partial<TestSandbox['ctx']['config']> = {}) {
  const server = buildServer({ ...fixture.ctx, config: { ...fixture.ctx.config, ...config } }, [declared]);
  onTestFinished(async () => {
    await server.close();
  });
  return server;
}

test('returns 503 with retry-after for more uploads than may wait, and handles those that wait', async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let [handled, most] = [0, 0];
  const upload = endpoint({
    ...common,
    method: 'POST',
    path: '/upload',
    body: Type.Object({ document: Type.String() }),
    file_field: 'document',
    handle: async () => {
      handled += 1;
      most = Math.max(most, handled);
      await finished;
      handled -= 1;
      return {};
    },
  });
  const server = serve(upload, { uploads_parallel: 8 });
  const form = '--x\r\ncontent-disposition: form-data; name="document"; filename="a"\r\n\r\nabc\r\n--x--\r\n';
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const send = () => server.inject({ method: 'POST', url: '/upload', headers, payload: form });
  // A client can have 4 of 8 slots, and 32 requests that wait.
  const responses = Array.from({ length: 40 }, send);
  const refused = await Promise.race(responses);
  expect([refused.statusCode, refused.headers['retry-after'], refused.json().code]).toStrictEqual([
    503,
    '2',
    'uploads_busy',
  ]);
  await expect.poll(() => handled).toBe(4);
  finish();
  const statuses = (await Promise.all(responses)).map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200)).toHaveLength(36);
  expect(statuses.filter((status) => status === 503)).toHaveLength(4);
  expect(most).toBe(4);
});

test('returns 503 for a statement that the database cancelled', async () => {
  const slow = endpoint({
    ...common,
    method: 'GET',
    path: '/slow',
    handle: async ({ ctx }) =>
      ctx.db.system.begin(async (tx) => {
        await tx`SET LOCAL statement_timeout = '1ms'`;
        await tx`SELECT pg_sleep(10)`;
        return {};
      }),
  });
  const response = await serve(slow).inject({ method: 'GET', url: '/slow' });
  expect([response.statusCode, response.json().code]).toStrictEqual([503, 'database_slow']);
});
