import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Tokens are stored only in this form: a stolen table opens no session. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function sameToken(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashToken(one)), Buffer.from(hashToken(other)));
}

/** A secret that follows from another: the same for the same purpose, and telling nothing of its origin. */
export function deriveSecret(secret: string, purpose: string): Buffer {
  return createHmac('sha256', secret).update(purpose).digest();
}
