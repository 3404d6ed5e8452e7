import { hash, timingSafeEqual } from 'node:crypto';

/**
 * The stored form of a token. SHA-256 is enough: a token has 256 random bits and cannot be guessed, and a slow hash
 * would slow down every request. For passwords see passwords.ts.
 */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/**
 * The same for credentials that a client sends with every request. Only a few are kept: made-up ones make the cache
 * start again.
 */
export function hashCredential(credential: string): Buffer {
  const known = hashes.get(credential);
  if (known) return known;
  const hashed = hashToken(credential);
  if (hashes.size >= hashes_max) hashes.clear();
  hashes.set(credential, hashed);
  return hashed;
}

const hashes = new Map<string, Buffer>();
const hashes_max = 1_000;

/** Compares two hashes in constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
