import { Secret, TOTP } from 'otpauth';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { consumeTotpStep, setSecondFactor } from './operators.ts';

const period_s = 30;

/** A TOTP secret and its otpauth URI for the QR code. Stored only after the operator has entered a valid code. */
export function newSecondFactor(email: string): { secret: string; uri: string } {
  const totp = new TOTP({ issuer: 'Chartwire', label: email, secret: new Secret({ size: 20 }), period: period_s });
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/** Enables TOTP for an operator who has entered a valid code. Returns false if the code does not match the secret. */
export async function enableSecondFactor(
  ctx: Pick<Context, 'system_keys'>,
  tx: Tx,
  operator_id: string,
  { secret, code }: { secret: string; code: string },
): Promise<boolean> {
  const step = stepOf(secret, code);
  if (step === undefined) return false;
  await setSecondFactor(tx, operator_id, ctx.system_keys.seal('operators', bindingOf(operator_id), secret));
  return consumeTotpStep(tx, operator_id, step);
}

/** Checks a code and marks it as used, so that an observed code is useless. */
export async function consumeCode(ctx: Context, operator_id: string, sealed: Buffer, code: string): Promise<boolean> {
  const step = stepOf(ctx.system_keys.unseal('operators', bindingOf(operator_id), sealed), code);
  return step !== undefined && consumeTotpStep(ctx.db.system, operator_id, step);
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
