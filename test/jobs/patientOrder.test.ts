import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { claimLeases, type Lease } from '../../src/platform/db/lease.ts';
import { deferJob, type Job } from '../../src/product/jobs/jobs.ts';
import { endJob, type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

async function startAll(): Promise<{ lease: Lease; job: Job }[]> {
  const leases = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 10, lease_ms: 60_000 });
  const started = await Promise.all(
    leases.map(async (lease) => {
      const job = await fixture.db.tenant(fixture.tenant.client_id, (tx) => startNextJob(tx, lease));
      if (!job) throw new Error('Expected a job.');
      return { lease, job };
    }),
  );
  return started.sort((a, b) => a.job.id - b.job.id);
}

/** As after a sync of a patient while a write by MRN was being accepted: the patient's jobs are in two lanes. */
test('a job in the lane by MRN waits for an earlier one in the patient’s lane, but not for a later one', async () => {
  const { client_id, organization_id } = fixture.tenant;
  const patient_id = newId();
  await fixture.owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, mrn, status, first_folded, last_folded,
      doc, source_hash, seen_in)
    VALUES (${patient_id}, ${client_id}, ${organization_id}, '7', 'SYN7', 'active', '', '', '{}', '', 0)`;
  await fixture.queue(`patient:${patient_id}`);
  await fixture.queue('mrn:SYN7');
  await fixture.queue('mrn:SYN8');
  const [first, second, other] = await startAll();
  if (!first || !second || !other) throw new Error('Expected three jobs.');
  expect([first, second, other].map(({ job }) => job.overtakes)).toStrictEqual([false, true, false]);

  await fixture.db.tenant(client_id, (tx) => deferJob(tx, second, 0));
  await fixture.db.tenant(client_id, (tx) => endJob(tx, first.lease, first.job));
  await fixture.queue(`patient:${patient_id}`);
  const [again, later] = await startAll();
  expect([again?.job.id, again?.job.overtakes]).toStrictEqual([second.job.id, false]);
  expect(later?.job.overtakes).toBe(false);
});
