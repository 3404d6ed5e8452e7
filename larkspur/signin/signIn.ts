import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { findLogin, type Login } from '../practice/staff.ts';
import { addChallenge, findChallenge, meetChallenge } from './challenges.ts';
import { knowsDevice, rememberDevice } from './devices.ts';
import { clearTries, countWrongTry, lockTries } from './lockouts.ts';
import { codeIsRight } from './oneTimeCode.ts';
import { passwordIsRight } from './passwords.ts';
import { startSession } from './sessions.ts';

export interface SignedIn {
  session_token: string;
  session_expires: Date;
  device_token: string | null;
  staff_id: string;
  staff_name: string;
  role: string;
}

/** The first step. It forgives no wrong tries: only a whole sign-in does, or a password could be used to guess codes. */
export async function signInWithPassword(context: Context, userName: string, password: string): Promise<string> {
  return countingTries(context, canonical(userName), 'BAD_CREDENTIALS', async (sql) => {
    const login = await checkPassword(sql, canonical(userName), password);
    return login && addChallenge(sql, login, context.now());
  });
}

/** The second step. A wrong code leaves the challenge open for the next try. */
export async function signInWithCode(
  context: Context,
  { challengeId, code, remember }: { challengeId: string; code: string; remember: boolean },
): Promise<SignedIn> {
  const now = context.now();
  const challenge = await findChallenge(context.sql, challengeId, now);
  if (!challenge) throw challengeExpired();
  return countingTries(context, challenge.userName, 'BAD_CODE', async (sql) => {
    const login = await findLogin(sql, challenge.userName);
    if (!login || !codeIsRight(login.totpSecret, code, now)) return undefined;
    if (!(await meetChallenge(sql, challengeId))) throw challengeExpired();
    return welcome(sql, login, now, remember ? await rememberDevice(sql, login.staffId, now) : null);
  });
}

/** Both steps at once, on a device that a person has let Larkspur remember. */
export async function signInWithDevice(
  context: Context,
  { userName, password, deviceToken }: { userName: string; password: string; deviceToken: string },
): Promise<SignedIn> {
  return countingTries(context, canonical(userName), 'BAD_CREDENTIALS', async (sql) => {
    const login = await checkPassword(sql, canonical(userName), password);
    if (!login) return undefined;
    if (!(await knowsDevice(sql, login.staffId, deviceToken))) {
      throw new EmrError('DEVICE_UNKNOWN', 'This device is not remembered: sign in with a one-time code.');
    }
    return welcome(sql, login, context.now(), deviceToken);
  });
}

/** Runs one try at a name while all others at that name wait; `undefined` is a wrong try and is counted. */
async function countingTries<T>(
  { sql, now }: Context,
  userName: string,
  wrong: 'BAD_CREDENTIALS' | 'BAD_CODE',
  attempt: (sql: Query) => Promise<T | undefined>,
): Promise<T> {
  // The count must be kept although the try fails, so the transaction returns what the caller is then told.
  const outcome = await sql.begin(async (tx) => {
    const lockedUntil = await lockTries(tx, userName, now());
    if (lockedUntil) return { lockedUntil };
    const result = await attempt(tx);
    return result === undefined ? { lockedUntil: await countWrongTry(tx, userName, now()) } : { result };
  });
  if ('result' in outcome && outcome.result !== undefined) return outcome.result;
  if (outcome.lockedUntil) throw locked(outcome.lockedUntil);
  throw new EmrError(wrong, wrong === 'BAD_CODE' ? 'The code is not right.' : 'User name or password is not right.');
}

async function checkPassword(sql: Query, userName: string, password: string): Promise<Login | undefined> {
  const login = await findLogin(sql, userName);
  return (await passwordIsRight(password, login?.passwordHash)) ? login : undefined;
}

async function welcome(sql: Query, login: Login, now: Date, deviceToken: string | null): Promise<SignedIn> {
  await clearTries(sql, login.userName);
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

function canonical(userName: string): string {
  return userName.trim().toLowerCase();
}

function challengeExpired(): EmrError {
  return new EmrError('CHALLENGE_EXPIRED', 'This sign-in has run out: start again with user name and password.');
}

function locked(until: Date): EmrError {
  return new EmrError('LOCKED', 'Too many wrong tries: this user is locked for a while.', {
    lockedUntil: until.toISOString(),
  });
}
