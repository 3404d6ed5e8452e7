import { openAudit } from '../audit/openAudit.ts';
import type { Config } from '../config.ts';
import type { Audit } from '../context.ts';
import { type Database, openDatabase } from '../db/database.ts';
import { openServer } from '../db/openServer.ts';
import { openKeys } from '../security/openKeys.ts';

/** The actor in the audit trail. */
export const command_line = { actor_kind: 'system', actor: 'command line' } as const;

type Keys = Awaited<ReturnType<typeof openKeys>>;

/** Opens the database and the audit trail for a command. Works whether or not the service is running. */
export async function withAudit<T>(
  config: Config,
  work: (db: Database, audit: Audit, keys: Keys) => Promise<T>,
): Promise<T> {
  const server = await openServer(config, () => {});
  const db = openDatabase(server.roles, 2);
  try {
    await db.checkRoles();
    const keys = await openKeys(config, db.system, (text) => void process.stderr.write(text));
    return await work(db, await openAudit(db, keys.system_keys), keys);
  } finally {
    await db.close();
    await server.release();
  }
}
