import { beforeAll, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

test('each of many concurrent writes has one audit record, with the id of its own request', async () => {
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, n) => fixture.api.callIn({ reason: `Together ${n}` })),
  );
  expect(responses.map(({ status }) => status)).toStrictEqual(Array(30).fill(200));
  const ids = responses.map(({ body }) => body.job_id);
  const records = await fixture.owner<{ request_id: string }[]>`
    SELECT record.request_id FROM jobs JOIN audit_records AS record
        ON record.subject = replace(jobs.operation_id::text, '-', '') AND record.actor_kind = 'client'
     WHERE jobs.id = ANY (${ids})`;
  const sent = responses.map(({ headers }) => headers.get('x-request-id'));
  expect(records.map(({ request_id }) => request_id).sort()).toStrictEqual(sent.sort());
});

test('concurrent writes are each checked against their own references', async () => {
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      fixture.api.callIn(n % 3 === 0 ? {} : n % 3 === 1 ? { provider_id: `P${n}` } : { assigned_to_id: `S${n}` }),
    ),
  );
  for (const [n, { status, body }] of responses.entries()) {
    if (n % 3 === 0) expect(status).toBe(200);
    else {
      expect([status, body.field]).toStrictEqual([404, n % 3 === 1 ? 'provider_id' : 'assigned_to_id']);
      expect(JSON.stringify(body)).toContain(n % 3 === 1 ? `P${n}` : `S${n}`);
    }
  }
});
