import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import type { PasskeyAssertion, SessionMethod } from '../model/dashboard/session.ts';
import { verifyPassword } from '../security/passwords.ts';
import { findDevice, rememberDevice } from './operatorDevices.ts';
import { consumeRecoveryCode } from './operatorRecoveryCodes.ts';
import { type Browser, startSession } from './operatorSessions.ts';
import { findOperator, type KnownOperator } from './operators.ts';
import { checkPasskey } from './passkeys.ts';
import { consumeTotp } from './secondFactor.ts';
import { countAttempt } from './signInAttempts.ts';

/** A started session: its token, and the token of the browser's device cookie. */
export type SignedIn = { token: string; device: string };

/** A person who has proved to be this operator. */
type Proof = { operator_id: string; email: string; method: SessionMethod; recovery_code?: true };

export type PasswordProof = { email: string; password: string; code?: string | undefined };

/** Starts a session for an operator who has proved their identity. */
export async function signInOperator(ctx: Context, proof: Proof, browser: Browser): Promise<SignedIn> {
  const { operator_id, email, method, recovery_code } = proof;
  await record(ctx, { id: operator_id, email }, 'signed in', { method, ...(recovery_code ? { recovery_code } : {}) });
  const device = await rememberDevice(ctx, operator_id, browser.device);
  return { token: await startSession(ctx, operator_id, method, browser), device };
}

/** Checks a password, and a code if the operator has a second factor. Every wrong email and password get the same error. */
export async function checkPassword(
  ctx: Context,
  { email, password, code }: PasswordProof,
  { device }: Pick<Browser, 'device'>,
): Promise<Proof> {
  const address = email.trim().toLowerCase();
  const known = await findOperator(ctx.db.system, address);
  const operator = known && { id: known.id, email: address };
  const device_hash = device === undefined ? undefined : await findDevice(ctx, address, device);
  const wait_s = await countAttempt(ctx, address, device_hash);
  if (wait_s !== undefined) {
    await record(ctx, operator, 'locked');
    throw apiError('operator_locked', undefined, { retry_after_s: wait_s });
  }
  const correct = await verifyPassword(known?.password_hash, password);
  if (!known || !correct) {
    await record(ctx, operator, 'password refused');
    throw apiError('operator_credentials_wrong');
  }
  const proof = { operator_id: known.id, email: address };
  if (!known.totp_sealed && !known.passkeys) return { ...proof, method: 'password' };
  if (!code) throw apiError(known.totp_sealed ? 'operator_code_required' : 'operator_passkey_required');
  const accepted = await consumeCode(ctx, known, code);
  if (!accepted) {
    await record(ctx, operator, 'code refused');
    throw apiError('operator_code_wrong');
  }
  return { ...proof, method: 'password_totp', ...(accepted === 'recovery_code' ? { recovery_code: true } : {}) };
}

/** Checks what a browser has signed with a passkey, which counts as two factors. */
export async function checkPasskeySignIn(ctx: Context, assertion: PasskeyAssertion): Promise<Proof> {
  const { passkey, accepted } = await checkPasskey(ctx, assertion);
  if (passkey && accepted) return { operator_id: passkey.operator_id, email: passkey.email, method: 'passkey' };
  await record(ctx, passkey && { id: passkey.operator_id, email: passkey.email }, 'passkey refused');
  throw apiError('passkey_refused');
}

/** A code of the authenticator app, or a recovery code, which also replaces a passkey. */
async function consumeCode(
  ctx: Context,
  { id, totp_sealed }: KnownOperator,
  code: string,
): Promise<'totp' | 'recovery_code' | undefined> {
  if (totp_sealed && (await consumeTotp(ctx, id, totp_sealed, code))) return 'totp';
  return (await consumeRecoveryCode(ctx.db.system, id, code)) ? 'recovery_code' : undefined;
}

/** An unknown address may be a password typed into the wrong field, so it is not recorded. */
async function record(
  ctx: Context,
  operator: { id: string; email: string } | undefined,
  outcome: string,
  detail?: Record<string, unknown>,
): Promise<void> {
  await ctx.audit.record({
    client_id: null,
    actor_kind: 'operator',
    actor: operator?.email ?? 'unknown',
    action: 'operator.sign_in',
    outcome,
    subject: operator?.id,
    detail,
  });
}
