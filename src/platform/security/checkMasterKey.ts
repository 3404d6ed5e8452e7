import { StartFailure } from '../../catalog/errors.ts';
import type { Sql, Tx } from '../db/database.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { SealFailure, sealWith, unsealWith } from './seal.ts';
import { findForeignMasterKey } from './vault.ts';
import { isForeignKeyViolation } from './wrapKey.ts';

/**
 * Fails the start if the master key cannot decrypt the secrets in the database, before anything is sealed with it.
 * Owns the table `master_keys`: for each key in use, a constant sealed with it. The first start writes the first row;
 * a new key is accepted only together with a known one. `sql` must see the data keys of all clients.
 */
export async function checkMasterKey(sql: Sql, master: MasterKeys): Promise<void> {
  await sql.begin(async (tx) => {
    // Two first starts with different keys must not both find an empty table.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.master_keys', 0))`;
    const rows = await tx<CheckRow[]>`SELECT id, check_value FROM master_keys`;
    if (isKnown(master.current, rows)) return;
    if (rows.length > 0 && !(master.previous && isKnown(master.previous, rows))) throw wrongKey();
    await addKey(tx, master.current);
  });
  const foreign = await findForeignMasterKey(sql, master);
  if (foreign === undefined) return;
  throw new StartFailure(
    `Some secrets are still under the master key ${foreign}. Set MASTER_KEY_PREVIOUS to that key until all are re-wrapped.`,
  );
}

/**
 * Forgets a key that wraps nothing anymore. From then on no process can wrap with it, because wrapped keys reference
 * this table. False if something is still wrapped by it.
 */
export async function retireMasterKey(system: Sql, id: string): Promise<boolean> {
  try {
    await system.pooled`DELETE FROM master_keys WHERE id = ${id}`;
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return false;
    throw error;
  }
}

type CheckRow = { id: string; check_value: Buffer };

const constant = Buffer.from('chartwire master key');

/** The id is only 32 bits of the key's hash; decrypting the constant proves the rest. */
function isKnown(key: MasterKey, rows: readonly CheckRow[]): boolean {
  const row = rows.find((candidate) => candidate.id === key.id);
  if (!row) return false;
  try {
    return unsealWith(key.key, row.check_value, bindingOf(key)).equals(constant);
  } catch (cause) {
    if (cause instanceof SealFailure) throw wrongKey(cause);
    throw cause;
  }
}

async function addKey(tx: Tx, key: MasterKey): Promise<void> {
  const check_value = sealWith(key.key, constant, bindingOf(key));
  await tx`INSERT INTO master_keys (id, check_value) VALUES (${key.id}, ${check_value})`;
}

function bindingOf(key: MasterKey): string {
  return `master_keys:${key.id}`;
}

function wrongKey(cause?: unknown): StartFailure {
  return new StartFailure(
    'MASTER_KEY is not the key this database was set up with. Set the correct key, or set MASTER_KEY_PREVIOUS to it during a rotation.',
    { cause },
  );
}
