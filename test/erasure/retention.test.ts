import { beforeAll, expect, test } from 'vitest';
import { purgeJobInputs, purgeUnlinkedCaches } from '../../src/product/erasure/retention.ts';
import { newClient } from '../api/support.ts';
import { signInOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { until } from '../journeys/support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Moves a finished job back in time. */
async function age(job_id: number, days: number): Promise<void> {
  await fixture.owner`UPDATE jobs SET finished_at = now() - make_interval(days => ${days}) WHERE id = ${job_id}`;
}

test('requests, references, timelines and error texts of jobs are deleted after their days, and the jobs stay', async () => {
  const referenced = { reference: 'Kept as long as the request' };
  const [old, recent] = [await fixture.api.callIn(referenced), await fixture.api.callIn(referenced)];
  const failed = await fixture.api.callIn({ patient_mrn: 'NOBODY' });
  for (const { body } of [old, recent, failed]) await fixture.api.untilEvent(body.job_id);
  for (const { body } of [old, failed]) await age(body.job_id, 91);
  await age(recent.body.job_id, 89);
  await purgeJobInputs(fixture.ctx, 90);
  const stored = (job_id: number) => fixture.owner`
    SELECT input::text AS input, input_deleted_at IS NOT NULL AS deleted, state, error ->> 'code' AS code,
           error ->> 'message' AS message, reference,
           (SELECT count(*) FROM job_steps WHERE job_steps.job_id = jobs.id)::int AS steps
      FROM jobs JOIN operations ON operations.id = operation_id WHERE jobs.id = ${job_id}`;
  const [gone] = await stored(old.body.job_id);
  expect(gone).toStrictEqual({
    ...{ input: '{}', deleted: true, state: 'succeeded', code: null, message: null, reference: null, steps: 0 },
  });
  const [refused] = await stored(failed.body.job_id);
  expect(refused).toMatchObject({ input: '{}', state: 'failed', code: expect.any(String), message: 'Deleted.' });
  const [kept] = await stored(recent.body.job_id);
  expect(kept).toMatchObject({ ...referenced, deleted: false, input: expect.stringContaining('patient_mrn') });
  expect(kept?.steps).toBeGreaterThan(0);
  const operator = await signInOperator(fixture);
  const again = await operator.post(`clients/{client}/jobs/${failed.body.job_id}/run-again`);
  expect(again.body.message).toBe('Its request was deleted after the retention period. Send a new request.');
});

test('a job that waits for a review keeps its request until it is reviewed', async () => {
  const { job_id } = (await fixture.api.callIn()).body;
  await fixture.api.untilEvent(job_id);
  const deleted = async () => {
    await purgeJobInputs(fixture.ctx, 90);
    const [row] = await fixture.owner<{ deleted: boolean }[]>`SELECT input_deleted_at IS NOT NULL AS deleted
      FROM operations JOIN jobs ON operation_id = operations.id WHERE jobs.id = ${job_id}`;
    return row?.deleted;
  };
  // Made needs_review afterwards: the transition itself is not what is tested.
  await fixture.owner.begin(async (tx) => {
    await tx`ALTER TABLE jobs DISABLE TRIGGER jobs_moves`;
    await tx`UPDATE jobs SET state = 'needs_review', finished_at = now() - interval '91 days' WHERE id = ${job_id}`;
    await tx`ALTER TABLE jobs ENABLE TRIGGER jobs_moves`;
  });
  expect(await deleted()).toBe(false);
  await fixture.owner`UPDATE jobs SET review_outcome = 'done', review_note = 'x', reviewed_by = 'x', reviewed_at = now()
    WHERE id = ${job_id}`;
  expect(await deleted()).toBe(true);
});

test('the records of a practice are deleted some days after its last account was unlinked', async () => {
  const client = await newClient(fixture);
  const access_token = await client.api.link({ user_id: 'leaving', org_id: 'leaving-practice', staff: 8 });
  const count = async () => {
    const [row] = await fixture.owner<
      { n: number }[]
    >`SELECT count(*) AS n FROM patients WHERE client_id = ${client.id}`;
    return row?.n ?? 0;
  };
  await until('the first sync', async () => {
    const done = await fixture.owner`
      SELECT FROM organizations WHERE client_id = ${client.id} AND synced_at IS NOT NULL`;
    return done.length > 0;
  });
  expect(await count()).toBeGreaterThan(0);
  await fixture.owner`UPDATE accounts SET unlinked_at = now() - interval '31 days' WHERE client_id = ${client.id}`;
  await purgeUnlinkedCaches(fixture.ctx, 30);
  expect(await count(), 'a linked practice').toBeGreaterThan(0);
  expect((await client.api.call('DELETE', '/v1/account', { headers: { access_token } })).status).toBe(200);
  await purgeUnlinkedCaches(fixture.ctx, 30);
  expect(await count(), 'unlinked today').toBeGreaterThan(0);
  await fixture.owner`UPDATE accounts SET unlinked_at = now() - interval '31 days' WHERE client_id = ${client.id}`;
  await purgeUnlinkedCaches(fixture.ctx, 30);
  expect(await count()).toBe(0);
  const [organization] = await fixture.owner`SELECT synced_at FROM organizations WHERE client_id = ${client.id}`;
  expect(organization?.synced_at).toBeNull();
});
