import type { AuditEntry, Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { hashToken } from '../security/hash.ts';
import { verifyPassword } from '../security/passwords.ts';
import { beginSession } from './operatorSessions.ts';

/** How many passwords are really checked for one account in so many minutes; whoever asks more is told to wait. */
export const password_checks = { max: 10, minutes: 15 };

/** Signs an operator in and gives the token of the new session. Which of the two was wrong is nobody's business. */
export async function signInOperator(
  ctx: Context,
  { email, password }: { email: string; password: string },
): Promise<string> {
  const address = email.trim().toLowerCase();
  await countCheck(ctx, address);
  const [row] = await ctx.db.system<{ id: string; password_hash: string }[]>`
    SELECT id, password_hash FROM operators WHERE email = ${address} AND disabled_at IS NULL`;
  const right = await verifyPassword(row?.password_hash, password);
  // Of an address that nobody has nothing is recorded: it may be anything, a password typed into the wrong field.
  if (row) await ctx.audit.record(signInOf(address, right ? 'signed_in' : 'refused'));
  if (!row || !right) throw refusal('operator_credentials_wrong');
  return beginSession(ctx, row.id);
}

function signInOf(actor: string, outcome: 'signed_in' | 'refused'): AuditEntry {
  return { client_id: null, actor_kind: 'operator', actor, action: 'operator.sign_in', outcome };
}

/**
 * Counts before the check, under a lock of the account: of many guesses at once no more than the limit get through.
 * Also for addresses that nobody has, so that the limit does not tell which ones are real.
 */
async function countCheck(ctx: Context, address: string): Promise<void> {
  const hash = hashToken(address);
  const wait_s = await ctx.db.system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${hash.toString('hex')}, 20))`;
    await tx`DELETE FROM operator_tries WHERE at < now() - make_interval(mins => ${password_checks.minutes})`;
    const [tries] = await tx<{ n: number; wait_s: number | null }[]>`
      SELECT count(*) AS n,
             ceil(extract(epoch FROM min(at) + make_interval(mins => ${password_checks.minutes}) - now()))::int AS wait_s
        FROM operator_tries WHERE email_hash = ${hash}`;
    if ((tries?.n ?? 0) >= password_checks.max) return tries?.wait_s ?? 60;
    await tx`INSERT INTO operator_tries (email_hash) VALUES (${hash})`;
    return undefined;
  });
  if (wait_s !== undefined) throw refusal('operator_locked', undefined, { retry_after_s: Math.max(1, wait_s) });
}
