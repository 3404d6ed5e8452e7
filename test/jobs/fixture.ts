import { newId } from '../../src/catalog/ids.ts';
import { connect, type Database, openDatabase, type Sql, type Tx } from '../../src/platform/db/database.ts';
import { type Lease, LeaseLost } from '../../src/platform/db/lease.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { enqueue } from '../../src/product/jobs/enqueue.ts';
import { type Job, setFinished } from '../../src/product/jobs/jobs.ts';
import { advanceLanes, checkLease } from '../../src/product/jobs/lanes.ts';
import { startNextJobs } from '../../src/product/jobs/startJob.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

/** A migrated database, opened with the service's roles and as its owner. */
export type Fixture = {
  db: Database;
  owner: Sql;
  tenant: Tenant;
  /** Queues a job and returns its id. */
  queue(lane: string, of?: Tenant, parallel_max?: number): Promise<number>;
  close(): Promise<void>;
};

export async function openFixture(): Promise<Fixture> {
  const database = await freshDatabase('jobs');
  const db = openDatabase(await migrate(database.address), 6);
  const owner = connect(database.address, { max: 2 });
  const tenant = await createTenant(owner);
  return {
    db,
    owner,
    tenant,
    queue: async (lane, of = tenant, parallel_max = 4) => {
      const operation = { id: newId(), type: 'test', input: { lane }, reference: null };
      const { client_id, organization_id, account_id } = of;
      const id = await enqueue(db.service, { client_id, organization_id, account_id, operation, lane, parallel_max });
      if (id === undefined) throw new Error('The job was not queued.');
      return id;
    },
    close: async () => {
      await db.close();
      await owner.end({ timeout_ms: 5_000 });
      await database.drop();
    },
  };
}

/** Starts the next job of one lane. Undefined if it is empty. */
export async function startNextJob(tx: Tx, lease: Lease): Promise<Job | undefined> {
  const [job] = await startNextJobs(tx, [lease]);
  if (job === 'lost') throw new LeaseLost();
  return job === 'idle' ? undefined : job;
}

/** Ends a job without an event, as `finishJob` of src/product/jobs does. */
export async function endJob(tx: Tx, lease: Lease, { id }: Job): Promise<void> {
  await checkLease(tx, lease);
  await setFinished(tx, [{ id, state: 'succeeded', error: null, event_id: null }]);
  await advanceLanes(tx, [lease.id]);
}
