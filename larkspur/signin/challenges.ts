import type { Query } from '../database/open.ts';
import { hashToken, newToken } from '../secrets.ts';

const CHALLENGE_LIFE_MS = 5 * 60_000;

/** A password was right and the one-time code is awaited. */
export interface Challenge {
  staffId: string;
  userName: string;
}

export async function addChallenge(sql: Query, { staffId, userName }: Challenge, now: Date): Promise<string> {
  const challengeId = newToken();
  const expiresAt = new Date(now.getTime() + CHALLENGE_LIFE_MS);
  await sql`delete from challenges where expires_at < ${now}`;
  await sql`insert into challenges ${sql.values({ challengeHash: hashToken(challengeId), staffId, userName, expiresAt })}`;
  return challengeId;
}

export async function findChallenge(sql: Query, challengeId: string, now: Date): Promise<Challenge | undefined> {
  const [challenge] = await sql<Challenge[]>`
    select staff_id, user_name from challenges
    where challenge_hash = ${hashToken(challengeId)} and expires_at > ${now}`;
  return challenge;
}

/** False when somebody else has met it meanwhile: a challenge opens one session. */
export async function meetChallenge(sql: Query, challengeId: string): Promise<boolean> {
  const met = await sql`delete from challenges where challenge_hash = ${hashToken(challengeId)} returning 1`;
  return met.length > 0;
}
