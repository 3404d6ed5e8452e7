import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';

/**
 * Wrong codes of an authenticator app that are accepted in this many days. Three of a million codes are valid at a time, so
 * a person who knows the password succeeds with a chance of 1 in 900 per year. People mistype fewer.
 */
const guesses = { max: 30, days: 30 };

/**
 * Counts a guess before the code is checked, so that concurrent ones cannot exceed the limit. Returns false if it is
 * reached: codes of the app are then refused until the period ends or the operator is reset.
 */
export async function countCodeGuess(ctx: Pick<Context, 'db'>, operator_id: string): Promise<boolean> {
  const { pooled: sql } = ctx.db.system;
  const over = sql`counted.since <= now() - make_interval(days => ${guesses.days})`;
  const counted = await sql`
    INSERT INTO operator_code_guesses AS counted (operator_id, guesses) VALUES (${operator_id}, 1)
    ON CONFLICT (operator_id) DO UPDATE
      SET guesses = CASE WHEN ${over} THEN 1 ELSE counted.guesses + 1 END,
          since = CASE WHEN ${over} THEN now() ELSE counted.since END
      WHERE counted.guesses < ${guesses.max} OR ${over}`;
  return counted.count > 0;
}

/** The code was right, so it was no guess. Earlier ones stay counted. */
export async function uncountCodeGuess(ctx: Pick<Context, 'db'>, operator_id: string): Promise<void> {
  await ctx.db.system.pooled`
    UPDATE operator_code_guesses SET guesses = guesses - 1 WHERE operator_id = ${operator_id} AND guesses > 0`;
}

export async function forgetCodeGuesses(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_code_guesses WHERE operator_id = ${operator_id}`;
}
