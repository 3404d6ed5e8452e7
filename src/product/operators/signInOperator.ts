import { ApiError, apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import type { PasskeyAssertion, SessionMethod } from '../../model/dashboard/session.ts';
import { verifyPassword } from '../../platform/security/passwords.ts';
import { findDevice, rememberDevice } from './operatorDevices.ts';
import { type Browser, startSession } from './operatorSessions.ts';
import { findOperator, type KnownOperator } from './operators.ts';
import { checkPasskey } from './passkeys.ts';
import { requireCode } from './secondFactor.ts';
import { countAttempt, forgetAttempt, type RefusedAttempt } from './signInAttempts.ts';
import { signInEntry } from './signInEntry.ts';

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
  return { token: await startSession(ctx, operator_id, method, browser), device };
}

/** Checks a password, and a code if the operator has a second factor. Every wrong email and password get the same error. */
export async function checkPassword(
  ctx: Context,
  { password, code, ...given }: PasswordProof,
  browser: Pick<Browser, 'device' | 'address'>,
): Promise<Proof> {
  const { device } = browser;
  const email = given.email.trim().toLowerCase();
  const device_hash = device === undefined ? undefined : await findDevice(ctx, email, device);
  const refused = await countAttempt(ctx, email, device_hash);
  // Once per period: a flood must not fill the audit log.
  if (refused && !refused.first) throw refusal(refused);
  const known = await findOperator(ctx.db.system, email);
  const operator = known && { id: known.id, email };
  if (refused) {
    await ctx.audit.record(signInEntry(operator, browser, refused.reason));
    throw refusal(refused);
  }
  const caller = device_hash ? 'known' : 'unknown';
  const correct = await verifyPassword(known?.password_hash ?? undefined, password, caller);
  if (!known || !correct) {
    await ctx.audit.record(signInEntry(operator, browser, 'password refused'));
    throw apiError('operator_credentials_wrong');
  }
  if (!mayUsePassword(ctx, known)) {
    await ctx.audit.record(signInEntry(operator, browser, 'password not accepted'));
    throw apiError('operator_password_off');
  }
  if (known.password_expired) {
    await ctx.audit.record(signInEntry(operator, browser, 'temporary password expired'));
    throw apiError('operator_password_expired');
  }
  const proof = { operator_id: known.id, email };
  const needs_code = known.totp_sealed !== null || known.passkeys;
  // A right password is no guess, but a wrong code is one.
  if (!needs_code || !code) await forgetAttempt(ctx, email, device_hash);
  if (!needs_code) return { ...proof, method: 'password' };
  if (!code) throw apiError(known.totp_sealed ? 'operator_code_required' : 'operator_passkey_required');
  const accepted = await requireCode(ctx, known, code).catch(async (error: unknown) => {
    if (error instanceof ApiError) await ctx.audit.record(signInEntry(operator, browser, outcomeOf(error)));
    throw error;
  });
  await forgetAttempt(ctx, email, device_hash);
  return { ...proof, method: 'password_totp', ...(accepted === 'recovery_code' ? { recovery_code: true } : {}) };
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
  const known = await findOperator(ctx.db.system, operator.email);
  if (!known || !mayUsePassword(ctx, known)) {
    await ctx.audit.record(signInEntry(operator, browser, 'passkey not accepted'));
    throw apiError('operator_password_off');
  }
  return { operator_id: operator.id, email: operator.email, method: 'passkey' };
}

function refusal({ reason, wait_s }: RefusedAttempt): ApiError {
  const code = reason === 'locked' ? 'operator_locked' : 'sign_in_busy';
  return apiError(code, undefined, { retry_after_s: wait_s });
}

function outcomeOf({ code }: ApiError): string {
  return code === 'operator_codes_locked' ? 'codes locked' : 'code refused';
}
