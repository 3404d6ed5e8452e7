import { randomBytes, scryptSync } from 'node:crypto';
import pg from 'pg';
import type { DatabaseAddress } from '../../../sql/address.ts';
import { connect, type Sql, session_settings } from '../../../sql/connect.ts';
import type { Query } from '../../../sql/statement.ts';
import { StartFailure } from '../../catalog/errors.ts';

export const service_role = 'chartwire_service';
export const system_role = 'chartwire_system';

/**
 * A process that was frozen, or cut off, in the middle of a transaction keeps its locks this long. Others skip the lanes
 * that it has locked, also after its leases have ended.
 */
const idle_transaction_max = '10s';

/**
 * How long a statement may run, lock waits included, before the server cancels it. The service role answers requests and
 * stores sync pages of 1,000 rows; the system role also purges, counts queues and exports the audit log. Migrations run
 * as the owner and are not limited.
 *
 * The service role does not scan whole tables: they contain other tenants' rows. PostgreSQL would do so while a table is
 * small, and with the same plan for up to a minute after it has grown (docs/decisions/0014-accepting-writes.md).
 */
export const role_settings = {
  service: {
    statement_timeout: '60s',
    idle_in_transaction_session_timeout: idle_transaction_max,
    enable_seqscan: 'off',
  },
  system: { statement_timeout: '5min', idle_in_transaction_session_timeout: idle_transaction_max },
} as const;

/** Where the service connects as each of its two roles. */
export type RoleAddresses = {
  service: DatabaseAddress;
  system: DatabaseAddress;
  /** For LISTEN, as the system role. Set if the others lead through a connection pooler. */
  listen?: DatabaseAddress;
};

/** Leads the roles through a connection pooler, except for LISTEN, which needs a session of its own. */
export function throughPooler(direct: RoleAddresses, pooler: DatabaseAddress, prepare: boolean): RoleAddresses {
  const through = ({ user, password }: DatabaseAddress) => ({ ...pooler, user, password, pooler: { prepare } });
  return { service: through(direct.service), system: through(direct.system), listen: direct.system };
}

/**
 * The addresses of the roles on the owner's server. Their passwords are derived from the owner's, so that every process
 * with the same DATABASE_URL, and every database of the same owner on a server, agrees on them without storing them.
 * scrypt keeps a leaked password of a role from being used to guess the owner's.
 */
export function roleAddresses(owner: DatabaseAddress, secret = owner.password): RoleAddresses {
  return {
    service: { ...owner, user: service_role, password: derivePassword(service_role, secret) },
    system: { ...owner, user: system_role, password: derivePassword(system_role, secret) },
  };
}

/** Creates the roles where they are missing, or gives them the password they should have. Runs as the owner. */
export async function ensureRoles(sql: Sql, owner: DatabaseAddress): Promise<RoleAddresses> {
  const addresses = roleAddresses(owner, owner.password || (await storedSecret(sql)));
  for (const address of [addresses.service, addresses.system]) {
    await ensureRole(sql, address);
    const role = sql(address.user);
    await sql`GRANT USAGE ON SCHEMA public TO ${role}`;
    const [granted] = await sql`SELECT FROM pg_roles
      WHERE rolname = ${address.user} AND has_database_privilege(oid, current_database(), 'CONNECT')`;
    if (!granted) await sql`GRANT CONNECT ON DATABASE ${sql(owner.database)} TO ${role}`;
  }
  return addresses;
}

/**
 * Stores the settings of the sessions with the roles, for connections that cannot send them: those of a pooler. For this
 * database only, because others on the same server may connect without one.
 */
export async function storeRoleSettings(sql: Sql, { database }: DatabaseAddress): Promise<void> {
  for (const [role, settings] of [
    [service_role, role_settings.service],
    [system_role, role_settings.system],
  ] as const) {
    for (const [name, value] of Object.entries({ ...session_settings, ...settings })) {
      const setting = `${pg.escapeIdentifier(name)} TO ${pg.escapeLiteral(value)}`;
      await sql.unsafe(`ALTER ROLE ${role} IN DATABASE ${pg.escapeIdentifier(database)} SET ${setting}`);
    }
  }
}

/** Throws unless the connection runs as `role`, which can neither bypass row-level security nor become the owner. */
export async function checkRole(sql: Query, role: string): Promise<void> {
  const [roles] = await sql<{ session: string; current: string; unsafe: boolean }[]>`
    SELECT session_user AS session, current_user AS current,
           rolsuper OR rolbypassrls OR EXISTS (
             SELECT FROM pg_class WHERE oid = 'public.schema_migrations'::regclass
                AND pg_has_role(session_user, relowner, 'MEMBER')) AS unsafe
      FROM pg_roles WHERE rolname = session_user`;
  const name = [roles?.session, roles?.current].find((user) => user !== role);
  if (name !== undefined || !roles) {
    throw new StartFailure(
      `The database connection of the role ${role} runs as ${name}. A connection pooler must pass users through.`,
    );
  }
  if (roles.unsafe) {
    throw new StartFailure(
      `The database role ${role} must be neither a superuser, nor exempt from row-level security, nor a member of the tables' owner.`,
    );
  }
}

const passwords = new Map<string, string>();

function derivePassword(role: string, secret: string): string {
  const key = `${role} ${secret}`;
  const password = passwords.get(key) ?? scryptSync(secret, role, 32).toString('base64url');
  passwords.set(key, password);
  return password;
}

/** For an owner without a password (peer, certificate or token authentication): a secret that only the owner can read. */
async function storedSecret(sql: Sql): Promise<string> {
  await sql`CREATE TABLE IF NOT EXISTS role_secrets (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), secret text NOT NULL)`;
  await sql`INSERT INTO role_secrets (secret) VALUES (${randomBytes(32).toString('base64url')}) ON CONFLICT DO NOTHING`;
  const [row] = await sql<{ secret: string }[]>`SELECT secret FROM role_secrets`;
  if (!row) throw new Error('The secret of the roles was not stored.');
  return row.secret;
}

/**
 * Roles belong to the whole server: other databases may create or change them at the same moment, and no lock covers
 * that. Whoever comes second sees an error that is gone at the next attempt.
 */
const concurrent_codes = ['42710', '23505', 'XX000'];
const attempts_max = 20;

async function ensureRole(sql: Sql, address: DatabaseAddress): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const [existing] = await sql<{ rolcanlogin: boolean }[]>`
      SELECT rolcanlogin FROM pg_roles WHERE rolname = ${address.user}`;
    if (existing?.rolcanlogin && (await canLogIn(address))) return;
    const change = `${existing ? 'ALTER' : 'CREATE'} ROLE ${address.user} LOGIN PASSWORD ${pg.escapeLiteral(address.password)}`;
    try {
      await sql.unsafe(change);
    } catch (error) {
      if (attempt === attempts_max || !concurrent_codes.includes((error as { code?: string }).code ?? '')) throw error;
    }
  }
}

async function canLogIn(address: DatabaseAddress): Promise<boolean> {
  const sql = connect(address, { max: 1 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch (error) {
    // 28: wrong password or not allowed; 42501: may not connect to this database yet.
    if (/^28|^42501/.test((error as { code?: string }).code ?? '')) return false;
    throw error;
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}
