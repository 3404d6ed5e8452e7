import { hash, verify } from '@node-rs/argon2';

export function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}

export async function passwordIsRight(password: string, passwordHash: string | undefined): Promise<boolean> {
  const right = await verify(passwordHash ?? NOBODYS_HASH, password);
  return right && passwordHash !== undefined;
}

/** Light for argon2id, the library's default (some 10 ms): these passwords are long and random, and the seed hashes twelve. */
const COST = { memoryCost: 4096, timeCost: 2, parallelism: 1 };

/** The hash of a password nobody has, at the same cost: a name that does not exist takes as long as one that does. */
const NOBODYS_HASH = '$argon2id$v=19$m=4096,t=2,p=1$blSj/uckHNn1GlUbVN96tQ$Bv7nnuwgn8ttE78F2IDmTMj4N9MzELGd5qoIz8MGSdE';
