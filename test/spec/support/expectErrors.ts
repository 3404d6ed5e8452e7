import { expect } from 'vitest';
import { expectRefusal } from '../../api/support.ts';
import type { Answer } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/journey.ts';

export type Refused = { status?: number; message: string | RegExp; field?: string };

/** A refusal in full: status, words, and nothing stored here or sent to the EMR. No job may be under way meanwhile. */
export async function expectNothingDone(
  world: TestSandbox,
  ask: () => Promise<Answer>,
  { status = 400, message, field }: Refused,
): Promise<void> {
  const before = [await countRows(world.owner), await world.api.ledger()];
  expectRefusal(await ask(), status, message, field);
  expect([await countRows(world.owner), await world.api.ledger()]).toStrictEqual(before);
}

/** The same of a telephone encounter that is the example's but for `fields`. */
export function expectCallRefused(world: TestSandbox, fields: Record<string, unknown>, refused: Refused) {
  return expectNothingDone(world, () => world.api.callIn(fields), refused);
}

/** Values that are no string: nothing is coerced, so each is refused where a string is asked for. */
export const not_strings: unknown[] = [5, true, ['a'], { a: 1 }];
