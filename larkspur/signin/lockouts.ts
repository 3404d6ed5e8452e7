import type { Query } from '../database/open.ts';

const FAILED_ATTEMPTS_MAX = 5;
const LOCK_MS = 15 * 60_000;

/**
 * Starts a sign-in attempt. Returns the time until which the user name is locked, or undefined if it is not locked.
 * Unknown names are counted too: otherwise the lock would reveal which names exist. The row lock serializes attempts
 * for one name, so that concurrent attempts are all counted.
 */
export async function beginAttempt(sql: Query, userName: string, now: Date): Promise<Date | undefined> {
  await sql`insert into lockouts (user_name) values (${userName}) on conflict do nothing`;
  const [row] = await sql<{ lockedUntil: Date | null }[]>`
    select locked_until from lockouts where user_name = ${userName} for update`;
  return row?.lockedUntil && row.lockedUntil > now ? row.lockedUntil : undefined;
}

/** Returns the end of the lock if this attempt reached the limit. An expired lock restarts the count. */
export async function countFailedAttempt(sql: Query, userName: string, now: Date): Promise<Date | undefined> {
  const until = new Date(now.getTime() + LOCK_MS);
  const [row] = await sql<{ lockedUntil: Date | null }[]>`
    update lockouts set
      wrong_tries = case when locked_until is null then wrong_tries + 1 else 1 end,
      locked_until = case when locked_until is null and wrong_tries + 1 >= ${FAILED_ATTEMPTS_MAX} then ${until}::timestamptz end
    where user_name = ${userName} returning locked_until`;
  return row?.lockedUntil ?? undefined;
}

/** Locks a name as if the limit of failed attempts had been reached. */
export async function lockUserName(sql: Query, userName: string, now: Date): Promise<Date> {
  const until = new Date(now.getTime() + LOCK_MS);
  await sql`insert into lockouts (user_name, wrong_tries, locked_until) values (${userName}, ${FAILED_ATTEMPTS_MAX}, ${until})
    on conflict (user_name) do update set wrong_tries = excluded.wrong_tries, locked_until = excluded.locked_until`;
  return until;
}

export async function listLockouts(sql: Query, now: Date): Promise<{ userName: string; lockedUntil: Date }[]> {
  return sql<{ userName: string; lockedUntil: Date }[]>`
    select user_name, locked_until from lockouts where locked_until > ${now} order by user_name`;
}

export async function clearFailedAttempts(sql: Query, userName: string): Promise<void> {
  await sql`delete from lockouts where user_name = ${userName}`;
}
