import { connect, type Database, openDatabase, type Sql } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newId } from '../../src/ids.ts';
import { enqueue } from '../../src/jobs/enqueue.ts';
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
      const operation = { id: newId(), type: 'test', input: { lane } };
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
