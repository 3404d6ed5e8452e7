import { parseOptions } from '@node-rs/argon2';
import { expect, test } from 'vitest';
import { hashPassword, password_cost, verifyPassword } from '../../src/platform/security/passwords.ts';
import { hashToken, sameHash } from '../../src/platform/security/signatures.ts';

test('a token is stored as its SHA-256', () => {
  expect(hashToken('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('hashes are equal only if every byte is', () => {
  expect(sameHash(hashToken('a'), hashToken('a'))).toBe(true);
  expect(sameHash(hashToken('a'), hashToken('b'))).toBe(false);
  expect(sameHash(hashToken('a'), hashToken('a').subarray(1))).toBe(false);
});

test('a password is hashed with Argon2id at the configured cost and verified', async () => {
  const stored = await hashPassword('correct horse');
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(parseOptions(stored)).toMatchObject(password_cost);
  expect(await verifyPassword(stored, 'correct horse')).toBe(true);
  expect(await verifyPassword(stored, 'correct hors')).toBe(false);
  expect(await hashPassword('correct horse')).not.toBe(stored);
});

test('a password matches in any Unicode normalization', async () => {
  expect(await verifyPassword(await hashPassword('caf\u00e9'), 'cafe\u0301')).toBe(true);
});

test('verification takes as much CPU time for an unknown user as for a known one', async () => {
  const stored = await hashPassword('x');
  const known_ms = await lowestCpuTime(() => verifyPassword(stored, 'y'));
  const unknown_ms = await lowestCpuTime(() => verifyPassword(undefined, 'y'));
  expect(unknown_ms).toBeGreaterThan(known_ms / 2);
  expect(unknown_ms).toBeLessThan(known_ms * 2);
  expect(await verifyPassword(undefined, 'y')).toBe(false);
});

/** The lowest CPU time of several runs; wall time would depend on the load of the machine. */
async function lowestCpuTime(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 7; run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push(user + system);
  }
  return Math.min(...times);
}
