import { randomBytes } from 'node:crypto';
import { connect, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { identified, loadSystemKeys } from '../../src/platform/security/masterKeys.ts';
import { openAudit } from '../../src/product/audit/openAudit.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { createTenant } from '../harness/tenant.ts';

export type TrailFixture = Awaited<ReturnType<typeof createTrail>>;

/** A migrated database with one tenant and its own audit trail. */
export async function createTrail() {
  const migrated = await template('audit', migrate);
  const database = await freshDatabase('audit', migrated);
  const owner: Sql = connect(database.address, { max: 2 });
  const db = openDatabase(roleAddresses(database.address), 4);
  const system_keys = await loadSystemKeys(db.system, { current: identified(randomBytes(32)) });
  const audit = await openAudit(db, system_keys);
  return {
    ctx: { db, system_keys, audit },
    owner,
    tenant: await createTenant(owner),
    close: async () => {
      await audit.close();
      await Promise.all([db.close(), owner.end()]);
      await database.drop();
    },
  };
}
