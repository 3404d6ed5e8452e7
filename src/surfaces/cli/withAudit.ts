import { openAudit, recordRotation } from '../../product/audit/openAudit.ts';
import { sealLastRecords } from '../../product/audit/seals.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Audit } from '../../product/context.ts';
import { type Database, openDatabase } from '../../platform/db/database.ts';
import { type DatabaseServer, openServer } from '../../platform/db/openServer.ts';
import { type Keys, openKeys } from '../../platform/security/openKeys.ts';

/** The actor in the audit log. */
export const command_line = { actor_kind: 'system', actor: 'command line' } as const;

/** Opens the database and the audit log for a command. Works whether or not the service is running. */
export async function withAudit<T>(
  config: Config,
  work: (db: Database, audit: Audit, keys: Keys, server: DatabaseServer) => Promise<T>,
): Promise<T> {
  const server = await openServer(config, () => {});
  const db = openDatabase(server.roles, 2);
  try {
    await db.checkRoles();
    const print = (text: string) => void process.stderr.write(text);
    const keys = await openKeys(config, db.system, { print, record: recordRotation });
    const audit = await openAudit(db, keys.system_keys);
    try {
      return await work(db, audit, keys, server);
    } finally {
      await audit.close();
      // A running service adds them too. A broken chain must not keep the command from reporting it.
      await sealLastRecords({ db, system_keys: keys.system_keys }).catch((error: Error) => print(`${error.message}\n`));
    }
  } finally {
    await db.close();
    await server.release();
  }
}
