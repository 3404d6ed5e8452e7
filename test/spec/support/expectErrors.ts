import { expect } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/journey.ts';

export type Rejection = { status?: number; message: string | RegExp; field?: string };

/** Checks the error response, and that nothing was stored or sent to the EMR. No job may be running meanwhile. */
export async function expectRejected(
  fixture: TestSandbox,
  send: () => Promise<ApiResponse>,
  { status = 400, message, field }: Rejection,
): Promise<void> {
  const before = [await countRows(fixture.owner), await fixture.api.ledger()];
  expectApiError(await send(), status, message, field);
  expect([await countRows(fixture.owner), await fixture.api.ledger()]).toStrictEqual(before);
}

/** `expectRejected` for a telephone encounter with the example ids and `fields`. */
export function expectCallRejected(fixture: TestSandbox, fields: Record<string, unknown>, rejection: Rejection) {
  return expectRejected(fixture, () => fixture.api.callIn(fields), rejection);
}

/** Values of other types. Nothing is coerced, so a string field rejects each of them. */
export const not_strings: unknown[] = [5, true, ['a'], { a: 1 }];
