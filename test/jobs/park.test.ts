import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimLeases } from '../../src/db/lease.ts';
import { startHead } from '../../src/jobs/jobs.ts';
import { findExpired, parkJobs, parkRunning, unparkJobs, wakeExpired } from '../../src/jobs/park.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import { openWorld, type World } from './world.ts';

let world: World;
let other: Tenant;
beforeAll(async () => {
  world = await openWorld();
  // A second account of the same organization.
  const { client_id, organization_id } = world.tenant;
  other = await layTenant(world.owner, { client_id, organization_id });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.owner`TRUNCATE lanes, jobs CASCADE`;
  await world.owner`UPDATE accounts SET status = 'active'`;
});

const tenant = <T>(work: Parameters<typeof world.db.tenant<T>>[1]) => world.db.tenant(world.tenant.client_id, work);
/** The jobs that can be started now, by claiming every lane there is. */
async function heads(): Promise<number[]> {
  const leases = await claimLeases(world.db.system, 'lanes', { owner: 'w', count: 50, lease_ms: 10_000 });
  const jobs = await Promise.all(leases.map((lease) => tenant((tx) => startHead(tx, lease))));
  return jobs.flatMap((job) => (job ? [job.id] : [])).sort((a, b) => a - b);
}
const free = () => world.owner`UPDATE lanes SET locked_until = NULL`;

describe('parking', () => {
  test('sets the account’s jobs aside and lets another account’s pass, also for the same patient', async () => {
    await world.queue('shared');
    await world.queue('alone');
    const passing = await world.queue('shared', other);
    await tenant((tx) => parkJobs(tx, world.tenant.account_id));
    expect(await heads()).toStrictEqual([passing]);
  });

  test('is undone in the order the jobs were accepted, ahead of what came later', async () => {
    const first = await world.queue('shared');
    const alone = await world.queue('alone');
    await tenant((tx) => parkJobs(tx, world.tenant.account_id));
    await world.queue('shared', other);
    await tenant((tx) => unparkJobs(tx, world.tenant.account_id, 4));
    expect(await heads()).toStrictEqual([first, alone]);
  });

  test('keeps the pause of a lane that has nothing to do with it', async () => {
    await world.queue('waiting', other);
    await world.owner`UPDATE lanes SET ready_at = now() + interval '1 minute'`;
    await world.queue('parked');
    await tenant((tx) => parkJobs(tx, world.tenant.account_id));
    expect(await heads()).toStrictEqual([]);
    expect(await world.owner`SELECT FROM lanes`).toHaveLength(1);
  });

  test('of a running job gives its lane to the next, and not when a person has just linked the account', async () => {
    const first = await world.queue('shared');
    const second = await world.queue('shared', other);
    const [lease] = await claimLeases(world.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    const job = lease && (await tenant((tx) => startHead(tx, lease)));
    if (!lease || !job) throw new Error('A job was expected.');
    await tenant((tx) => parkRunning(tx, lease, job));
    expect(await heads()).toStrictEqual([first]);
    await free();

    await world.owner`UPDATE accounts SET status = 'login_required' WHERE id = ${world.tenant.account_id}`;
    const [again] = await claimLeases(world.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    if (!again) throw new Error('A lane was expected.');
    const running = await tenant((tx) => startHead(tx, again));
    if (!running) throw new Error('A job was expected.');
    await tenant((tx) => parkRunning(tx, again, running));
    expect(await heads()).toStrictEqual([second]);
  });

  test('of a running job does not happen when the account was revoked meanwhile: its next try ends it', async () => {
    const first = await world.queue('shared');
    await world.owner`UPDATE accounts SET status = 'revoked' WHERE id = ${world.tenant.account_id}`;
    const [lease] = await claimLeases(world.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 10_000 });
    const job = lease && (await tenant((tx) => startHead(tx, lease)));
    if (!lease || !job) throw new Error('A job was expected.');
    await tenant((tx) => parkRunning(tx, lease, job));
    expect(await heads()).toStrictEqual([first]);
  });

  test('for more than 14 days is found, and the job comes back to be ended', async () => {
    const id = await world.queue('p');
    await tenant((tx) => parkJobs(tx, world.tenant.account_id));
    expect(await findExpired(world.db.system, 10)).toHaveLength(0);
    await world.owner`UPDATE jobs SET parked_since = now() - interval '15 days'`;
    const [expired] = await findExpired(world.db.system, 10);
    expect(expired).toMatchObject({ id, client_id: world.tenant.client_id });
    await tenant((tx) => wakeExpired(tx, id, 4));
    expect(await heads()).toStrictEqual([id]);
    const [row] = await world.owner`SELECT parked, parked_since < now() - interval '14 days' AS long FROM jobs`;
    expect(row).toMatchObject({ parked: false, long: true });
  });
});
