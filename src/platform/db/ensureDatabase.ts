import { connect, type DatabaseAddress } from './database.ts';

/** Creates the database of an address if it does not exist. */
export async function ensureDatabase(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { max: 1 });
  try {
    await sql`SELECT 1`;
  } catch (error) {
    if ((error as { code?: string }).code !== '3D000') throw error;
    const maintenance = connect({ ...address, database: 'postgres' }, { max: 1 });
    try {
      await maintenance`CREATE DATABASE ${maintenance(address.database)}`;
    } catch (created) {
      // Another process may have created it at the same moment.
      if (!['42P04', '23505'].includes((created as { code?: string }).code ?? '')) throw created;
    } finally {
      await maintenance.end({ timeout_ms: 5_000 });
    }
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}
