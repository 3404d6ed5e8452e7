import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { hashToken, newToken } from '../secrets.ts';

const SESSION_IDLE_MS = 30 * 60_000;
export const SESSION_LIFE_MS = 12 * 60 * 60_000;

export interface Session {
  tokenHash: string;
  staffId: string;
  displayName: string;
  role: string;
}

export async function startSession(sql: Query, staffId: string, now: Date): Promise<{ token: string; expires: Date }> {
  const token = newToken();
  await sql`delete from sessions where created_at < ${before(now, SESSION_LIFE_MS)}`;
  await sql`
    insert into sessions (token_hash, staff_id, created_at, last_seen_at)
    values (${hashToken(token)}, ${staffId}, ${now}, ${now})`;
  return { token, expires: new Date(now.getTime() + SESSION_IDLE_MS) };
}

/** Whose session this is; using one keeps it from going idle. */
export async function openSession({ sql, now }: Context, token: string): Promise<Session> {
  const at = now();
  const hash = hashToken(token);
  const [session] = await sql<(Session & { lastSeenAt: Date })[]>`
    select token_hash, staff_id, display_name, role, last_seen_at from sessions join staff using (staff_id)
    where token_hash = ${hash} and active_flag = 'Y'
      and last_seen_at > ${before(at, SESSION_IDLE_MS)} and created_at > ${before(at, SESSION_LIFE_MS)}`;
  if (!session) throw new EmrError('SESSION_EXPIRED', 'Sign in first: there is no such session, or it has ended.');
  const { lastSeenAt, ...who } = session;
  if (lastSeenAt < before(at, TOUCH_MS)) {
    await sql`update sessions set last_seen_at = ${at} where token_hash = ${hash}`;
  }
  return who;
}

export async function endSession(sql: Query, tokenHash: string): Promise<void> {
  await sql`delete from sessions where token_hash = ${tokenHash}`;
}

export async function endAllSessions(sql: Query): Promise<void> {
  await sql`delete from sessions`;
}

/** A session's last use is written at most once a minute, so that reads stay reads. */
const TOUCH_MS = 60_000;

function before(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms);
}
