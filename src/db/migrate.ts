import { readdir, readFile } from 'node:fs/promises';
import { StartFailure } from '../errors.ts';
import { connect, type DatabaseAddress, type Sql, service_role, system_role } from './database.ts';

const folder = new URL('./migrations/', import.meta.url);
/** Taken while tables are being changed, so that of several processes that start at once one does it. */
const migration_lock = 7_240_001;

/** Brings the database to the newest shape. Runs as the owner named in DATABASE_URL, never as the service's roles. */
export async function migrate(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { max: 1 });
  try {
    await sql`SELECT pg_advisory_lock(${migration_lock})`;
    await layRoles(sql);
    await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
    // Readiness looks at it.
    await sql.unsafe(`GRANT SELECT ON schema_migrations TO ${system_role}`);
    const applied = await sql<{ name: string }[]>`SELECT name FROM schema_migrations`;
    const done = new Set(applied.map((row) => row.name));
    for (const name of await migrationNames()) {
      if (done.has(name)) continue;
      const text = await readFile(new URL(name, folder), 'utf8');
      await sql.begin(async (tx) => {
        await tx.unsafe(text);
        await tx`INSERT INTO schema_migrations (name) VALUES (${name})`;
      });
    }
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

/** Whether every migration this build knows has been applied. */
export async function isMigrated(system: Sql): Promise<boolean> {
  const names = await migrationNames();
  const rows = await system<{ n: number }[]>`
    SELECT count(*) AS n FROM schema_migrations WHERE name = ANY (${names})`;
  return rows[0]?.n === names.length;
}

async function migrationNames(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
}

/** Roles belong to the whole server, so two databases (or two processes) may make them at the same moment. */
async function layRoles(sql: Sql): Promise<void> {
  for (const role of [service_role, system_role]) {
    await sql.unsafe(`DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
        CREATE ROLE ${role} NOLOGIN NOBYPASSRLS;
      END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$`);
    const [membership] = await sql<{ may: boolean }[]>`SELECT pg_has_role(current_user, ${role}, 'member') AS may`;
    if (!membership?.may) await sql.unsafe(`GRANT ${role} TO CURRENT_USER`);
    await sql.unsafe(`GRANT USAGE ON SCHEMA public TO ${role}`);
  }
}

/** Says in one sentence why a database cannot be used. */
export function databaseFailure(name: string, address: DatabaseAddress, error: unknown): StartFailure {
  const where = address.host.startsWith('/') ? 'its socket' : `${address.host}:${address.port}`;
  const code = (error as { code?: string }).code ?? '';
  const reasons: Record<string, string> = {
    ECONNREFUSED: `nothing answers at ${where}`,
    ENOTFOUND: `the host ${address.host} is unknown`,
    EAI_AGAIN: `the host ${address.host} cannot be looked up`,
    ETIMEDOUT: `${where} does not answer`,
    CONNECT_TIMEOUT: `${where} does not answer`,
    ENOENT: `there is no socket in ${address.host}`,
    '28P01': `the server refuses the password of user ${address.user}`,
    '28000': `the server refuses the user ${address.user}`,
    '3D000': `the database ${address.database} does not exist`,
    '42501': `the user ${address.user} may not create roles or tables there`,
  };
  const reason = reasons[code] ?? (error instanceof Error ? error.message.split('\n')[0] : 'it cannot be reached');
  return new StartFailure(`${name} cannot be used: ${reason}.`, { cause: error });
}
