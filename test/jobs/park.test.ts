import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimLeases } from '../../src/platform/db/lease.ts';
import {
  findExpiredParkedJobs,
  parkJobs,
  parkRunningJob,
  unparkExpiredJob,
  unparkJobs,
} from '../../src/product/jobs/park.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
let other: Tenant;
beforeAll(async () => {
  fixture = await openFixture();
  // A second account of the same organization.
  const { client_id, organization_id } = fixture.tenant;
  other = await createTenant(fixture.owner, { client_id, organization_id });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.owner`TRUNCATE lanes, jobs CASCADE`;
  await fixture.owner`UPDATE accounts SET status = 'active'`;
});

const tenant = <T>(work: Parameters<typeof fixture.db.tenant<T>>[1]) =>
  fixture.db.tenant(fixture.tenant.client_id, work);
/** Claims every lane and starts its next job. */
async function startAll(): Promise<number[]> {
  const leases = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 50, lease_ms: 10_000 });
  const jobs = await Promise.all(leases.map((lease) => tenant((tx) => startNextJob(tx, lease))));
  return jobs.flatMap((job) => (job ? [job.id] : [])).sort((a, b) => a - b);
}
const releaseAll = () => fixture.owner`UPDATE lanes SET locked_until = NULL`;

describe('parking', () => {
  test('lets jobs of another account run, also for the same patient', async () => {
    await fixture.queue('shared');
    await fixture.queue('alone');
    const passing = await fixture.queue('shared', other);
    await tenant((tx) => parkJobs(tx, fixture.tenant.account_id));
    expect(await startAll()).toStrictEqual([passing]);
  });

  test('ends with the jobs back in order of acceptance, ahead of later ones', async () => {
    const first = await fixture.queue('shared');
    const alone = await fixture.queue('alone');
    await tenant((tx) => parkJobs(tx, fixture.tenant.account_id));
    await fixture.queue('shared', other);
    await tenant((tx) => unparkJobs(tx, fixture.tenant.account_id, 4));
    expect(await startAll()).toStrictEqual([first, alone]);
  });

  test('keeps the retry pause of lanes of other accounts', async () => {
    await fixture.queue('waiting', other);
    await fixture.owner`UPDATE lanes SET ready_at = now() + interval '1 minute'`;
    await fixture.queue('parked');
    await tenant((tx) => parkJobs(tx, fixture.tenant.account_id));
    expect(await startAll()).toStrictEqual([]);
    expect(await fixture.owner`SELECT FROM lanes`).toHaveLength(1);
  });

  test('a running job passes its lane on, but is not parked if the account was just re-linked', async () => {
    const first = await fixture.queue('shared');
    const second = await fixture.queue('shared', other);
    const [lease] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    const job = lease && (await tenant((tx) => startNextJob(tx, lease)));
    if (!lease || !job) throw new Error('Expected a job.');
    await tenant((tx) => parkRunningJob(tx, { lease, job }));
    expect(await startAll()).toStrictEqual([first]);
    await releaseAll();

    await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE id = ${fixture.tenant.account_id}`;
    const [again] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    if (!again) throw new Error('Expected a lane.');
    const running = await tenant((tx) => startNextJob(tx, again));
    if (!running) throw new Error('Expected a job.');
    await tenant((tx) => parkRunningJob(tx, { lease: again, job: running }));
    expect(await startAll()).toStrictEqual([second]);
  });

  test('a running job is not parked if the account was unlinked: its next attempt fails', async () => {
    const first = await fixture.queue('shared');
    await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE id = ${fixture.tenant.account_id}`;
    const [lease] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    const job = lease && (await tenant((tx) => startNextJob(tx, lease)));
    if (!lease || !job) throw new Error('Expected a job.');
    await tenant((tx) => parkRunningJob(tx, { lease, job }));
    expect(await startAll()).toStrictEqual([first]);
  });

  test('parking for more than 14 days returns the job to its lane, keeping parked_since', async () => {
    const id = await fixture.queue('p');
    await tenant((tx) => parkJobs(tx, fixture.tenant.account_id));
    expect(await findExpiredParkedJobs(fixture.db.system, 10)).toHaveLength(0);
    await fixture.owner`UPDATE jobs SET parked_since = now() - interval '15 days'`;
    const [expired] = await findExpiredParkedJobs(fixture.db.system, 10);
    expect(expired).toMatchObject({ id, client_id: fixture.tenant.client_id });
    await tenant((tx) => unparkExpiredJob(tx, id, 4));
    expect(await startAll()).toStrictEqual([id]);
    const [row] = await fixture.owner`SELECT parked, parked_since < now() - interval '14 days' AS long FROM jobs`;
    expect(row).toMatchObject({ parked: false, long: true });
  });
});
