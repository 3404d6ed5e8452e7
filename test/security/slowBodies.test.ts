import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

/** Sends the headers and the first byte of a request, and the rest when `finish` is called. */
async function startRequest(path: string, headers: Record<string, string>, body: unknown) {
  const text = JSON.stringify(body);
  const sent = request(new URL(path, fixture.sandbox.base_url), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) },
  });
  const responded = new Promise<number>((resolve, reject) => {
    sent.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject);
  });
  sent.write(text.slice(0, 1));
  // The headers have arrived and were accepted; a request is admitted by them for half a second.
  await pause(700);
  return (): Promise<number> => {
    sent.end(text.slice(1));
    return responded;
  };
}

function asOperator({ cookie, csrf_token }: TestOperator): Record<string, string> {
  return { cookie, 'x-csrf-token': csrf_token, origin: new URL(fixture.sandbox.base_url).origin };
}

test('a request of an operator who is disabled while its body arrives changes nothing', async () => {
  const disabled = await newOperator(fixture, 'owner');
  const path = `/dashboard/api/clients/${fixture.sandbox.client_id}/webhooks`;
  const url = 'https://receiver.example.test/late';
  const finish = await startRequest(path, asOperator(disabled), { url });
  expect((await owner.patch(`operators/${disabled.id}`, { disabled: true })).status).toBe(200);
  expect(await finish()).toBe(401);
  expect(await fixture.owner`SELECT FROM webhook_endpoints WHERE url = ${url}`).toHaveLength(0);
});

test('a request of an operator who loses the role while its body arrives changes nothing', async () => {
  const demoted = await newOperator(fixture, 'owner');
  const finish = await startRequest('/dashboard/api/invitations', asOperator(demoted), {
    email: 'late@example.test',
    role: 'owner',
  });
  await fixture.owner`UPDATE operators SET role = 'support' WHERE id = ${demoted.id}`;
  expect([401, 403]).toContain(await finish());
  expect(await fixture.owner`SELECT FROM operator_invitations WHERE email = 'late@example.test'`).toHaveLength(0);
});

test('a request whose client secret is revoked while its body arrives returns no data', async () => {
  const { client_id, client_secret, access_token } = fixture.sandbox;
  const headers = { client_id, client_secret, access_token };
  const in_time = await startRequest('/v1/patients/search', headers, { page_size: 1 });
  expect(await in_time()).toBe(200);
  const late = await startRequest('/v1/patients/search', headers, { page_size: 1 });
  await fixture.owner`UPDATE client_secrets SET revoked_at = now()`;
  fixture.ctx.lookups.clear();
  expect(await late()).toBe(401);
});
