import { Secret, TOTP } from 'otpauth';
import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { countCodeGuess, forgetCodeGuesses, uncountCodeGuess } from './operatorCodeGuesses.ts';
import { deletePasskeysOf, hasPasskeys } from './operatorPasskeys.ts';
import {
  consumeRecoveryCode,
  createRecoveryCodes,
  deleteRecoveryCodes,
  hasRecoveryCodes,
} from './operatorRecoveryCodes.ts';
import { consumeTotpStep, lockOperator, setTotp } from './operators.ts';
import { findOffer, removeOffer, storeOffer } from './operatorTotpOffers.ts';

const period_s = 30;

/**
 * Generates a TOTP secret and its otpauth URI for the QR code. The secret is kept until the operator has entered a valid
 * code; the browser does not choose it.
 */
export async function offerTotp(
  ctx: Context,
  tx: Tx,
  { id, email }: { id: string; email: string },
): Promise<{ secret: string; uri: string }> {
  const totp = new TOTP({ issuer: 'Chartwire', label: email, secret: new Secret({ size: 20 }), period: period_s });
  const secret = totp.secret.base32;
  await storeOffer(tx, id, ctx.system_keys.seal('operators', offerBindingOf(id), secret));
  return { secret, uri: totp.toString() };
}

/** Enables the offered secret for an operator who has entered a valid code of it. Returns false if the code is wrong. */
export async function enableTotp(ctx: Context, tx: Tx, operator_id: string, code: string): Promise<boolean> {
  const offered = await findOffer(tx, operator_id);
  if (!offered) throw apiError('totp_offer_missing');
  const secret = ctx.system_keys.unseal('operators', offerBindingOf(operator_id), offered);
  const step = stepOf(secret, code);
  if (step === undefined) return false;
  await setTotp(tx, operator_id, ctx.system_keys.seal('operators', bindingOf(operator_id), secret));
  await removeOffer(tx, operator_id);
  return consumeTotpStep(tx, operator_id, step);
}

/**
 * Checks a code and marks it as used, so that an observed code is useless. `locked`: too many wrong ones were entered, in
 * whatever session or process.
 */
async function consumeTotp(
  ctx: Context,
  operator_id: string,
  sealed: Buffer,
  code: string,
): Promise<'accepted' | 'wrong' | 'locked'> {
  if (!(await countCodeGuess(ctx, operator_id))) return 'locked';
  const step = stepOf(ctx.system_keys.unseal('operators', bindingOf(operator_id), sealed), code);
  if (step === undefined || !(await consumeTotpStep(ctx.db.system, operator_id, step))) return 'wrong';
  await uncountCodeGuess(ctx, operator_id);
  return 'accepted';
}

/**
 * Checks a code of an operator who has an authenticator app, or a recovery code, which also replaces a passkey. Throws if
 * it is wrong. A recovery code has 80 random bits, so it is not counted as a guess.
 */
export async function requireCode(
  ctx: Context,
  { id, totp_sealed }: { id: string; totp_sealed: Buffer | null },
  code: string,
): Promise<'totp' | 'recovery_code'> {
  if (!isAppCode(code) || !totp_sealed) {
    if (await consumeRecoveryCode(ctx.db.system, id, code)) return 'recovery_code';
    throw apiError('operator_code_wrong');
  }
  const outcome = await consumeTotp(ctx, id, totp_sealed, code);
  if (outcome === 'accepted') return 'totp';
  throw apiError(outcome === 'locked' ? 'operator_codes_locked' : 'operator_code_wrong');
}

function isAppCode(code: string): boolean {
  return /^\d{6}$/.test(code.replaceAll(/\s/g, ''));
}

/**
 * Runs a change of an operator's second factors. Recovery codes exist as long as a factor does: the first factor creates
 * them, and they are returned; the last one deletes them. The lock keeps two changes at the same time from missing each
 * other.
 */
export async function changeSecondFactors(tx: Tx, operator_id: string, change: () => Promise<void>): Promise<string[]> {
  await lockOperator(tx, operator_id);
  await change();
  const { totp } = await lockOperator(tx, operator_id);
  if (!totp && !(await hasPasskeys(tx, operator_id))) await deleteRecoveryCodes(tx, operator_id);
  else if (!(await hasRecoveryCodes(tx, operator_id))) return createRecoveryCodes(tx, operator_id);
  return [];
}

/** Removes all second factors of an operator who has lost them. */
export async function removeSecondFactors(tx: Tx, operator_id: string): Promise<void> {
  await changeSecondFactors(tx, operator_id, async () => {
    await setTotp(tx, operator_id, null);
    await deletePasskeysOf(tx, operator_id);
  });
  await removeOffer(tx, operator_id);
  await forgetCodeGuesses(tx, operator_id);
}

/** The time step of a code: the current one, or a neighbor to allow for clock skew. */
function stepOf(secret: string, code: string): number | undefined {
  const digits = code.replaceAll(/\s/g, '');
  if (!isAppCode(digits)) return undefined;
  const timestamp = Date.now();
  const delta = new TOTP({ secret: Secret.fromBase32(secret), period: period_s }).validate({
    token: digits,
    timestamp,
    window: 1,
  });
  return delta === null ? undefined : Math.floor(timestamp / 1000 / period_s) + delta;
}

function bindingOf(operator_id: string): string {
  return `operators.totp:${operator_id}`;
}

function offerBindingOf(operator_id: string): string {
  return `operator_totp_offers:${operator_id}`;
}
