import { loadConfig } from '../../src/catalog/settings/config.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { loadKeys } from '../../src/platform/security/keys.ts';
import { recordRotation } from '../../src/product/audit/openAudit.ts';

/** Rotates the master key of the installation in the environment, and kills this process at the step. */
export async function rotateUntil(step: string): Promise<void> {
  const config = loadConfig(process.env);
  const db = openDatabase(roleAddresses(parseDatabaseUrl('DATABASE_URL', config.database_url ?? '')), 2);
  const { key_ring } = await loadKeys(config, db.system, { print: () => {}, record: recordRotation });
  await key_ring.rotate((reached) => {
    if (reached === step) process.kill(process.pid, 'SIGKILL');
  });
}
