import { hash, verify } from '@node-rs/argon2';
import { apiError } from '../../catalog/errors.ts';

/**
 * Argon2id with OWASP's first choice: 19 MiB, 2 passes, 1 lane (about 20 ms). Argon2id is the library's default; its
 * enum is a `const enum` that isolated modules cannot read, so a test checks the algorithm instead.
 */
export const password_cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const;

/** The stored form of a password: a PHC string with its salt and cost. */
export function hashPassword(password: string): Promise<string> {
  return slots.run('known', () => hash(normalized(password), password_cost));
}

/**
 * Checks a password against its stored hash. `undefined` means that the user does not exist: the result is false and
 * takes as long, so that response times do not reveal which users exist. Callers from a browser that the user has used
 * before, `known`, go first.
 */
export async function verifyPassword(
  stored: string | undefined,
  password: string,
  caller: PasswordCaller = 'known',
): Promise<boolean> {
  const correct = await slots.run(caller, () => verify(stored ?? dummy_hash, normalized(password)));
  return correct && stored !== undefined;
}

export type PasswordCaller = 'known' | 'unknown';
export type PasswordSlots = { run<T>(caller: PasswordCaller, work: () => Promise<T>): Promise<T> };

/**
 * Runs at most `parallel` pieces of work at a time. Of each kind of caller, up to `waiting_max` wait their turn; more get
 * the error `sign_in_busy`.
 */
export function createPasswordSlots({
  parallel,
  waiting_max,
}: {
  parallel: number;
  waiting_max: number;
}): PasswordSlots {
  const waiting: Record<PasswordCaller, (() => void)[]> = { known: [], unknown: [] };
  let running = 0;
  const acquire = (caller: PasswordCaller) => {
    if (running < parallel) {
      running += 1;
      return undefined;
    }
    if (waiting[caller].length >= waiting_max) throw apiError('sign_in_busy', undefined, { retry_after_s: busy_s });
    return new Promise<void>((resolve) => waiting[caller].push(resolve));
  };
  /** Hands the slot on, so that nobody who arrives in between takes it. */
  const release = () => {
    const next = waiting.known.shift() ?? waiting.unknown.shift();
    if (next) next();
    else running -= 1;
  };
  return {
    run: async (caller, work) => {
      await acquire(caller);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

/** A full queue is worked off in a second. */
const busy_s = 2;

/**
 * One for the process, whose cores and threads are what is scarce: two checks use two of Node's four threads, so that
 * files and names are still read during a flood of sign-ins. Twenty that wait take about 200 ms on an idle machine.
 */
const slots = createPasswordSlots({ parallel: 2, waiting_max: 20 });

/** The hash of a discarded random password, at the cost above. */
const dummy_hash = '$argon2id$v=19$m=19456,t=2,p=1$A9Hv8IhF7RrjT/FQJvB0Rg$CjaDjwpGYKtC3ceyxO+xE66k7dTm2uX0lb978NLXK2s';

/** Keyboards differ in how they compose é, and a password must not depend on the keyboard. */
function normalized(password: string): string {
  return password.normalize('NFKC');
}
