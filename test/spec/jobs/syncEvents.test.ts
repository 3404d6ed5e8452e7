import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestDueSyncs } from '../../../src/product/records/syncPasses.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { complete, completeCall, failedSync } from '../support/completedJobs.ts';
import { register, untilStatus } from '../webhooks/receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

test(row('DEC-318'), async () => {
  const completed = await complete(fixture, '/v1/sync', {});
  expect(completed.event.event_type).toBe('sync.completed');
  expect(completed.event.data.records.patients).toBe(200);
  const failed = await failedSync(fixture);
  expect(failed.event.event_type).toBe('sync.failed');
  expect(failed.event.data.failure_reason).toMatch(/Larkspur/);
});

test(row('DEC-319'), async () => {
  const { receiver } = await register(fixture);
  const count = async () => (await fixture.api.call('GET', '/v1/webhook-events')).body.pagination.total_count;
  const before = await count();
  await fixture.api.control('PATCH', '/control/providers/502', { displayName: 'Renamed Overnight, MD' });
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second'`;
  await requestDueSyncs(fixture.ctx);
  await until('the scheduled sync', async () => {
    const { body } = await fixture.api.call('GET', '/v1/providers');
    return body.providers.some(({ name }: { name: string }) => name === 'Renamed Overnight, MD');
  });
  await until('the sync to finish', async () => {
    const [row] = await fixture.owner<
      { finished: boolean }[]
    >`SELECT bool_and(finished_at IS NOT NULL) AS finished FROM jobs`;
    return row?.finished;
  });
  expect(await count()).toBe(before);
  const { event } = await completeCall(fixture);
  await untilStatus(fixture, event.id, 'success');
  expect(receiver.received.map((call) => JSON.parse(call.body).id)).toStrictEqual([event.id]);
});
