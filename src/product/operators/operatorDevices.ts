import { newToken } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';

/** A browser that was not used for this long counts as unknown. */
export const device_days = 180;

/**
 * Remembers that an operator has signed in with this browser, and returns the token for its device cookie. A browser
 * that is known keeps its token.
 */
export async function rememberDevice(
  ctx: Pick<Context, 'db'>,
  operator_id: string,
  known: string | undefined,
): Promise<string> {
  const { system: sql } = ctx.db;
  if (known !== undefined) {
    const used = await sql`UPDATE operator_devices SET used_at = now()
      WHERE token_hash = ${hashToken(known)} AND operator_id = ${operator_id}`;
    if (used.count > 0) return known;
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
