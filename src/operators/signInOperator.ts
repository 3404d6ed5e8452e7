import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { hashToken } from '../security/hash.ts';
import { verifyPassword } from '../security/passwords.ts';
import { startSession } from './operatorSessions.ts';
import { findOperator, type KnownOperator } from './operators.ts';
import { consumeCode } from './secondFactor.ts';

/** Password checks per account in this many minutes; further attempts must wait. */
const password_checks = { max: 10, minutes: 15 };

type Given = { email: string; password: string; code?: string | undefined; address: string };

/** Signs an operator in and returns the session token. Errors do not say whether the email or the password was wrong. */
export async function signInOperator(ctx: Context, given: Given): Promise<string> {
  const { email, code, address } = given;
  const known = await checkPassword(ctx, given);
  if (known.totp_sealed) {
    if (!code) throw apiError('operator_code_required');
    if (!(await consumeCode(ctx, known.id, known.totp_sealed, code))) {
      await record(ctx, known, { email, address }, 'code refused');
      throw apiError('operator_code_wrong');
    }
  }
  await record(ctx, known, { email, address }, 'signed in');
  return startSession(ctx, known.id);
}

/** The operator with this email address and password; every mismatch throws the same error. */
export async function checkPassword(
  ctx: Context,
  { password, address, ...given }: Omit<Given, 'code'>,
): Promise<KnownOperator> {
  const email = given.email.trim().toLowerCase();
  const known = await findOperator(ctx.db.system, email);
  const wait_s = await countCheck(ctx, email);
  if (wait_s !== undefined) {
    await record(ctx, known, { email, address }, 'locked');
    throw apiError('operator_locked', undefined, { retry_after_s: wait_s });
  }
  const correct = await verifyPassword(known?.password_hash ?? undefined, password);
  if (!known || !correct) {
    await record(ctx, known, { email, address }, 'password refused');
    throw apiError('operator_credentials_wrong');
  }
  if (mayUsePassword(ctx, known)) return known;
  await record(ctx, known, { email, address }, 'password not accepted');
  throw apiError('operator_password_off');
}

/** Not if single sign-on replaces the password, unless the password was reset on the server within the last hour. */
function mayUsePassword({ config }: Context, { single_sign_on, local_sign_in }: KnownOperator): boolean {
  return local_sign_in || !(single_sign_on || config.oidc_only);
}

/**
 * Counts an attempt before the password is checked, under a lock per email address, so that concurrent guesses cannot exceed
 * the limit. Unknown addresses are counted too, so that the limit does not reveal which ones exist. Returns the seconds
 * to wait if the limit is reached.
 */
async function countCheck(ctx: Context, email: string): Promise<number | undefined> {
  const hash = hashToken(email);
  return ctx.db.system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${hash.toString('hex')}, 20))`;
    await tx`DELETE FROM sign_in_attempts WHERE at < now() - make_interval(mins => ${password_checks.minutes})`;
    const [recent] = await tx<{ n: number; wait_s: number | null }[]>`
      SELECT count(*) AS n,
             ceil(extract(epoch FROM min(at) + make_interval(mins => ${password_checks.minutes}) - now()))::int AS wait_s
        FROM sign_in_attempts WHERE email_hash = ${hash}`;
    if ((recent?.n ?? 0) >= password_checks.max) return Math.max(1, recent?.wait_s ?? 60);
    await tx`INSERT INTO sign_in_attempts (email_hash) VALUES (${hash})`;
    return undefined;
  });
}

/** An unknown address may be a password typed into the wrong field, so it is not recorded. */
async function record(
  ctx: Context,
  known: KnownOperator | undefined,
  { email, address }: Pick<Given, 'email' | 'address'>,
  outcome: string,
): Promise<void> {
  await ctx.audit.record({
    client_id: null,
    actor_kind: 'operator',
    actor: known ? email.trim().toLowerCase() : 'unknown',
    action: 'operator.sign_in',
    outcome,
    subject: known?.id,
    address,
  });
}
