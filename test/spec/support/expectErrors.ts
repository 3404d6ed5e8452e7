import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { countRows } from '../../journeys/support.ts';

export type Rejection = { status?: number; message: string | RegExp; field?: string; code?: string };

/** Checks the error response, and that nothing was stored or sent to the EMR. No job may be running meanwhile. */
export async function expectRejected(
  fixture: TestSandbox,
  send: () => Promise<ApiResponse>,
  { status = 400, message, field, code }: Rejection,
): Promise<void> {
  const before = [await countRows(fixture.owner), await fixture.api.ledger()];
  const response = await send();
  expectApiError(response, status, message, field);
  if (code !== undefined) expect(response.body.code).toBe(code);
  expect([await countRows(fixture.owner), await fixture.api.ledger()]).toStrictEqual(before);
}

/** `expectRejected` for a telephone encounter with the example ids and `fields`. The key must not be stored either. */
export function expectCallRejected(fixture: TestSandbox, fields: Record<string, unknown>, rejection: Rejection) {
  return expectRejected(fixture, () => fixture.api.callIn(fields, { 'idempotency-key': randomUUID() }), rejection);
}

/** Values of other types. Nothing is coerced, so a string field rejects each of them. */
export const not_strings: unknown[] = [5, true, ['a'], { a: 1 }];
