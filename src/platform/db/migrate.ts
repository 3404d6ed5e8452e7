import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import { migrations_folder } from '../../catalog/installation.ts';
import { connect, type DatabaseAddress, type Query } from './database.ts';
import { ensureRoles, type RoleAddresses, storeRoleSettings, system_role } from './roles.ts';

/** Held while the schema changes, so that only one of several starting processes changes it. */
const migration_lock = 7_240_001;

type Options = {
  pooled?: boolean;
  /** The schema of an earlier version. */
  names?: readonly string[];
};

/** Applies the migrations that are missing, as the owner named in DATABASE_URL, and returns where the roles connect. */
export async function migrate(owner: DatabaseAddress, options: Options = {}): Promise<RoleAddresses> {
  const sql = connect(owner, { max: 1 });
  try {
    await sql`SELECT pg_advisory_lock(${migration_lock})`;
    await sql`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`;
    const applied = await appliedMigrations(sql);
    const names = options.names ?? (await migrationNames());
    if (isBeforeFirstRelease(applied)) {
      throw new StartFailure(
        'The database was created by a version before 0.1.0, which cannot be upgraded. Use an empty database, or another DATA_DIR.',
      );
    }
    const addresses = await ensureRoles(sql, owner);
    if (options.pooled) await storeRoleSettings(sql, owner);
    // For readiness checks.
    await sql`GRANT SELECT ON schema_migrations TO ${sql(system_role)}`;
    for (const name of names.filter((each) => !applied.includes(each))) {
      const text = await readFile(join(migrations_folder, name), 'utf8');
      await sql.begin(async (tx) => {
        // Again, because the first lock ends with its connection: after a failover another process may hold it.
        await tx`SELECT pg_advisory_xact_lock(${migration_lock})`;
        const [other] = await tx`SELECT FROM schema_migrations WHERE name = ${name}`;
        if (other) return;
        await tx.unsafe(text);
        await tx`INSERT INTO schema_migrations (name) VALUES (${name})`;
      });
    }
    return addresses;
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

/** Whether every migration of this version has been applied. */
export async function isMigrated(system: Query): Promise<boolean> {
  const names = await migrationNames();
  const rows = await system<{ n: number }[]>`
    SELECT count(*) AS n FROM schema_migrations WHERE name = ANY (${names})`;
  return rows[0]?.n === names.length;
}

/** The migrations that were applied to a database, of this or another version. */
export async function appliedMigrations(sql: Query): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`SELECT name FROM schema_migrations ORDER BY name`;
  return rows.map(({ name }) => name);
}

/** The migrations of this version. */
export async function migrationNames(): Promise<string[]> {
  return (await readdir(migrations_folder)).filter((name) => name.endsWith('.sql')).sort();
}

/** The first migration of 0.1.0. */
const first_migration = '0001_clients.sql';

/**
 * Whether migrations are those of a version before 0.1.0, which had other names. The schema of 0.1.0 cannot be applied on
 * top of them.
 */
export function isBeforeFirstRelease(applied: readonly string[]): boolean {
  return applied.length > 0 && !applied.includes(first_migration);
}

const certificate_codes = /CERT|SIGNATURE|UNABLE_TO_GET_ISSUER/;

/** The reason why a database cannot be used, in one sentence. */
export function databaseFailure(name: string, address: DatabaseAddress, error: unknown): StartFailure {
  if (error instanceof StartFailure) return error;
  const where = address.host.startsWith('/') ? 'its socket' : `${address.host}:${address.port}`;
  const code = (error as { code?: string }).code ?? '';
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
  if (code === 'TLS_UNSUPPORTED') {
    const remedy = 'Turn TLS on there, or add sslmode=disable to the URL if the network between is trusted';
    return new StartFailure(`${name} cannot be used: ${where} does not offer TLS. ${remedy}.`, { cause: error });
  }
  if (certificate_codes.test(code)) {
    const remedy = 'Connect using the name in its certificate, and name its CA file with sslrootcert=/path';
    return new StartFailure(
      `${name} cannot be used: the certificate of ${where} cannot be verified (${code}). ${remedy}.`,
      { cause: error },
    );
  }
  const reasons: Record<string, string> = {
    ECONNREFUSED: `no server is listening at ${where}`,
    ENOTFOUND: `the host ${address.host} is unknown`,
    EAI_AGAIN: `the host ${address.host} cannot be looked up`,
    ETIMEDOUT: `${where} did not respond`,
    CONNECT_TIMEOUT: `${where} did not respond`,
    ENOENT: `there is no socket in ${address.host}`,
    '28P01': `the server rejected the password of user ${address.user}`,
    '28000': `the server rejected the user ${address.user}`,
    '3D000': `the database ${address.database} does not exist`,
    '42501': `the user ${address.user} may not create roles or tables there`,
  };
  const reason = reasons[code] ?? (message || 'it cannot be reached');
  return new StartFailure(`${name} cannot be used: ${reason}.`, { cause: error });
}
