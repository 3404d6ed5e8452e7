import type { Context } from '../context.ts';
import { hashToken } from '../security/hash.ts';

/** Password checks per counter in this many minutes; further attempts must wait. */
const attempts = { max: 10, minutes: 15 };

/**
 * Counts an attempt before the password is checked, under a lock per counter, so that concurrent guesses cannot exceed
 * the limit. Each known device of an operator has its own counter; all others share one per email address, which
 * strangers can exhaust without locking the operator out. Unknown addresses are counted too, so that the limit does not
 * reveal which ones exist. Returns the seconds to wait if the limit is reached.
 */
export async function countAttempt(
  ctx: Pick<Context, 'db'>,
  email: string,
  device_hash: Buffer | undefined,
): Promise<number | undefined> {
  const email_hash = hashToken(email);
  const counter = (device_hash ?? email_hash).toString('hex');
  return ctx.db.system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${counter}, 20))`;
    await tx`DELETE FROM sign_in_attempts WHERE at < now() - make_interval(mins => ${attempts.minutes})`;
    const [recent] = await tx<{ n: number; wait_s: number | null }[]>`
      SELECT count(*) AS n,
             ceil(extract(epoch FROM min(at) + make_interval(mins => ${attempts.minutes}) - now()))::int AS wait_s
        FROM sign_in_attempts
       WHERE email_hash = ${email_hash} AND device_hash IS NOT DISTINCT FROM ${device_hash ?? null}::bytea`;
    if ((recent?.n ?? 0) >= attempts.max) return Math.max(1, recent?.wait_s ?? 60);
    await tx`INSERT INTO sign_in_attempts ${tx.values({ email_hash, device_hash: device_hash ?? null })}`;
    return undefined;
  });
}
