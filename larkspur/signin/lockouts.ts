import type { Query } from '../database/open.ts';

const WRONG_TRIES_MAX = 5;
const LOCK_MS = 15 * 60_000;

/**
 * Wrong tries are counted by the name that was typed, also for names nobody has: otherwise the lock would tell a
 * stranger which names exist. The row lock makes tries at one name wait for each other, so none slips past the count.
 */
export async function lockTries(sql: Query, userName: string, now: Date): Promise<Date | undefined> {
  await sql`insert into lockouts (user_name) values (${userName}) on conflict do nothing`;
  const [row] = await sql<{ lockedUntil: Date | null }[]>`
    select locked_until from lockouts where user_name = ${userName} for update`;
  return row?.lockedUntil && row.lockedUntil > now ? row.lockedUntil : undefined;
}

/** Until when the name is locked, when this wrong try was one too many. An old lock that has run out starts the count anew. */
export async function countWrongTry(sql: Query, userName: string, now: Date): Promise<Date | undefined> {
  const until = new Date(now.getTime() + LOCK_MS);
  const [row] = await sql<{ lockedUntil: Date | null }[]>`
    update lockouts set
      wrong_tries = case when locked_until is null then wrong_tries + 1 else 1 end,
      locked_until = case when locked_until is null and wrong_tries + 1 >= ${WRONG_TRIES_MAX} then ${until}::timestamptz end
    where user_name = ${userName} returning locked_until`;
  return row?.lockedUntil ?? undefined;
}

/** Locks a name as if somebody had guessed at it too often. */
export async function lockName(sql: Query, userName: string, now: Date): Promise<Date> {
  const until = new Date(now.getTime() + LOCK_MS);
  await sql`insert into lockouts (user_name, wrong_tries, locked_until) values (${userName}, ${WRONG_TRIES_MAX}, ${until})
    on conflict (user_name) do update set wrong_tries = excluded.wrong_tries, locked_until = excluded.locked_until`;
  return until;
}

export async function listLocked(sql: Query, now: Date): Promise<{ userName: string; lockedUntil: Date }[]> {
  return sql<{ userName: string; lockedUntil: Date }[]>`
    select user_name, locked_until from lockouts where locked_until > ${now} order by user_name`;
}

export async function clearTries(sql: Query, userName: string): Promise<void> {
  await sql`delete from lockouts where user_name = ${userName}`;
}
