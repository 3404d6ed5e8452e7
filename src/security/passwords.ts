import { hash, verify } from '@node-rs/argon2';

/**
 * Argon2id with OWASP's first choice: 19 MiB, 2 passes, 1 lane (about 20 ms). Argon2id is the library's default; its
 * enum is a `const enum` that isolated modules cannot read, so a test checks the algorithm instead.
 */
export const password_cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const;

/** The stored form of a password: a PHC string with its salt and cost. */
export function hashPassword(password: string): Promise<string> {
  return hash(normalized(password), password_cost);
}

/**
 * Checks a password against its stored hash. `undefined` means that the user does not exist: the result is false and
 * takes as long, so that response times do not reveal which users exist.
 */
export async function verifyPassword(stored: string | undefined, password: string): Promise<boolean> {
  const correct = await verify(stored ?? dummy_hash, normalized(password));
  return correct && stored !== undefined;
}

/** The hash of a discarded random password, at the cost above. */
const dummy_hash = '$argon2id$v=19$m=19456,t=2,p=1$A9Hv8IhF7RrjT/FQJvB0Rg$CjaDjwpGYKtC3ceyxO+xE66k7dTm2uX0lb978NLXK2s';

/** Keyboards differ in how they compose é, and a password must not depend on the keyboard. */
function normalized(password: string): string {
  return password.normalize('NFKC');
}
