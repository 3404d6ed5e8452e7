import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { findLogin, type Login } from '../practice/staff.ts';
import { hashToken, isCorrectCode, isCorrectPassword, newToken } from './credentials.ts';
import { beginAttempt, clearFailedAttempts, countFailedAttempt } from './lockouts.ts';
import { isRememberedDevice, rememberDevice, startSession } from './sessions.ts';

export interface SignedIn {
  session_token: string;
  session_expires: Date;
  device_token: string | null;
  staff_id: string;
  staff_name: string;
  role: string;
}

/**
 * The first step: returns the id of a challenge for the one-time code. It does not clear failed attempts; otherwise
 * someone who knows the password could guess codes without limit.
 */
export async function signInWithPassword(context: Context, userName: string, password: string): Promise<string> {
  return limitAttempts(context, normalize(userName), 'BAD_CREDENTIALS', async (sql) => {
    const login = await checkPassword(sql, normalize(userName), password);
    return login && addChallenge(sql, login, context.now());
  });
}

/** The second step. After a wrong code, the challenge remains valid for another attempt. */
export async function signInWithCode(
  context: Context,
  { challengeId, code, remember }: { challengeId: string; code: string; remember: boolean },
): Promise<SignedIn> {
  const now = context.now();
  const challenge = await findChallenge(context.sql, challengeId, now);
  if (!challenge) throw challengeExpired();
  return limitAttempts(context, challenge.userName, 'BAD_CODE', async (sql) => {
    const login = await findLogin(sql, challenge.userName);
    if (!login || !isCorrectCode(login.totpSecret, code, now)) return undefined;
    if (!(await deleteChallenge(sql, challengeId))) throw challengeExpired();
    return completeSignIn(sql, login, now, remember ? await rememberDevice(sql, login.staffId, now) : null);
  });
}

/** Signs in without a one-time code on a remembered device. */
export async function signInWithDevice(
  context: Context,
  { userName, password, deviceToken }: { userName: string; password: string; deviceToken: string },
): Promise<SignedIn> {
  return limitAttempts(context, normalize(userName), 'BAD_CREDENTIALS', async (sql) => {
    const login = await checkPassword(sql, normalize(userName), password);
    if (!login) return undefined;
    if (!(await isRememberedDevice(sql, login.staffId, deviceToken))) {
      throw new EmrError('DEVICE_UNKNOWN', 'This device is not remembered. Sign in with a one-time code.');
    }
    return completeSignIn(sql, login, context.now(), deviceToken);
  });
}

/** Runs one sign-in attempt. If `attempt` returns undefined, the attempt failed and is counted. */
async function limitAttempts<T>(
  { sql, now }: Context,
  userName: string,
  errorCode: 'BAD_CREDENTIALS' | 'BAD_CODE',
  attempt: (sql: Query) => Promise<T | undefined>,
): Promise<T> {
  // The transaction returns its outcome instead of throwing, because the count of failed attempts must be committed.
  const outcome = await sql.begin(async (tx) => {
    const lockedUntil = await beginAttempt(tx, userName, now());
    if (lockedUntil) return { lockedUntil };
    const result = await attempt(tx);
    return result === undefined ? { lockedUntil: await countFailedAttempt(tx, userName, now()) } : { result };
  });
  if ('result' in outcome && outcome.result !== undefined) return outcome.result;
  if (outcome.lockedUntil) {
    const lockedUntil = outcome.lockedUntil.toISOString();
    throw new EmrError('LOCKED', 'Too many failed attempts. This account is temporarily locked.', { lockedUntil });
  }
  throw new EmrError(errorCode, errorCode === 'BAD_CODE' ? 'Incorrect code.' : 'Incorrect user name or password.');
}

function normalize(userName: string): string {
  return userName.trim().toLowerCase();
}

async function checkPassword(sql: Query, userName: string, password: string): Promise<Login | undefined> {
  const login = await findLogin(sql, userName);
  return (await isCorrectPassword(password, login?.passwordHash)) ? login : undefined;
}

const CHALLENGE_LIFETIME_MS = 5 * 60_000;

/** After a correct password, a challenge waits for the one-time code. */
interface Challenge {
  staffId: string;
  userName: string;
}

async function addChallenge(sql: Query, { staffId, userName }: Challenge, now: Date): Promise<string> {
  const challengeId = newToken();
  const expiresAt = new Date(now.getTime() + CHALLENGE_LIFETIME_MS);
  await sql`delete from challenges where expires_at < ${now}`;
  await sql`insert into challenges ${sql.values({ challengeHash: hashToken(challengeId), staffId, userName, expiresAt })}`;
  return challengeId;
}

async function findChallenge(sql: Query, challengeId: string, now: Date): Promise<Challenge | undefined> {
  const [challenge] = await sql<Challenge[]>`
    select staff_id, user_name from challenges
    where challenge_hash = ${hashToken(challengeId)} and expires_at > ${now}`;
  return challenge;
}

/** Returns false if a concurrent request used the challenge first: each challenge gives one session. */
async function deleteChallenge(sql: Query, challengeId: string): Promise<boolean> {
  const deleted = await sql`delete from challenges where challenge_hash = ${hashToken(challengeId)} returning 1`;
  return deleted.length > 0;
}

function challengeExpired(): EmrError {
  return new EmrError('CHALLENGE_EXPIRED', 'This sign-in has expired. Start again with user name and password.');
}

async function completeSignIn(sql: Query, login: Login, now: Date, deviceToken: string | null): Promise<SignedIn> {
  await clearFailedAttempts(sql, login.userName);
  const session = await startSession(sql, login.staffId, now);
  return {
    session_token: session.token,
    session_expires: session.expires,
    device_token: deviceToken,
    staff_id: login.staffId,
    staff_name: login.displayName,
    role: login.role,
  };
}
