import type { Context } from '../context.ts';
import { hashToken } from '../../platform/security/hash.ts';

/** Enough time to find a security key. */
export const challenge_minutes = 5;

/** Stores a challenge that a browser is about to sign; `operator_id` is null for a sign-in. */
export async function storeChallenge(
  ctx: Pick<Context, 'db'>,
  challenge: string,
  operator_id: string | null,
): Promise<void> {
  const { system: sql } = ctx.db;
  await sql`DELETE FROM passkey_challenges WHERE created_at < now() - make_interval(mins => ${challenge_minutes})`;
  await sql`INSERT INTO passkey_challenges ${sql.values({ challenge_hash: hashToken(challenge), operator_id })}`;
}

/** Returns whether the challenge was stored for this purpose and has not expired. It can be used once. */
export async function consumeChallenge(
  ctx: Pick<Context, 'db'>,
  challenge: string,
  operator_id: string | null,
): Promise<boolean> {
  const consumed = await ctx.db.system`DELETE FROM passkey_challenges
    WHERE challenge_hash = ${hashToken(challenge)} AND operator_id IS NOT DISTINCT FROM ${operator_id}::uuid
      AND created_at > now() - make_interval(mins => ${challenge_minutes})`;
  return consumed.count > 0;
}
