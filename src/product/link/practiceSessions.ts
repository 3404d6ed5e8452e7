import { apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';

/** A person of a practice on the page of a linked account. They see this account and no other. */
export type PracticeSession = { client_id: string; account_id: string; user_id: string };

/** Long enough to press a button on the page that shows the link, not to send it to somebody. */
export const pass_minutes = 10;
/** From its start: a session is not prolonged, because the page may stay open on a computer that others use. */
export const session_minutes = 30;

type AccountOf = { client_id: string; account_id: string };

/** A one-time token that starts a session, for the person who has just linked the account. */
export function addPass(tx: Tx, account: AccountOf): Promise<string> {
  return add(tx, account, true);
}

/** Starts a session, for a person who has just signed in at the EMR. */
export function addSession(tx: Tx, account: AccountOf): Promise<string> {
  return add(tx, account, false);
}

async function add(tx: Tx, { client_id, account_id }: AccountOf, pass: boolean): Promise<string> {
  const token = newToken(pass ? 'practice_pass' : 'practice_session');
  await tx`INSERT INTO practice_sessions (token_hash, client_id, account_id, pass, emr_user_id, expires_at)
    SELECT ${hashToken(token)}, ${client_id}, id, ${pass}, emr_user_id,
           now() + make_interval(mins => ${pass ? pass_minutes : session_minutes})
      FROM accounts WHERE id = ${account_id}`;
  return token;
}

/** Starts a session with a pass, which is deleted, and records it. Of two attempts at the same time one succeeds. */
export async function redeemPass(
  ctx: Context,
  pass: string,
  request: { request_id?: string | undefined; address: string },
): Promise<string> {
  const hash = hashToken(pass);
  const [owner] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM practice_sessions WHERE token_hash = ${hash} AND pass AND expires_at > now()`;
  if (!owner) throw apiError('practice_pass_invalid');
  const { client_id } = owner;
  return ctx.db.tenant(client_id, async (tx) => {
    const [row] = await tx<{ account_id: string; user_id: string }[]>`
      DELETE FROM practice_sessions AS kept USING accounts
       WHERE kept.token_hash = ${hash} AND kept.pass AND kept.expires_at > now()
         AND accounts.id = kept.account_id AND accounts.emr_user_id = kept.emr_user_id
      RETURNING kept.account_id, accounts.user_id`;
    if (!row) throw apiError('practice_pass_invalid');
    const { account_id, user_id: actor } = row;
    const caller = { client_id, actor_kind: 'practice', actor, account_id, ...request } as const;
    const entry = { ...caller, action: 'practice.session.create', outcome: '200', subject: account_id };
    await ctx.audit.recordInTransaction(tx, entry);
    return addSession(tx, { client_id, account_id });
  });
}

/** The session of a token; undefined if it has ended, or if the account belongs to another EMR user by now. */
export async function findPracticeSession(ctx: Context, token: string): Promise<PracticeSession | undefined> {
  const hash = hashToken(token);
  const [owner] = await ctx.db.system<{ client_id: string }[]>`
    SELECT client_id FROM practice_sessions WHERE token_hash = ${hash} AND NOT pass AND expires_at > now()`;
  if (!owner) return undefined;
  const [row] = await ctx.db.read<PracticeSession>(
    owner.client_id,
    (sql) => sql`
      SELECT accounts.client_id, accounts.id AS account_id, accounts.user_id
        FROM practice_sessions AS session JOIN accounts ON accounts.id = session.account_id
       WHERE session.token_hash = ${hash} AND accounts.emr_user_id = session.emr_user_id`,
  );
  return row;
}

/** Ends the sessions and passes of an account: the person signs out, on all screens. */
export async function endPracticeSessions(tx: Tx, account_id: string): Promise<void> {
  await tx`DELETE FROM practice_sessions WHERE account_id = ${account_id}`;
}

export async function purgePracticeSessions({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM practice_sessions WHERE expires_at < now()`;
}
