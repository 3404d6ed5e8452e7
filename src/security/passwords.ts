import { hash, verify } from '@node-rs/argon2';

/**
 * Argon2id with OWASP's first choice: 19 MiB, 2 passes, 1 lane (about 20 ms here). Argon2id is the library's default;
 * its enum is a `const enum` that isolated modules cannot read, so the test holds the algorithm instead.
 */
export const password_cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const;

/** What is stored of an operator's password: a PHC string that carries its own salt and cost. */
export function hashPassword(password: string): Promise<string> {
  return hash(typed(password), password_cost);
}

/**
 * Whether the password is the one behind the stored hash. `undefined` stands for a user who does not exist: the answer
 * is false and costs the same, so that the time of the answer does not tell which user names are real.
 */
export async function verifyPassword(stored: string | undefined, password: string): Promise<boolean> {
  const right = await verify(stored ?? nobodys_hash, typed(password));
  return right && stored !== undefined;
}

/** The hash of a random password that was thrown away, at the cost above. */
const nobodys_hash =
  '$argon2id$v=19$m=19456,t=2,p=1$A9Hv8IhF7RrjT/FQJvB0Rg$CjaDjwpGYKtC3ceyxO+xE66k7dTm2uX0lb978NLXK2s';

/** One spelling for one text: keyboards differ in how they compose é, and a password must not depend on the keyboard. */
function typed(password: string): string {
  return password.normalize('NFKC');
}
