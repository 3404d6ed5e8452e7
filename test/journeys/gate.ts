import type { Query, Sql } from '../../src/platform/db/database.ts';
import { until } from './support.ts';

/** The key of the advisory lock that statements wait for. */
export const gate = 7_231;

/** `statement` is an event of a trigger, such as `INSERT ON jobs`; rows for which `when` is true wait. */
export type Gate = { statement: string; when?: string };

/** Runs `work` while rows wait before they are stored. They continue when it ends. */
export async function withGate<T>(
  database: Sql,
  { statement, when = 'true' }: Gate,
  work: (atGate: { tx: Query; untilWaiting: () => Promise<{ pid: number }[]> }) => Promise<T>,
): Promise<T> {
  await database.unsafe(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN NEW; END $$;
    CREATE TRIGGER gate BEFORE ${statement} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION wait_at_gate()`);
  try {
    return await database.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(${gate}::bigint)`;
      const untilWaiting = () =>
        until('a statement to wait at the gate', async () => {
          const rows = await tx<{ pid: number }[]>`
            SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${gate} AND NOT granted
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
          return rows.length > 0 && rows;
        });
      return work({ tx, untilWaiting });
    });
  } finally {
    await database.unsafe('DROP FUNCTION wait_at_gate() CASCADE');
  }
}
