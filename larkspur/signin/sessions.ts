import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { hashToken, newToken } from './credentials.ts';

const SESSION_IDLE_MS = 30 * 60_000;
export const SESSION_LIFETIME_MS = 12 * 60 * 60_000;
/** The last use of a session is written at most once a minute, so that most reads do not write. */
const LAST_SEEN_INTERVAL_MS = 60_000;

export interface Session {
  tokenHash: string;
  staffId: string;
  displayName: string;
  role: string;
  /** Whether any fault is set. Read with the session, so that requests need no statement of their own for it. */
  faultsSet: boolean;
}

export async function startSession(sql: Query, staffId: string, now: Date): Promise<{ token: string; expires: Date }> {
  const token = newToken();
  await sql`delete from sessions where created_at < ${before(now, SESSION_LIFETIME_MS)}`;
  await sql`
    insert into sessions (token_hash, staff_id, created_at, last_seen_at)
    values (${hashToken(token)}, ${staffId}, ${now}, ${now})`;
  return { token, expires: new Date(now.getTime() + SESSION_IDLE_MS) };
}

/** Returns the session and extends it, or throws SESSION_EXPIRED. */
export async function requireSession({ sql, now }: Context, token: string): Promise<Session> {
  const at = now();
  const hash = hashToken(token);
  const [stored] = await sql<(Session & { lastSeenAt: Date })[]>`
    select token_hash, staff_id, display_name, role, last_seen_at,
      exists (select from faults where times_left > 0) as faults_set
    from sessions join staff using (staff_id)
    where token_hash = ${hash} and active_flag = 'Y'
      and last_seen_at > ${before(at, SESSION_IDLE_MS)} and created_at > ${before(at, SESSION_LIFETIME_MS)}`;
  if (!stored) throw new EmrError('SESSION_EXPIRED', 'Not signed in, or the session has expired.');
  const { lastSeenAt, ...session } = stored;
  if (lastSeenAt < before(at, LAST_SEEN_INTERVAL_MS)) {
    await sql`update sessions set last_seen_at = ${at} where token_hash = ${hash}`;
  }
  return session;
}

export async function endSession(sql: Query, tokenHash: string): Promise<void> {
  await sql`delete from sessions where token_hash = ${tokenHash}`;
}

export async function endAllSessions(sql: Query): Promise<void> {
  await sql`delete from sessions`;
}

/** Returns a new token with which this staff member can sign in without a one-time code. */
export async function rememberDevice(sql: Query, staffId: string, now: Date): Promise<string> {
  const token = newToken();
  await sql`insert into devices (token_hash, staff_id, created_at) values (${hashToken(token)}, ${staffId}, ${now})`;
  return token;
}

export async function isRememberedDevice(sql: Query, staffId: string, token: string): Promise<boolean> {
  const devices = await sql`select 1 from devices where token_hash = ${hashToken(token)} and staff_id = ${staffId}`;
  return devices.length > 0;
}

export async function forgetDevice(sql: Query, token: string): Promise<void> {
  await sql`delete from devices where token_hash = ${hashToken(token)}`;
}

export async function forgetAllDevices(sql: Query): Promise<void> {
  await sql`delete from devices`;
}

function before(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms);
}
