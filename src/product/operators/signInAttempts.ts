import type { Context } from '../context.ts';
import type { Fragment, Query, Sql } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';

type Limit = { max: number; minutes: number };

/** Wrong passwords and codes per counter; further attempts must wait. */
const per_counter: Limit = { max: 10, minutes: 15 };
/** Password checks of all unknown browsers together: 2.4 seconds of a core per minute. */
const all_unknown: Limit = { max: 120, minutes: 1 };
const all_unknown_counter = hashToken('all unknown browsers');

/** `first`: no attempt was refused before in this period. */
export type RefusedAttempt = { reason: 'locked' | 'busy'; wait_s: number; first: boolean };

/**
 * Counts an attempt before the password is checked, in one statement, so that concurrent guesses cannot exceed the limit.
 * Each known device of an operator has its own counter; all others share one per email address, which strangers can
 * exhaust without locking the operator out, and a total for the installation. Unknown addresses are counted too, so that
 * the limit does not reveal which ones exist. Returns undefined if the password may be checked.
 */
export async function countAttempt(
  ctx: Pick<Context, 'db'>,
  email: string,
  device_hash: Buffer | undefined,
): Promise<RefusedAttempt | undefined> {
  const { pooled: sql } = ctx.db.system;
  const counter = counterOf(email, device_hash);
  // Only an attempt that its own counter allows takes from the total, and none adds a row once the total is used up.
  const [counted] = await sql<{ own: number | null; total: number | null }[]>`
    WITH own AS (${increment(sql, counter, per_counter, device_hash ? sql`true` : isOpen(sql, all_unknown_counter, all_unknown))}),
         total AS (${increment(
           sql,
           all_unknown_counter,
           all_unknown,
           sql`${device_hash === undefined} AND EXISTS (SELECT FROM own WHERE attempts <= ${per_counter.max})`,
         )})
    SELECT (SELECT attempts FROM own) AS own, (SELECT attempts FROM total) AS total`;
  const { own = null, total = null } = counted ?? {};
  const own_allows = own !== null && own <= per_counter.max;
  if (own_allows && (device_hash || (total !== null && total <= all_unknown.max))) return undefined;
  const locked = !own_allows && (own !== null || !(await isCounterOpen(sql, counter, per_counter)));
  if (locked) return { reason: 'locked', wait_s: await waitOf(sql, counter, per_counter), first: own !== null };
  const wait_s = await waitOf(sql, all_unknown_counter, all_unknown);
  return { reason: 'busy', wait_s, first: total !== null };
}

/**
 * Takes back an attempt that has turned out not to be a guess. Only its own counter: the total limits the processor time
 * of password checks, right or wrong.
 */
export async function forgetAttempt(
  { db }: Pick<Context, 'db'>,
  email: string,
  device_hash: Buffer | undefined,
): Promise<void> {
  // A refused attempt raises the counter above the limit, and would otherwise count as a guess.
  await db.system.pooled`
    UPDATE sign_in_attempts SET attempts = least(attempts, ${per_counter.max}) - 1
     WHERE counter_hash = ${counterOf(email, device_hash)} AND attempts > 0`;
}

/** Deletes counters whose period is over. */
export async function purgeAttempts({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM sign_in_attempts WHERE since < now() - make_interval(mins => ${per_counter.minutes})`;
}

function counterOf(email: string, device_hash: Buffer | undefined): Buffer {
  return device_hash ?? hashToken(email);
}

/** Adds one if `condition` is met. Stops at one more than the limit, so that a refused flood writes nothing. */
function increment(sql: Query, counter: Buffer, { max, minutes }: Limit, condition: Fragment): Fragment {
  const over = sql`counted.since <= now() - make_interval(mins => ${minutes})`;
  return sql`
    INSERT INTO sign_in_attempts AS counted (counter_hash, attempts) SELECT ${counter}::bytea, 1 WHERE ${condition}
    ON CONFLICT (counter_hash) DO UPDATE
      SET attempts = CASE WHEN ${over} THEN 1 ELSE counted.attempts + 1 END,
          since = CASE WHEN ${over} THEN now() ELSE counted.since END
      WHERE counted.attempts <= ${max} OR ${over}
    RETURNING attempts`;
}

function isOpen(sql: Query, counter: Buffer, { max, minutes }: Limit): Fragment {
  return sql`NOT EXISTS (SELECT FROM sign_in_attempts WHERE counter_hash = ${counter} AND attempts > ${max}
    AND since > now() - make_interval(mins => ${minutes}))`;
}

async function isCounterOpen(sql: Query, counter: Buffer, limit: Limit): Promise<boolean> {
  const [row] = await sql<{ open: boolean }[]>`SELECT ${isOpen(sql, counter, limit)} AS open`;
  return row?.open === true;
}

async function waitOf(sql: Query, counter: Buffer, { minutes }: Limit): Promise<number> {
  const [row] = await sql<{ wait_s: number }[]>`
    SELECT ceil(extract(epoch FROM since + make_interval(mins => ${minutes}) - now()))::int AS wait_s
      FROM sign_in_attempts WHERE counter_hash = ${counter}`;
  return Math.max(1, row?.wait_s ?? 60);
}
