import { Secret, TOTP } from 'otpauth';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { deletePasskeysOf, hasPasskeys } from './operatorPasskeys.ts';
import { createRecoveryCodes, deleteRecoveryCodes, hasRecoveryCodes } from './operatorRecoveryCodes.ts';
import { consumeTotpStep, lockOperator, setTotp } from './operators.ts';

const period_s = 30;

/** A TOTP secret and its otpauth URI for the QR code. Stored only after the operator has entered a valid code. */
export function newTotp(email: string): { secret: string; uri: string } {
  const totp = new TOTP({ issuer: 'Chartwire', label: email, secret: new Secret({ size: 20 }), period: period_s });
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/** Enables TOTP for an operator who has entered a valid code. Returns false if the code does not match the secret. */
export async function enableTotp(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  operator_id: string,
  { secret, code }: { secret: string; code: string },
): Promise<boolean> {
  const step = stepOf(secret, code);
  if (step === undefined) return false;
  await setTotp(tx, operator_id, ctx.system_keys.seal('operators', bindingOf(operator_id), secret));
  return consumeTotpStep(tx, operator_id, step);
}

/** Checks a code and marks it as used, so that an observed code is useless. */
export async function consumeTotp(ctx: Context, operator_id: string, sealed: Buffer, code: string): Promise<boolean> {
  const step = stepOf(ctx.system_keys.unseal('operators', bindingOf(operator_id), sealed), code);
  return step !== undefined && consumeTotpStep(ctx.db.system, operator_id, step);
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
}

/** The time step of a code: the current one, or a neighbor to allow for clock skew. */
function stepOf(secret: string, code: string): number | undefined {
  const digits = code.replaceAll(/\s/g, '');
  const parsed = /^[A-Z2-7]{16,}$/.test(secret) ? Secret.fromBase32(secret) : undefined;
  if (!parsed || !/^\d{6}$/.test(digits)) return undefined;
  const timestamp = Date.now();
  const delta = new TOTP({ secret: parsed, period: period_s }).validate({ token: digits, timestamp, window: 1 });
  return delta === null ? undefined : Math.floor(timestamp / 1000 / period_s) + delta;
}

function bindingOf(operator_id: string): string {
  return `operators.totp:${operator_id}`;
}
