import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * What is stored of a token. One SHA-256 is enough: a token is 256 random bits, so there is nothing to guess and a
 * slow hash would only slow down every request. Passwords, which people choose, are in passwords.ts.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/** Compares two hashes in a time that does not depend on where they differ. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
