import type { Context } from '../context.ts';
import type { Sql, Tx } from '../db/database.ts';
import { newId, newToken } from '../ids.ts';
import type { SessionMethod, SessionRow } from '../model/dashboard/session.ts';
import { hashToken } from '../security/hash.ts';
import { accessColumns } from './operatorAccess.ts';
import type { Operator } from './operators.ts';

/** Sessions expire after inactivity, and at the latest after `hours`. */
const session_limits = { idle_minutes: 15, hours: 12 };

/** How long after a sign-in an operator can do what needs a fresh one. */
const fresh_minutes = 10;

/** The browser that a request came from. */
export type Browser = {
  address: string;
  user_agent: string;
  /** The value of its device cookie. */
  device: string | undefined;
};

/** Browsers send at most a few hundred characters. */
const user_agent_max = 500;

/**
 * Starts a session and returns its token. `authenticated_at`: when the person proved their identity, if it was not just
 * now; null if that is not known.
 */
export async function startSession(
  ctx: Pick<Context, 'db'>,
  operator_id: string,
  method: SessionMethod,
  { address, user_agent }: Browser,
  authenticated_at: Date | null | undefined = undefined,
): Promise<string> {
  const token = newToken('operator_session');
  const { system: sql } = ctx.db;
  await sql`INSERT INTO operator_sessions
      (id, token_hash, operator_id, method, address, user_agent, authenticated_at)
    VALUES (${newId()}, ${hashToken(token)}, ${operator_id}, ${method}, ${address},
      ${user_agent.slice(0, user_agent_max)},
      ${authenticated_at === undefined ? sql`now()` : sql`least(now(), coalesce(${authenticated_at}::timestamptz, '-infinity'))`})`;
  return token;
}

/**
 * The operator of an unexpired session. `active` requests are user actions and extend the idle timeout (written at most
 * every 30 s); background requests of a page do not.
 */
export async function findSession(
  ctx: Pick<Context, 'db'>,
  token: string,
  { active }: { active: boolean },
): Promise<Operator | undefined> {
  const hash = hashToken(token);
  const [row] = await ctx.db.system<(Operator & { stale: boolean })[]>`
    SELECT operators.id, email, name, ${accessColumns(ctx.db.system)}, totp_sealed IS NOT NULL AS totp, password_temporary,
           sso_subject IS NOT NULL AS single_sign_on,
           (SELECT count(*) FROM operator_passkeys WHERE operator_id = operators.id) AS passkeys,
           (SELECT count(*) FROM operator_recovery_codes WHERE operator_id = operators.id) AS recovery_codes,
           method, authenticated_at > now() - make_interval(mins => ${fresh_minutes}) AS fresh,
           seen_at < now() - interval '30 seconds' AS stale
      FROM operator_sessions JOIN operators ON operators.id = operator_id
     WHERE token_hash = ${hash} AND disabled_at IS NULL AND ${isOpen(ctx.db.system)}`;
  if (!row) return undefined;
  const { stale, ...operator } = row;
  if (active && stale) await ctx.db.system`UPDATE operator_sessions SET seen_at = now() WHERE token_hash = ${hash}`;
  return operator;
}

/** An operator's open sessions, the most recently used first; `token` is that of the current one. */
export async function listSessions(
  ctx: Pick<Context, 'db'>,
  operator_id: string,
  token: string,
): Promise<SessionRow[]> {
  const { system: sql } = ctx.db;
  return sql<SessionRow[]>`
    SELECT id, address, user_agent, method, iso(created_at) AS created_at, iso(seen_at) AS seen_at,
           token_hash = ${hashToken(token)} AS current
      FROM operator_sessions WHERE operator_id = ${operator_id} AND ${isOpen(sql)}
     ORDER BY current DESC, operator_sessions.seen_at DESC`;
}

function isOpen(sql: Sql | Tx) {
  return sql`seen_at > now() - make_interval(mins => ${session_limits.idle_minutes})
       AND operator_sessions.created_at > now() - make_interval(hours => ${session_limits.hours})`;
}

/** A session by its token or the hash of it. */
type SessionName = string | Buffer;

/** The operator has proved their identity again. Returns false if the session has ended. */
export async function renewSession(tx: Tx, session: SessionName): Promise<boolean> {
  const renewed = await tx`UPDATE operator_sessions SET authenticated_at = now() WHERE token_hash = ${hashOf(session)}`;
  return renewed.count > 0;
}

/** The operator of a session by the hash of its token. */
export async function findSessionOwner(tx: Tx, token_hash: Buffer): Promise<string | undefined> {
  const [row] = await tx<{ operator_id: string }[]>`
    SELECT operator_id FROM operator_sessions WHERE token_hash = ${token_hash} AND ${isOpen(tx)}`;
  return row?.operator_id;
}

export async function endSession(ctx: Pick<Context, 'db'>, token: string): Promise<void> {
  await ctx.db.system`DELETE FROM operator_sessions WHERE token_hash = ${hashToken(token)}`;
}

/** Ends one of an operator's own sessions. Returns false if there is no such session. */
export async function endSessionById(tx: Tx, operator_id: string, id: string): Promise<boolean> {
  const ended = await tx`DELETE FROM operator_sessions WHERE operator_id = ${operator_id} AND id = ${id}`;
  return ended.count > 0;
}

/** Ends an operator's sessions after a change; `except` is the session that made it. */
export async function endSessionsOf(sql: Sql | Tx, operator_id: string, except: SessionName = ''): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE operator_id = ${operator_id} AND token_hash <> ${hashOf(except)}`;
}

function hashOf(session: SessionName): Buffer {
  return typeof session === 'string' ? hashToken(session) : session;
}

/** Deletes expired sessions after a day. */
export async function purgeSessions({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE created_at < now() - interval '1 day'`;
}
