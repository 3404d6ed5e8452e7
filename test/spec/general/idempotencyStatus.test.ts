import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { holdKey } from '../../api/holdKey.ts';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { until } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { sendDocument } from '../support/sendDocument.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
  await pauseSyncs(fixture);
});

const keyed = (key: string) => ({ 'idempotency-key': key });
const waiting = () =>
  until('the request to wait', async () => {
    const rows = await fixture.owner`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows.length > 0;
  });

test(row('DEC-057'), async () => {
  const key = randomUUID();
  const before = await countAcceptedWork(fixture);
  const running = await holdKey(fixture, key);
  const started_at = performance.now();
  const response = await fixture.api.callIn({}, keyed(key));
  // It may take longer on a busy machine, but not less.
  expect(performance.now() - started_at).toBeGreaterThan(4900);
  await running.release();
  const message = 'A request with this Idempotency-Key is still running. Try again in a moment.';
  expectApiError(response, 409, message);
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  // If the first request ends while the second waits, the second one proceeds.
  const again = await holdKey(fixture, key);
  const request = fixture.api.callIn({}, keyed(key));
  await waiting();
  await again.release();
  expect((await request).status).toBe(200);
});

test(row('DEC-058'), async () => {
  const message = 'This Idempotency-Key was already used with a different request. Use a new key for each request.';
  const key = randomUUID();
  expect((await fixture.api.callIn({ reason: 'One' }, keyed(key))).status).toBe(200);
  const before = await countAcceptedWork(fixture);
  for (const fields of [{ reason: 'Two' }, {}, { reason: 'One', caller: 'Spouse' }]) {
    expectApiError(await fixture.api.callIn(fields, keyed(key)), 422, message);
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  expect((await fixture.api.callIn({ reason: 'One' }, keyed(key))).status).toBe(200);
  for (const [method, path, first, second] of [
    ['POST', '/v1/patients/fetch', { search_by: 'mrn', mrn: 'a' }, { search_by: 'mrn', mrn: 'b' }],
    ['POST', '/v1/webhook', { webhook_url: 'http://127.0.0.1:9/a' }, { webhook_url: 'http://127.0.0.1:9/b' }],
    ['PATCH', '/v1/providers/ehr/501', { status: 'active' }, { status: 'inactive' }],
    [
      'POST',
      '/link/token/create',
      { user_id: 'a', org_id: fixture.sandbox.org_id },
      { user_id: 'b', org_id: fixture.sandbox.org_id },
    ],
  ] as const) {
    const headers = keyed(randomUUID());
    expect((await fixture.api.call(method, path, { body: first, headers })).status, path).toBe(200);
    expectApiError(await fixture.api.call(method, path, { body: second, headers }), 422, message);
  }
  const form = keyed(randomUUID());
  expect((await sendDocument(fixture, { notes: 'a' }, undefined, form)).status).toBe(200);
  expectApiError(await sendDocument(fixture, { notes: 'b' }, undefined, form), 422, message);
});
