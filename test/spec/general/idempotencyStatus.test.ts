import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTwin } from '../../api/runTwin.ts';
import { expectRefusal } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/journey.ts';
import { acceptedWork } from '../support/databaseState.ts';
import { quietSyncs } from '../support/pauseSyncs.ts';
import { sendDocument } from '../support/sendDocument.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
  await quietSyncs(world);
});
afterAll(() => world.close());

const keyed = (key: string) => ({ 'idempotency-key': key });
const waiting = () =>
  until('the request to wait', async () => {
    const rows = await world.owner`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows.length > 0;
  });

test(row('DEC-057'), async () => {
  const key = randomUUID();
  const before = await acceptedWork(world);
  const twin = await runTwin(world, key);
  const began = performance.now();
  const answer = await world.api.callIn({}, keyed(key));
  // It may be later on a busy machine, never earlier.
  expect(performance.now() - began).toBeGreaterThan(4900);
  await twin.letGo();
  const message = 'A request with this Idempotency-Key is still running. Try again in a moment.';
  expectRefusal(answer, 409, message);
  expect(await acceptedWork(world)).toStrictEqual(before);
  // A twin that ends while the other waits lets it through.
  const again = await runTwin(world, key);
  const request = world.api.callIn({}, keyed(key));
  await waiting();
  await again.letGo();
  expect((await request).status).toBe(200);
});

test(row('DEC-058'), async () => {
  const message = 'This Idempotency-Key was already used with a different request. Use a new key for each request.';
  const key = randomUUID();
  expect((await world.api.callIn({ reason: 'One' }, keyed(key))).status).toBe(200);
  const before = await acceptedWork(world);
  for (const fields of [{ reason: 'Two' }, {}, { reason: 'One', caller: 'Spouse' }]) {
    expectRefusal(await world.api.callIn(fields, keyed(key)), 422, message);
  }
  expect(await acceptedWork(world)).toStrictEqual(before);
  expect((await world.api.callIn({ reason: 'One' }, keyed(key))).status).toBe(200);
  for (const [method, path, first, second] of [
    ['POST', '/v1/patients/fetch', { search_by: 'mrn', mrn: 'a' }, { search_by: 'mrn', mrn: 'b' }],
    ['POST', '/v1/webhook', { webhook_url: 'http://127.0.0.1:9/a' }, { webhook_url: 'http://127.0.0.1:9/b' }],
    ['PATCH', '/v1/providers/ehr/501', { status: 'active' }, { status: 'inactive' }],
    [
      'POST',
      '/link/token/create',
      { user_id: 'a', org_id: world.sandbox.org_id },
      { user_id: 'b', org_id: world.sandbox.org_id },
    ],
  ] as const) {
    const headers = keyed(randomUUID());
    expect((await world.api.call(method, path, { body: first, headers })).status, path).toBe(200);
    expectRefusal(await world.api.call(method, path, { body: second, headers }), 422, message);
  }
  const form = keyed(randomUUID());
  expect((await sendDocument(world, { notes: 'a' }, undefined, form)).status).toBe(200);
  expectRefusal(await sendDocument(world, { notes: 'b' }, undefined, form), 422, message);
});
