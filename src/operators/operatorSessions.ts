import type { Context } from '../context.ts';
import type { Sql, Tx } from '../db/database.ts';
import { newToken } from '../ids.ts';
import { hashToken } from '../security/hash.ts';
import { accessColumns, type Operator } from './operators.ts';

/** Sessions expire after inactivity, and at the latest after `hours`. */
const session_limits = { idle_minutes: 15, hours: 12 };

/** Starts a session and returns its token. */
export async function startSession(ctx: Pick<Context, 'db'>, operator_id: string): Promise<string> {
  const token = newToken('operator_session');
  await ctx.db.system`
    INSERT INTO operator_sessions (token_hash, operator_id) VALUES (${hashToken(token)}, ${operator_id})`;
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
           sso_subject IS NOT NULL AS single_sign_on, seen_at < now() - interval '30 seconds' AS stale
      FROM operator_sessions JOIN operators ON operators.id = operator_id
     WHERE token_hash = ${hash} AND disabled_at IS NULL
       AND seen_at > now() - make_interval(mins => ${session_limits.idle_minutes})
       AND operator_sessions.created_at > now() - make_interval(hours => ${session_limits.hours})`;
  if (!row) return undefined;
  const { stale, ...operator } = row;
  if (active && stale) await ctx.db.system`UPDATE operator_sessions SET seen_at = now() WHERE token_hash = ${hash}`;
  return operator;
}

export async function endSession(ctx: Pick<Context, 'db'>, token: string): Promise<void> {
  await ctx.db.system`DELETE FROM operator_sessions WHERE token_hash = ${hashToken(token)}`;
}

/** Ends an operator's sessions after a password or role change; `except` is the session that made the change. */
export async function endSessionsOf(sql: Sql | Tx, operator_id: string, except?: string): Promise<void> {
  const except_hash = hashToken(except ?? '');
  await sql`DELETE FROM operator_sessions WHERE operator_id = ${operator_id} AND token_hash <> ${except_hash}`;
}

/** Deletes expired sessions after a day. */
export async function purgeSessions({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_sessions WHERE created_at < now() - interval '1 day'`;
}
