import { ApiError, apiError } from '../../catalog/errors.ts';
import { newToken } from '../../catalog/ids.ts';
import type { Fragment, Query, Sql, Tx } from '../../platform/db/database.ts';
import { verifyPassword } from '../../platform/security/passwords.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { AuditEntry, Context } from '../context.ts';
import { disableInactiveOperators } from './inactivity.ts';
import { type Browser, startSession } from './operatorSessions.ts';
import { findOperator, type KnownOperator, type SessionMethod } from './operators.ts';
import { checkPasskey, type PasskeyAssertion } from './passkeys.ts';
import { requireCode } from './secondFactor.ts';

/** A started session: its token, and the token of the browser's device cookie. */
export type SignedIn = { token: string; device: string };

/** A person who has proved to be this operator. */
type Proof = { operator_id: string; email: string; method: SessionMethod; recovery_code?: true };

export type PasswordProof = { email: string; password: string; code?: string | undefined };

/** Starts a session for an operator who has proved their identity. */
export async function signInOperator(ctx: Context, proof: Proof, browser: Browser): Promise<SignedIn> {
  const { operator_id, email, method, recovery_code } = proof;
  const detail = { method, ...(recovery_code ? { recovery_code } : {}) };
  await ctx.audit.record(signInEntry({ id: operator_id, email }, browser, 'signed in', detail));
  const device = await rememberDevice(ctx, operator_id, browser.device);
  return { token: await startSession(ctx, { operator_id, method, browser }), device };
}

/** Checks a password, and a code if the operator has a second factor. Every wrong email and password get the same error. */
export async function checkPassword(
  ctx: Context,
  { password, code, ...sent }: PasswordProof,
  browser: Pick<Browser, 'device' | 'address'>,
): Promise<Proof> {
  const { device } = browser;
  const email = sent.email.trim().toLowerCase();
  const device_hash = device === undefined ? undefined : await findDevice(ctx, email, device);
  const refused = await countAttempt(ctx, email, device_hash);
  // Once per period: a flood must not fill the audit log.
  if (refused && !refused.first) throw refusal(refused);
  const stored = await findOperator(ctx.db.system, email);
  const operator = stored && { id: stored.id, email };
  if (refused) {
    await ctx.audit.record(signInEntry(operator, browser, refused.reason));
    throw refusal(refused);
  }
  const caller = device_hash ? 'known' : 'unknown';
  const correct = await verifyPassword(stored?.password_hash ?? undefined, password, caller);
  if (!stored || !correct) {
    await ctx.audit.record(signInEntry(operator, browser, 'password refused'));
    throw apiError('operator_credentials_wrong');
  }
  await requireActive(ctx, stored, { id: stored.id, email }, browser);
  if (!mayUsePassword(ctx, stored)) {
    await ctx.audit.record(signInEntry(operator, browser, 'password not accepted'));
    throw apiError('operator_password_off');
  }
  if (stored.password_expired) {
    await ctx.audit.record(signInEntry(operator, browser, 'temporary password expired'));
    throw apiError('operator_password_expired');
  }
  const proof = { operator_id: stored.id, email };
  const needs_code = stored.totp_sealed !== null || stored.passkeys;
  // A right password is no guess, but a wrong code is one.
  if (!needs_code || !code) await forgetAttempt(ctx, email, device_hash);
  if (!needs_code) return { ...proof, method: 'password' };
  if (!code) throw apiError(stored.totp_sealed ? 'operator_code_required' : 'operator_passkey_required');
  const accepted = await requireCode(ctx, stored, code).catch(async (error: unknown) => {
    if (error instanceof ApiError) await ctx.audit.record(signInEntry(operator, browser, describeOutcome(error)));
    throw error;
  });
  await forgetAttempt(ctx, email, device_hash);
  return { ...proof, method: 'password_totp', ...(accepted === 'recovery_code' ? { recovery_code: true } : {}) };
}

/** Throws if the operator was disabled after days of inactivity, or is now. Only for a caller who has proved their identity. */
async function requireActive(
  ctx: Context,
  { inactive }: KnownOperator,
  operator: { id: string; email: string },
  browser: Pick<Browser, 'address'>,
): Promise<void> {
  if (!inactive && !(await disableInactiveOperators(ctx)).includes(operator.id)) return;
  await ctx.audit.record(signInEntry(operator, browser, 'inactive'));
  throw apiError('operator_inactive');
}

/** Not if single sign-on replaces the password, unless the password was reset on the server within the last hour. */
function mayUsePassword({ config }: Context, { single_sign_on, local_sign_in }: KnownOperator): boolean {
  return local_sign_in || !(single_sign_on || config.oidc_only);
}

/** Checks what a browser has signed with a passkey, which counts as two factors. */
export async function checkPasskeySignIn(
  ctx: Context,
  assertion: PasskeyAssertion,
  browser: Pick<Browser, 'address'>,
): Promise<Proof> {
  const { passkey, accepted } = await checkPasskey(ctx, assertion);
  const operator = passkey && { id: passkey.operator_id, email: passkey.email };
  if (!operator || !accepted) {
    await ctx.audit.record(signInEntry(operator, browser, 'passkey refused'));
    throw apiError('passkey_refused');
  }
  const stored = await findOperator(ctx.db.system, operator.email);
  if (stored) await requireActive(ctx, stored, operator, browser);
  if (!stored || !mayUsePassword(ctx, stored)) {
    await ctx.audit.record(signInEntry(operator, browser, 'passkey not accepted'));
    throw apiError('operator_password_off');
  }
  return { operator_id: operator.id, email: operator.email, method: 'passkey' };
}

function refusal({ reason, wait_s }: RefusedAttempt): ApiError {
  const code = reason === 'locked' ? 'operator_locked' : 'sign_in_busy';
  return apiError(code, undefined, { retry_after_s: wait_s });
}

function describeOutcome({ code }: ApiError): string {
  return code === 'operator_codes_locked' ? 'codes locked' : 'code refused';
}

/**
 * The audit record of a sign-in or its refusal. A person who is not an operator is not named: what was entered as email
 * address may be a password typed into the wrong field.
 */
export function signInEntry(
  operator: { id: string; email: string } | undefined,
  { address }: { address: string },
  outcome: string,
  detail?: Record<string, unknown>,
): AuditEntry {
  return {
    client_id: null,
    actor_kind: 'operator',
    actor: operator?.email ?? 'unknown',
    action: 'operator.sign_in',
    outcome,
    subject: operator?.id,
    address,
    detail,
  };
}

type Limit = { max: number; minutes: number };

/** Wrong passwords and codes per counter; further attempts must wait. */
const per_counter: Limit = { max: 10, minutes: 15 };
/** Password checks of all unknown browsers together: 2.4 seconds of a core per minute. */
const all_unknown: Limit = { max: 120, minutes: 1 };
const all_unknown_counter = hashToken('all unknown browsers');

/** `first`: no attempt was refused before in this period. */
export type RefusedAttempt = { reason: 'locked' | 'busy'; wait_s: number; first: boolean };

/**
 * Counts an attempt before the password is checked, in one statement, so that concurrent guesses cannot exceed the limit.
 * Each known device of an operator has its own counter; all others share one per email address, which strangers can
 * exhaust without locking the operator out, and a total for the installation. Unknown addresses are counted too, so that
 * the limit does not reveal which ones exist. Returns undefined if the password may be checked.
 */
export async function countAttempt(
  ctx: Pick<Context, 'db'>,
  email: string,
  device_hash: Buffer | undefined,
): Promise<RefusedAttempt | undefined> {
  const { pooled: sql } = ctx.db.system;
  const counter = chooseCounter(email, device_hash);
  // Only an attempt that its own counter allows takes from the total, and none adds a row once the total is used up.
  const [counted] = await sql<{ own: number | null; total: number | null }[]>`
    WITH own AS (${increment(sql, counter, per_counter, device_hash ? sql`true` : isOpen(sql, all_unknown_counter, all_unknown))}),
         total AS (${increment(
           sql,
           all_unknown_counter,
           all_unknown,
           sql`${device_hash === undefined} AND EXISTS (SELECT FROM own WHERE attempts <= ${per_counter.max})`,
         )})
    SELECT (SELECT attempts FROM own) AS own, (SELECT attempts FROM total) AS total`;
  const { own = null, total = null } = counted ?? {};
  const own_allows = own !== null && own <= per_counter.max;
  if (own_allows && (device_hash || (total !== null && total <= all_unknown.max))) return undefined;
  const locked = !own_allows && (own !== null || !(await isCounterOpen(sql, counter, per_counter)));
  if (locked) return { reason: 'locked', wait_s: await readWait(sql, counter, per_counter), first: own !== null };
  const wait_s = await readWait(sql, all_unknown_counter, all_unknown);
  return { reason: 'busy', wait_s, first: total !== null };
}

/**
 * Takes back an attempt that has turned out not to be a guess. Only its own counter: the total limits the processor time
 * of password checks, right or wrong.
 */
export async function forgetAttempt(
  { db }: Pick<Context, 'db'>,
  email: string,
  device_hash: Buffer | undefined,
): Promise<void> {
  // A refused attempt raises the counter above the limit, and would otherwise count as a guess.
  await db.system.pooled`
    UPDATE sign_in_attempts SET attempts = least(attempts, ${per_counter.max}) - 1
     WHERE counter_hash = ${chooseCounter(email, device_hash)} AND attempts > 0`;
}

/** Deletes counters whose period is over. */
export async function purgeAttempts({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM sign_in_attempts WHERE since < now() - make_interval(mins => ${per_counter.minutes})`;
}

function chooseCounter(email: string, device_hash: Buffer | undefined): Buffer {
  return device_hash ?? hashToken(email);
}

/** Adds one if `condition` is met. Stops at one more than the limit, so that a refused flood writes nothing. */
function increment(sql: Query, counter: Buffer, { max, minutes }: Limit, condition: Fragment): Fragment {
  const over = sql`counted.since <= now() - make_interval(mins => ${minutes})`;
  return sql`
    INSERT INTO sign_in_attempts AS counted (counter_hash, attempts) SELECT ${counter}::bytea, 1 WHERE ${condition}
    ON CONFLICT (counter_hash) DO UPDATE
      SET attempts = CASE WHEN ${over} THEN 1 ELSE counted.attempts + 1 END,
          since = CASE WHEN ${over} THEN now() ELSE counted.since END
      WHERE counted.attempts <= ${max} OR ${over}
    RETURNING attempts`;
}

function isOpen(sql: Query, counter: Buffer, { max, minutes }: Limit): Fragment {
  return sql`NOT EXISTS (SELECT FROM sign_in_attempts WHERE counter_hash = ${counter} AND attempts > ${max}
    AND since > now() - make_interval(mins => ${minutes}))`;
}

async function isCounterOpen(sql: Query, counter: Buffer, limit: Limit): Promise<boolean> {
  const [row] = await sql<{ open: boolean }[]>`SELECT ${isOpen(sql, counter, limit)} AS open`;
  return row?.open === true;
}

async function readWait(sql: Query, counter: Buffer, { minutes }: Limit): Promise<number> {
  const [row] = await sql<{ wait_s: number }[]>`
    SELECT ceil(extract(epoch FROM since + make_interval(mins => ${minutes}) - now()))::int AS wait_s
      FROM sign_in_attempts WHERE counter_hash = ${counter}`;
  return Math.max(1, row?.wait_s ?? 60);
}

/** A browser that was not used for this long counts as unknown. */
export const device_days = 180;

/**
 * Remembers that an operator has signed in with this browser, and returns the token for its device cookie. A browser
 * that is known keeps its token.
 */
export async function rememberDevice(
  ctx: Pick<Context, 'db'>,
  operator_id: string,
  device: string | undefined,
): Promise<string> {
  const { system: sql } = ctx.db;
  if (device !== undefined) {
    const used = await sql`UPDATE operator_devices SET used_at = now()
      WHERE token_hash = ${hashToken(device)} AND operator_id = ${operator_id}`;
    if (used.count > 0) return device;
  }
  const token = newToken('operator_device');
  await sql`INSERT INTO operator_devices (token_hash, operator_id) VALUES (${hashToken(token)}, ${operator_id})`;
  return token;
}

/** The hash of a device cookie if this operator has signed in with it, else undefined. */
export async function findDevice(ctx: Pick<Context, 'db'>, email: string, token: string): Promise<Buffer | undefined> {
  const hash = hashToken(token);
  const rows = await ctx.db.system`SELECT FROM operator_devices JOIN operators ON operators.id = operator_id
    WHERE token_hash = ${hash} AND email = ${email}
      AND used_at > now() - make_interval(days => ${device_days})`;
  return rows.length > 0 ? hash : undefined;
}

export async function forgetDevices(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_devices WHERE operator_id = ${operator_id}`;
}

export async function purgeDevices({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM operator_devices WHERE used_at < now() - make_interval(days => ${device_days})`;
}
