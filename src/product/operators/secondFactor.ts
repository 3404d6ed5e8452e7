import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { apiError } from '../../catalog/errors.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { consumeTotpStep, lockOperator, setTotp } from './operators.ts';
import { deleteOperatorPasskeys, hasPasskeys } from './passkeys.ts';

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
  await storeOffer(tx, id, ctx.system_keys.seal('operators', toOfferBinding(id), secret));
  return { secret, uri: totp.toString() };
}

/** Enables the offered secret for an operator who has entered a valid code of it. Returns false if the code is wrong. */
export async function enableTotp(ctx: Context, tx: Tx, operator_id: string, code: string): Promise<boolean> {
  const offered = await findOffer(tx, operator_id);
  if (!offered) throw apiError('totp_offer_missing');
  const secret = ctx.system_keys.unseal('operators', toOfferBinding(operator_id), offered);
  const step = findTimeStep(secret, code);
  if (step === undefined) return false;
  await setTotp(tx, operator_id, ctx.system_keys.seal('operators', toBinding(operator_id), secret));
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
  const step = findTimeStep(ctx.system_keys.unseal('operators', toBinding(operator_id), sealed), code);
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
    await deleteOperatorPasskeys(tx, operator_id);
  });
  await removeOffer(tx, operator_id);
  await forgetCodeGuesses(tx, operator_id);
}

/** The time step of a code: the current one, or a neighbor to allow for clock skew. */
function findTimeStep(secret: string, code: string): number | undefined {
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

function toBinding(operator_id: string): string {
  return `operators.totp:${operator_id}`;
}

function toOfferBinding(operator_id: string): string {
  return `operator_totp_offers:${operator_id}`;
}

/** Enough time to install an app. */
const offer_minutes = 15;

/** Stores the sealed secret that was offered to an operator, in place of an earlier one. */
export async function storeOffer(tx: Tx, operator_id: string, secret_sealed: Buffer): Promise<void> {
  await tx`
    INSERT INTO operator_totp_offers (operator_id, secret_sealed) VALUES (${operator_id}, ${secret_sealed})
    ON CONFLICT (operator_id) DO UPDATE SET secret_sealed = EXCLUDED.secret_sealed, offered_at = now()`;
}

/** The sealed secret that was offered; undefined if there is none, or it has expired. */
export async function findOffer(tx: Tx, operator_id: string): Promise<Buffer | undefined> {
  const [row] = await tx<{ secret_sealed: Buffer }[]>`
    SELECT secret_sealed FROM operator_totp_offers
     WHERE operator_id = ${operator_id} AND offered_at > now() - make_interval(mins => ${offer_minutes})`;
  return row?.secret_sealed;
}

export async function removeOffer(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_totp_offers WHERE operator_id = ${operator_id}`;
}

/** Crockford's base 32: without letters that look like digits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const codes_count = 10;

/** Creates recovery codes for an operator who has none. They are returned once; only hashes are stored. */
export async function createRecoveryCodes(tx: Tx, operator_id: string): Promise<string[]> {
  const codes = Array.from({ length: codes_count }, newCode);
  const hashes = codes.map((code) => hashCode(operator_id, code));
  await tx`INSERT INTO operator_recovery_codes (code_hash, operator_id)
    SELECT unnest(${hashes}::bytea[]), ${operator_id}`;
  return codes;
}

/** Returns whether the operator had this code. It is accepted once, even if it is sent twice at the same time. */
export async function consumeRecoveryCode(sql: Sql | Tx, operator_id: string, code: string): Promise<boolean> {
  const consumed = await sql`DELETE FROM operator_recovery_codes
    WHERE operator_id = ${operator_id} AND code_hash = ${hashCode(operator_id, code)}`;
  return consumed.count > 0;
}

export async function hasRecoveryCodes(tx: Tx, operator_id: string): Promise<boolean> {
  const rows = await tx`SELECT FROM operator_recovery_codes WHERE operator_id = ${operator_id} LIMIT 1`;
  return rows.length > 0;
}

export async function deleteRecoveryCodes(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_recovery_codes WHERE operator_id = ${operator_id}`;
}

/** 80 random bits, so that a fast hash is enough: `k3vq-81tz-…`, four groups of four. */
function newCode(): string {
  const letters = [...randomBytes(16)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return letters.replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** Typed codes may have other letter case, spaces and look-alikes. The id keeps equal codes of two operators apart. */
function hashCode(operator_id: string, code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return hashToken(`recovery code ${operator_id} ${plain}`);
}

/**
 * Wrong codes of an authenticator app that are accepted in this many days. Three of a million codes are valid at a time, so
 * a person who knows the password succeeds with a chance of 1 in 900 per year. People mistype fewer.
 */
const guesses = { max: 30, days: 30 };

/**
 * Counts a guess before the code is checked, so that concurrent ones cannot exceed the limit. Returns false if it is
 * reached: codes of the app are then refused until the period ends or the operator is reset.
 */
export async function countCodeGuess(ctx: Pick<Context, 'db'>, operator_id: string): Promise<boolean> {
  const { pooled: sql } = ctx.db.system;
  const over = sql`counted.since <= now() - make_interval(days => ${guesses.days})`;
  const counted = await sql`
    INSERT INTO operator_code_guesses AS counted (operator_id, guesses) VALUES (${operator_id}, 1)
    ON CONFLICT (operator_id) DO UPDATE
      SET guesses = CASE WHEN ${over} THEN 1 ELSE counted.guesses + 1 END,
          since = CASE WHEN ${over} THEN now() ELSE counted.since END
      WHERE counted.guesses < ${guesses.max} OR ${over}`;
  return counted.count > 0;
}

/** The code was right, so it was no guess. Earlier ones stay counted. */
export async function uncountCodeGuess(ctx: Pick<Context, 'db'>, operator_id: string): Promise<void> {
  await ctx.db.system.pooled`
    UPDATE operator_code_guesses SET guesses = guesses - 1 WHERE operator_id = ${operator_id} AND guesses > 0`;
}

export async function forgetCodeGuesses(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_code_guesses WHERE operator_id = ${operator_id}`;
}
