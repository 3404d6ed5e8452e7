import { hash, timingSafeEqual } from 'node:crypto';

/**
 * The stored form of a token. SHA-256 is enough: a token has 256 random bits and cannot be guessed, and a slow hash
 * would slow down every request. For passwords see passwords.ts.
 */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Compares two hashes in constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
