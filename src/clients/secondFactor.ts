import { Secret, TOTP } from 'otpauth';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { keepSecondFactor, spendStep } from './operators.ts';

const period_s = 30;

/** A secret for an authenticator app, and the address that such apps read from a picture. Kept only once proven. */
export function newSecondFactor(email: string): { secret: string; uri: string } {
  const totp = new TOTP({ issuer: 'Chartwire', label: email, secret: new Secret({ size: 20 }), period: period_s });
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/** Turns one-time codes on for an operator whose app shows the right one. False when the code is not of the secret. */
export async function keepProven(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  operator_id: string,
  { secret, code }: { secret: string; code: string },
): Promise<boolean> {
  const step = stepOf(secret, code);
  if (step === undefined) return false;
  await keepSecondFactor(tx, operator_id, ctx.system_keys.seal('operators', bindingOf(operator_id), secret));
  return spendStep(tx, operator_id, step);
}

/** Whether a code is right and was not used before: seen over a shoulder it opens nothing. */
export async function takeCode(ctx: Context, operator_id: string, sealed: Buffer, code: string): Promise<boolean> {
  const step = stepOf(ctx.system_keys.unseal('operators', bindingOf(operator_id), sealed), code);
  return step !== undefined && spendStep(ctx.db.system, operator_id, step);
}

/** The time step whose code this is: the present one, or one beside it for clocks that differ. */
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
