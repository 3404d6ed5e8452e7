import type { Sql } from './database.ts';

/** A process of the installation. `working`: it runs jobs and deliveries, and its workers are not stuck. */
export type Process = { id: string; role: string; host: string; version: string; working: boolean };

/** A process that was not seen for this long no longer runs, or has lost the database. Six heartbeats. */
export const gone_after_s = 30;

/**
 * Records that a process runs, and that the database can store something. A full disk still accepts updates that fit
 * into existing pages, so the transaction also materializes 280 KB with the smallest memory, which needs a file.
 */
export async function recordProcess(sql: Sql, { id, role, host, version, working }: Process): Promise<void> {
  await sql.begin(`BEGIN; SET LOCAL work_mem = '64kB'`, async (tx) => {
    await tx`SELECT count(*) FROM generate_series(1, 20000)`;
    await tx`
      INSERT INTO processes (id, role, host, version, working) VALUES (${id}, ${role}, ${host}, ${version}, ${working})
      ON CONFLICT (id) DO UPDATE SET working = excluded.working, seen_at = now()`;
    await tx`DELETE FROM processes WHERE seen_at < now() - interval '1 day'`;
  });
}

export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql`DELETE FROM processes WHERE id = ${id}`;
}
