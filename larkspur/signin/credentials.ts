import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { Secret, TOTP } from 'otpauth';

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Tokens are stored only as hashes, so that a leaked table does not give access to sessions. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function isSameToken(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashToken(one)), Buffer.from(hashToken(other)));
}

/** Derives a secret for one purpose. The original secret cannot be recovered from it. */
export function deriveSecret(secret: string, purpose: string): Buffer {
  return createHmac('sha256', secret).update(purpose).digest();
}

export function hashPassword(password: string): Promise<string> {
  return hash(password, ARGON2_OPTIONS);
}

export async function isCorrectPassword(password: string, passwordHash: string | undefined): Promise<boolean> {
  const correct = await verify(passwordHash ?? DUMMY_HASH, password);
  return correct && passwordHash !== undefined;
}

/** About 10 ms with argon2id. That is enough for these long random passwords, and the seed hashes twelve of them. */
const ARGON2_OPTIONS = { memoryCost: 4096, timeCost: 2, parallelism: 1 };

/** Verified for unknown user names, so that they take as long as known ones. Has the same options as real hashes. */
const DUMMY_HASH = '$argon2id$v=19$m=4096,t=2,p=1$blSj/uckHNn1GlUbVN96tQ$Bv7nnuwgn8ttE78F2IDmTMj4N9MzELGd5qoIz8MGSdE';

const CODE_PERIOD_S = 30;

export function currentCode(secret: string, now: Date): string {
  return totp(secret).generate({ timestamp: now.getTime() });
}

export function codeSecondsLeft(now: Date): number {
  return CODE_PERIOD_S - (Math.floor(now.getTime() / 1000) % CODE_PERIOD_S);
}

/** Accepts the previous and the next code too, to allow for clock drift and slow typing. */
export function isCorrectCode(secret: string, code: string, now: Date): boolean {
  return totp(secret).validate({ token: code, timestamp: now.getTime(), window: 1 }) !== null;
}

function totp(secret: string): TOTP {
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: CODE_PERIOD_S });
}
